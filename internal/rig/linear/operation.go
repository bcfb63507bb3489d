// The operations of clients and their outputs.

package linear

import (
	"fmt"
	"strings"
	"time"
)

// Op is the kind of an operation.
type Op string

// The operations.
const (
	OpStart     Op = "start"     // always with the same idempotency key
	OpSubmit    Op = "submit"    // by the customer
	OpVerdict   Op = "verdict"   // by a reviewer
	OpAskAgain  Op = "ask again" // by a reviewer, of the customer
	OpCancel    Op = "cancel"
	OpRead      Op = "read"
	OpReport    Op = "report"
	OpList      Op = "list"
	OpWake      Op = "wake"       // query the queue, where the deadline may be due
	OpPassLease Op = "pass lease" // longer than a lease, shorter than the deadline
	OpAdvance   Op = "advance"    // the clock, past the deadline
)

// A start does three things at different times between its call and its return: it
// creates the run, settles its idempotency key, and reads the run for its output.
// In a history the last two are separate operations.
const (
	OpSettled Op = "settled"
	OpShown   Op = "shown"
)

// Input is one operation. Which fields count depends on its kind.
type Input struct {
	Op       Op
	Host     int
	Signal   string
	Step     string // for which the customer is asked again
	Payload  Payload
	Decision string // of a verdict; or the filter of a list
	Notes    string
	Status   string // the filter of a list

	// Pause is the wait of the client before the operation.
	Pause time.Duration
	// Wait bounds the wait of a start until the run waits for a person or ends.
	Wait time.Duration
}

// Payload is the payload of a customer's signal.
type Payload string

// The payloads.
const (
	Good     Payload = "good"
	Declined Payload = "declined" // consent is declined; for any other step it is good
	Bad      Payload = "bad"
)

// Output is the result of an operation.
type Output struct {
	// Answer is one of the answers below.
	Answer   string
	Decision string // of a verdict
	Listed   bool   // the list has the run
	View     View   // of operations that return the run
	Started  int64  // of a start: when the run was started, as the times below

	// From and To are the times of the call and the return on the clock of the
	// hosts, in microseconds of Unix time.
	From, To int64
}

// The answers; a conflict names the status that causes it.
const (
	Done      = "ok"
	Delivered = "signal_delivered"
	Recorded  = "review_recorded"
	Invalid   = "invalid"
	NotOpen   = "not open"
	NotFound  = "not found" // the run has not been started
	InFlight  = "in flight" // of a start: another one is in flight
	Conflict  = "conflict: "
	NoRounds  = "no rounds" // the customer was asked again as often as the workflow allows
)

// View is a run as an operation returns it. Times are in microseconds of Unix time;
// zero is null.
type View struct {
	Status    string
	Completed int64
	Action    string // what it waits for
	Signal    string
	Linked    bool // the action has a link
	Code      string
	FailedOn  string // the check of the error

	// Of a read and a report.
	Decision string
	Notes    string
	Resolved int64
	Flags    string // the flagged steps in their order

	Check string // of a read: the status of the check

	Dispatches  int // of a report: of the check, once it has completed
	NeedsReview int // of a report: the cards that need a review
}

// Describe returns a short description of an operation and its output.
func (i Input) Describe(o Output) string {
	words := []string{string(i.Op), o.Answer}
	if (i.Op == OpRead || i.Op == OpShown) && o.Answer == Done {
		words = []string{string(i.Op), o.View.Status, o.View.Decision}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// String returns the operation for the picture of a history.
func (i Input) String() string {
	words := []string{fmt.Sprintf("%d", i.Host), string(i.Op)}
	for _, w := range []string{i.Signal, i.Step, string(i.Payload), i.Status, i.Decision, i.Notes} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// String returns the output for the picture of a history.
func (o Output) String() string {
	words := []string{o.Answer}
	if o.Listed {
		words = append(words, "listed")
	}
	if o.View != (View{}) {
		words = append(words, fmt.Sprintf("%+v", o.View))
	}
	return strings.Join(words, " ")
}
