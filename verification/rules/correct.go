// Corrections: notes beside recorded values that a person says are wrong.

package rules

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
)

// MaxCorrection is the maximum length of a correction, in characters.
const MaxCorrection = 1000

// maxCorrections is how many corrections of a run are recorded.
const maxCorrections = 200

// Correction is a note beside a recorded value, which stays as it is.
type Correction struct {
	// Field is the path of the value in the data, such as address.city or owners[0].name.
	Field string
	Text  string
	By    string // the name of the person who recorded it
	At    time.Time
}

// correction is a correction of a value of a step, or of the input if Node is empty.
type correction struct {
	Corrected
	at time.Time
}

// about hides the method of Corrected: a correction is no fact.
func (correction) about() {} //nolint:unused // it hides another one

func (f Corrected) fold(r *Run, at time.Time) {
	r.corrected, r.lastNote = r.corrected.plus(verification.Person{Identity: f.Identity, Name: f.By}), NoteAdded{}
	r.corrections = append(slices.Clip(r.corrections), correction{f, at})
}

// correctionsOf returns the corrections of values of a step, oldest first; of the input for an empty id.
func (r Run) correctionsOf(id verification.NodeID) (all []Correction) {
	for _, c := range r.corrections {
		if c.Node == id && c.Correction != "" { // else it was redacted
			all = append(all, Correction{Field: c.Field, Text: c.Correction, By: c.By, At: c.at})
		}
	}
	return all
}

func (d *decision) correct(c Correct) error {
	refuse := func(field, message string) error { return verification.InvalidField("correction", field, message) }
	data, known := d.run.Started.Input, c.Node == ""
	if s := d.run.step(c.Node); s != nil {
		data, known = s.shown(), true
	}
	switch {
	case strings.TrimSpace(c.Correction) == "":
		return refuse("correction", "is required")
	case utf8.RuneCountInString(c.Correction) > MaxCorrection:
		return refuse("correction", texts.TooLong(MaxCorrection))
	case !texts.Storable(c.Correction):
		return refuse("correction", "must be valid UTF-8 without a NUL character")
	case c.Identity == "":
		return refuse("identity", "is required")
	case !known:
		return refuse("node", "the run has no such step")
	case c.Field == "":
		return refuse("field", "is required")
	case !hasValue(data.Map(), "."+c.Field):
		return refuse("field", "there is no such value")
	}
	f := Corrected(c)
	f.By, f.Identity = clean(c.By), clean(c.Identity)
	last := ""
	for _, before := range d.run.corrections {
		if c.Request != "" && before.Request == c.Request {
			return nil
		}
		if before.Node == c.Node && before.Field == c.Field {
			last = before.Correction
		}
	}
	if last == c.Correction {
		return nil
	}
	if err := d.run.corrected.room(verification.Person{Identity: f.Identity, Name: f.By}, maxCorrections, "corrections"); err != nil {
		return err
	}
	d.add(f)
	return nil
}

// hasValue reports whether a value has another one at a path, such as .address.city or [0].name. The names
// of fields may have any characters.
func hasValue(v any, path string) bool {
	if path == "" {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		rest, named := strings.CutPrefix(path, ".")
		for name, inner := range v {
			if below, begins := strings.CutPrefix(rest, name); named && begins && hasValue(inner, below) {
				return true
			}
		}
	case []any:
		number, below, closed := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(number)
		return closed && err == nil && strconv.Itoa(i) == number && path[0] == '[' && i >= 0 && i < len(v) && hasValue(v[i], below)
	}
	return false
}
