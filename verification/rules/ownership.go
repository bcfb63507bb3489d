// Ownership: when a Run may be changed in place.

package rules

// A Run is a value, and many goroutines read the same one: it is cached, and a command that
// is refused goes on with the old one. The steps of a Run are a slice, which its copies
// share. So an event changes a copy of the steps.
//
// Only inPlace may save the copies. Within it, the first change of r copies the steps, and
// the later ones write to that copy, since no one else can have it yet. After it the steps
// may be shared again.
//
// Only this file reads and sets Run.steps. The other slices of a Run and of its steps are
// never changed in place: appending to one of them copies it.

// ownership says whose the steps of a Run are.
type ownership int

const (
	shared  ownership = iota // each change copies the steps
	copying                  // the next change copies the steps, and owns the copy
	owned                    // no other Run has the steps
)

// inPlace calls fold, which may change r many times and must not keep a copy of it. The
// steps are copied once for all the changes, which matters to runs of hundreds of steps.
// Other copies of r do not change, neither in fold nor afterwards.
func (r *Run) inPlace(fold func()) {
	r.steps = copying
	fold()
	r.steps = shared
}

// changeable returns the steps of r, for a change in place or to append one. They are a
// copy, unless r has its own: see inPlace.
func (r *Run) changeable() []Step {
	if r.steps != owned {
		r.Steps = append(make([]Step, 0, len(r.Steps)+1), r.Steps...)
	}
	if r.steps == copying {
		r.steps = owned
	}
	return r.Steps
}
