// Deliveries: the ledger of notices and their attempts.

package rules

import (
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Delivery is the ledger entry for one notice of a run. A notice has none
// before its first attempt.
type Delivery struct {
	Run      verification.RunID
	Seq      int                  // of the NoticeRef: 0 for the end of the run
	Event    workflow.NoticeEvent // what the notice is about
	URL      string               // of the last attempt
	State    DeliveryState
	Attempts int       // so far, including redeliveries
	FirstAt  time.Time // when the first attempt began
	LastAt   time.Time // when the last attempt began
	NextAt   time.Time // when the next attempt is due; zero if there is none
	// Class says how the last attempt ended, see ClassOf.
	Class string
}

// DeliveryState says whether a notice is delivered, and whether another attempt follows.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"   // the next attempt is at NextAt
	DeliveryDelivered DeliveryState = "delivered" // the client accepted it
	DeliveryFailed    DeliveryState = "failed"    // no attempt is left; an operator may redeliver it
)

// Classes of an attempt, which say how it ended: see ClassOf. A Notifier may have
// others, in lower case with underscores.
const (
	ClassDelivered = "delivered" // the client accepted the notice
	ClassFailed    = "failed"    // the attempt failed with an error without a class
	ClassTimeout   = "timeout"   // no response in time
)

// ParseDeliveryState parses a state. It returns verification.ErrInvalid for any other text.
func ParseDeliveryState(s string) (DeliveryState, error) {
	return parsed(s, []DeliveryState{DeliveryPending, DeliveryDelivered, DeliveryFailed}, verification.Invalid("state", "there is no such delivery state"))
}

// ClassifiedError is the error of an attempt that a Notifier classified.
type ClassifiedError interface {
	error
	// Class returns the class, in lower case with underscores; "" means ClassFailed.
	Class() string
}

// ClassOf returns the class of an attempt for which a Notifier returned err: ClassDelivered
// for nil, the class of the first ClassifiedError in the chain, otherwise ClassFailed.
func ClassOf(err error) string {
	if err == nil {
		return ClassDelivered
	}
	if classed, ok := errors.AsType[ClassifiedError](err); ok && classed.Class() != "" {
		return classed.Class()
	}
	return ClassFailed
}

// Attempted returns the delivery after an attempt of the notice n for which the
// Notifier returned err. The next attempt is due at next, zero for none. Before
// the first attempt, d is the zero Delivery.
func (d Delivery) Attempted(n Notice, err error, next time.Time) Delivery {
	d.Run, d.Seq, d.Event = n.Run.ID, n.Seq, n.Event
	d.URL, d.LastAt, d.NextAt, d.Class = n.URL, n.At, next, ClassOf(err)
	if d.FirstAt.IsZero() {
		d.FirstAt = n.At
	}
	// The notice also counts attempts that were not saved in the ledger.
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

// Requeued returns the delivery after its notice is queued again at now. Its last
// attempt does not change.
func (d Delivery) Requeued(now time.Time) Delivery {
	d.State, d.NextAt = DeliveryPending, now
	return d
}

// Ref returns which notice is delivered.
func (d Delivery) Ref() NoticeRef { return NoticeRef{d.Run, d.Seq} }

// NewerDelivery reports whether a comes before b in a list of deliveries: by the
// last attempt, newest first, ties by run id and then by Seq, both from the highest.
func NewerDelivery(a, b Delivery) bool {
	if !a.LastAt.Equal(b.LastAt) {
		return a.LastAt.After(b.LastAt)
	}
	if a.Run != b.Run {
		return a.Run > b.Run
	}
	return a.Seq > b.Seq
}
