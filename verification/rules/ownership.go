// Ownership: when a Run may be changed in place.

package rules

// A Run is a value, and many goroutines read the same one: it is cached, and a command that
// is refused goes on with the old one. The steps and the waits of a Run are slices, which its
// copies share. So an event changes a copy of them.
//
// Only inPlace may save the copies. Within it, the first change of r copies the slice, and
// the later ones write to that copy, since no one else can have it yet. After it the slices
// may be shared again.
//
// Only this file and supposing set Run.own. The other slices of a Run, of its steps and of its waits
// are never changed in place: appending to one of them copies it.

// ownership says whose the steps and the waits of a Run are.
type ownership struct{ steps, waits owner }

type owner int

const (
	shared  owner = iota // each change copies the slice
	copying              // the next change copies the slice, and owns the copy
	owned                // no other Run has the slice
)

// inPlace calls fold, which may change r many times and must not keep a copy of it. The
// slices are copied once for all the changes, which matters to runs of hundreds of steps.
// Other copies of r do not change, neither in fold nor afterwards.
func (r *Run) inPlace(fold func()) {
	r.own = ownership{copying, copying}
	fold()
	r.own = ownership{}
}

// changeable returns a slice of a Run, for a change in place or to append one element. It is a
// copy, unless the Run has its own: see inPlace.
func changeable[T any](all []T, of *owner) []T {
	if *of != owned {
		all = append(make([]T, 0, len(all)+1), all...)
	}
	if *of == copying {
		*of = owned
	}
	return all
}

func (r *Run) changeableSteps() []Step {
	r.Steps = changeable(r.Steps, &r.own.steps)
	return r.Steps
}

func (r *Run) changeableWaits() []Wait {
	r.Waits = changeable(r.Waits, &r.own.waits)
	return r.Waits
}
