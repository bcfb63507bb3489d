// Bounds: how much one run keeps, see docs/limits.md.

package rules

import (
	"errors"
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/verification"
)

// What people and clients may add to one run. Of what reviewers add, one of them may add half,
// so that room is left for the others.
const (
	maxVerdicts     = 1000
	maxReturned     = 1000 // proposals that were sent back
	maxHitDecisions = 1000
	maxRunNotes     = 200
	maxAssignments  = 200
	maxEscalations  = 200
	// maxOpenings is how many openings of the journey are recorded as they come, and
	// maxAllOpenings how many at all.
	maxOpenings, maxAllOpenings = 1000, 10_000
)

// The history of a live run. Beyond it, the run fails instead of going on to another step.
const (
	maxHistory      = 20_000   // events
	maxHistoryBytes = 64 << 20 // of data and texts
	// maxHandles is how often one wait may record that a result is still pending, or where it leads its customer.
	maxHandles = 1000
)

// ErrFull is returned if a run keeps no more of what a command adds. It comes with verification.ErrConflict.
var ErrFull = errors.New("the run keeps no more")

// full returns an error with ErrFull and verification.ErrConflict.
func full(format string, args ...any) error {
	return &verification.Error{Kind: verification.ErrConflict, Subject: "run", Message: fmt.Sprintf(format, args...), Cause: ErrFull}
}

// tally counts what reviewers have added to a run.
type tally struct {
	total  int
	people []share
}

// share is how much of a tally one person has added.
type share struct {
	person string // Person.Key
	n      int
}

// plus returns the tally with one more of a person, who may be an API client.
func (t tally) plus(p verification.Person) tally {
	t.total++
	key := p.Key()
	if key == "" {
		return t
	}
	t.people = slices.Clone(t.people)
	if i := t.index(key); i >= 0 {
		t.people[i].n++
	} else {
		t.people = append(t.people, share{key, 1})
	}
	return t
}

func (t tally) index(key string) int {
	return slices.IndexFunc(t.people, func(s share) bool { return s.person == key })
}

// room returns an ErrFull unless a person may add one more of at most so many.
func (t tally) room(p verification.Person, maximum int, what string) error {
	if t.total >= maximum {
		return full("the run has %d %s, and takes no more", maximum, what)
	}
	if i := t.index(p.Key()); i >= 0 && t.people[i].n >= maximum/2 {
		return full("you have added %d %s to the run, half of what it takes; the rest is for other reviewers", maximum/2, what)
	}
	return nil
}

// tooLong returns why the history of a live run is too long for another step; empty if it is
// not.
func (r *Run) tooLong() string {
	switch {
	case r.Seq >= maxHistory:
		return fmt.Sprintf("the history of the run has %d events, and a run with more does not go on to another step: look for a loop in the workflow", maxHistory)
	case r.bytes >= maxHistoryBytes:
		return fmt.Sprintf("the history of the run has %d bytes of data, and a run with more does not go on to another step: look for a loop in the workflow", maxHistoryBytes)
	}
	return ""
}
