// Notes: what reviewers write about a run, apart from verdicts.

package verification

import "strings"

// maxAnnotations is how many notes and assignments a run keeps.
const maxAnnotations = 200

// isAnnotation reports whether a fact changes nothing that a verdict is based on.
func isAnnotation(f Fact) bool {
	switch f.(type) {
	case NoteAdded, Assigned, ReviewDueSoon:
		return true
	}
	return false
}

// annotate adds a note or an assignment, unless the run has too many.
func (d *decision) annotate(f Fact) error {
	if d.run.annotations >= maxAnnotations {
		return Conflict("run", "the run has too many notes and assignments")
	}
	d.add(f)
	return nil
}

func (d *decision) addNote(c AddNote) error {
	note := NoteAdded{Notes: c.Notes, By: clean(c.By), Identity: clean(c.Identity)}
	if err := requireNotes(c.Notes); err != nil {
		return err
	}
	if note.Identity == "" {
		return InvalidField("note", "identity", "is required")
	}
	if note == d.run.lastNote {
		return nil
	}
	return d.annotate(note)
}

// requireNotes returns ErrInvalid unless notes are valid and say something.
func requireNotes(s string) error {
	if strings.TrimSpace(s) == "" {
		return InvalidField("signal", "payload.notes", "is required")
	}
	return ValidateNotes(s)
}
