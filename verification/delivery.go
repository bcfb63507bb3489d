// How the notice of a run's end fared: the delivery ledger.

package verification

import (
	"errors"
	"time"
)

// Delivery is what the ledger keeps of the notice of one run: how its tries
// went. A notice that was never tried has none.
type Delivery struct {
	Run      RunID
	URL      string // where the last try went
	State    DeliveryState
	Attempts int       // tries so far, those of redeliveries included
	FirstAt  time.Time // when the first try began
	LastAt   time.Time // when the last try began
	NextAt   time.Time // when the next try is due; zero when there is none
	// Class is what came of the last try, as ClassOf tells.
	Class string
}

// DeliveryState says whether a notice was taken, or may yet be.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"   // it is tried again at NextAt
	DeliveryDelivered DeliveryState = "delivered" // the client took it
	DeliveryFailed    DeliveryState = "failed"    // no try is left; it rests until it is redelivered
)

// The classes of a try that every Notifier has. It may have more, in lower
// case with underscores: see ClassOf.
const (
	ClassDelivered = "delivered" // the client took the notice
	ClassFailed    = "failed"    // it did not, and nothing more is known
	ClassTimeout   = "timeout"   // it gave no answer in time
)

// ParseDeliveryState reads a state; anything else is ErrInvalid.
func ParseDeliveryState(s string) (DeliveryState, error) {
	switch st := DeliveryState(s); st {
	case DeliveryPending, DeliveryDelivered, DeliveryFailed:
		return st, nil
	}
	return "", &Error{Kind: ErrInvalid, Subject: "state", Message: "there is no such delivery state"}
}

// ClassOf is the class of a try that a Notifier answered with err:
// ClassDelivered for nil, what the method Class() string of an error in the
// chain says, else ClassFailed.
func ClassOf(err error) string {
	if err == nil {
		return ClassDelivered
	}
	var classed interface{ Class() string }
	if errors.As(err, &classed) && classed.Class() != "" {
		return classed.Class()
	}
	return ClassFailed
}

// Tried is the delivery after one more try, of the notice n, that the Notifier
// answered with err; the next one is due at next, which is zero when there is
// none. d is the zero Delivery before the first try.
func (d Delivery) Tried(n Notice, err error, next time.Time) Delivery {
	d.Run, d.URL, d.LastAt, d.NextAt, d.Class = n.Run.ID, n.URL, n.At, next, ClassOf(err)
	if d.FirstAt.IsZero() {
		d.FirstAt = n.At
	}
	// The notice knows of tries that never got into the ledger.
	d.Attempts = max(d.Attempts, n.Attempt) + 1
	switch {
	case err == nil:
		d.State, d.NextAt = DeliveryDelivered, time.Time{}
	case next.IsZero():
		d.State = DeliveryFailed
	default:
		d.State = DeliveryPending
	}
	return d
}

// Again is the delivery once its notice is queued anew at a moment. Its last
// try stays as it was.
func (d Delivery) Again(now time.Time) Delivery {
	d.State, d.NextAt = DeliveryPending, now
	return d
}

// NewerDelivery tells whether a comes before b in a list of deliveries: by the
// last try, newest first, ties by run id from the highest.
func NewerDelivery(a, b Delivery) bool {
	if !a.LastAt.Equal(b.LastAt) {
		return a.LastAt.After(b.LastAt)
	}
	return a.Run > b.Run
}
