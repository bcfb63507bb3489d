// Notes: what reviewers write about a run, apart from verdicts.

package rules

import (
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

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

func (f NoteAdded) fold(r *Run, _ time.Time) {
	r.notes, r.lastNote = r.notes.plus(verification.Person{Identity: f.Identity, Name: f.By}), f
}

// requireNotes returns verification.ErrInvalid unless notes are valid and say something.
func requireNotes(s string) error {
	if strings.TrimSpace(s) == "" {
		return verification.InvalidField("signal", "payload.notes", "is required")
	}
	return ValidateNotes(s)
}
