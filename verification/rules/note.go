// Notes: what reviewers write about a run, apart from verdicts.

package rules

import (
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// isAnnotation reports whether a fact changes nothing that a verdict is based on.
func isAnnotation(f Fact) bool {
	switch f.(type) {
	case NoteAdded, Assigned, Held, HoldEnded, Restricted, RestrictionLifted, ReviewDueSoon, Corrected, Erased, DocumentsRemoved:
		return true
	}
	return false
}

func (d *decision) addNote(c AddNote) error {
	note := NoteAdded{Notes: c.Notes, By: clean(c.By), Identity: clean(c.Identity)}
	if err := requireNotes(c.Notes); err != nil {
		return err
	}
	if note.Identity == "" {
		return verification.InvalidField("note", "identity", "is required")
	}
	if note == d.run.lastNote {
		return nil
	}
	if err := d.run.notes.room(verification.Person{Identity: note.Identity, Name: note.By}, maxRunNotes, "notes"); err != nil {
		return err
	}
	d.add(note)
	return nil
}

// requireNotes returns verification.ErrInvalid unless notes are valid and say something.
func requireNotes(s string) error {
	if strings.TrimSpace(s) == "" {
		return verification.InvalidField("signal", "payload.notes", "is required")
	}
	return ValidateNotes(s)
}
