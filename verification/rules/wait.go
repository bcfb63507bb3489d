// Waits: what a live run waits for.

package rules

import (
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// WaitKind says what a run waits for.
type WaitKind string

// The kinds of wait.
const (
	WaitNothing  WaitKind = ""         // of a run that is over
	WaitResult   WaitKind = "result"   // a provider was dispatched and its result is outstanding
	WaitPoll     WaitKind = "poll"     // until the next poll of a pending result
	WaitRetry    WaitKind = "retry"    // until the next dispatch
	WaitCustomer WaitKind = "customer" // parked on the customer
	WaitReview   WaitKind = "review"   // parked on a reviewer
)

// Wait is what a live run waits for, and where.
type Wait struct {
	Kind WaitKind
	Node verification.NodeID
	// Number is the length of the history when the wait began.
	Number int
	Signal string // of a customer wait
	// Uploads are the documents of a customer wait: the last one of each field. Uploaded counts all that were sent.
	Uploads  []verification.Document
	Uploaded int
	// Since is when the run parked or, if later, when the customer last opened the journey. For a check, it is when the
	// provider was last dispatched or, if later, when its customer was led away, opened the journey or came back.
	Since time.Time
	// At is when to poll or to dispatch again.
	At time.Time

	// The fields below belong to the wait of a check.
	Provider           string
	DispatchedAt       time.Time
	Dispatch           int // the number of the last dispatch: from 1, over all visits of the step
	ProviderDispatches int // dispatches to this provider on this visit
	Handle             string
	PendingSince       time.Time
	PollFailures       int // in a row
	changes            int // how often the handle or the redirect was recorded
	// Callbacks are the digests of the callbacks so far. PollNow says that one came before the result was known to be pending.
	Callbacks []string
	PollNow   bool
	// Redirect is the URL that a check leads its customer to; empty for any other wait. Returned says that the customer
	// came back since, without a result.
	Redirect string
	Returned bool
}

// Wait returns the first of the waits: the only one unless several checks are called at once. It is zero once the run is over.
func (r *Run) Wait() Wait {
	if len(r.Waits) == 0 {
		return Wait{}
	}
	return r.Waits[0]
}

// WaitAt returns the wait of a step, and whether the run waits there.
func (r *Run) WaitAt(step verification.NodeID) (w Wait, waits bool) {
	if i := r.waitIndex(step); i >= 0 {
		return r.Waits[i], true
	}
	return Wait{}, false
}

// waitIndex returns the position of the wait of a step; -1 if the run does not wait there.
func (r *Run) waitIndex(step verification.NodeID) int {
	for i := range r.Waits { // a Wait is large: slices.IndexFunc would copy each one
		if r.Waits[i].Node == step {
			return i
		}
	}
	return -1
}

// WaitNumbered returns the wait that has a number, and whether there is one.
func (r *Run) WaitNumbered(number int) (w Wait, waits bool) {
	for i := range r.Waits {
		if r.Waits[i].Number == number {
			return r.Waits[i], true
		}
	}
	return Wait{}, false
}

// at returns the wait of a step, to be changed. A change has no effect if the run does not wait there.
func (r *Run) at(step verification.NodeID) *Wait {
	if i := r.waitIndex(step); i >= 0 {
		return &r.changeableWaits()[i]
	}
	return &Wait{}
}

// awaits adds the wait of a check, in place of an earlier one of the same step.
func (r *Run) awaits(w Wait) {
	if i := r.waitIndex(w.Node); i >= 0 {
		r.changeableWaits()[i] = w
		return
	}
	r.Waits = append(r.changeableWaits(), w)
}

// waitOver ends the wait of a step.
func (r *Run) waitOver(step verification.NodeID) {
	i := r.waitIndex(step)
	switch {
	case i < 0:
	case len(r.Waits) == 1 && r.own.waits != owned:
		r.Waits = r.Waits[:0:0] // no copy of what goes
	default:
		r.Waits = slices.Delete(r.changeableWaits(), i, i+1)
	}
}
