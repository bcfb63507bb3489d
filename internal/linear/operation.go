// What a client asks of a run, and what it is answered.

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
	OpStart   Op = "start"   // always with the same idempotency key
	OpSubmit  Op = "submit"  // the customer's answer
	OpVerdict Op = "verdict" // a reviewer's word
	OpCancel  Op = "cancel"
	OpRead    Op = "read"
	OpReport  Op = "report"
	OpList    Op = "list"
	OpSweep   Op = "sweep" // write down the deadlines that have passed
	OpNap     Op = "nap"   // longer than a lease, shorter than the deadline
	OpTurn    Op = "turn"  // the clock goes past the deadline
)

// A start does three things, each at a time of its own between its call and its
// return: it creates the run, settles its idempotency key, and looks at the run
// for its answer. A history has the last two as operations of their own.
const (
	OpSettled Op = "settled"
	OpShown   Op = "shown"
)

// Input is one operation. Which fields count depends on its kind.
type Input struct {
	Op       Op
	Host     int
	Signal   string
	Payload  Payload
	Decision string // of a verdict; or the filter of a list
	Notes    string
	Status   string // the filter of a list

	// Pause is how long the client waits before it.
	Pause time.Duration
	// Wait is how long a start may wait for the run to park or end.
	Wait time.Duration
}

// Payload is what the customer answers.
type Payload string

// The payloads.
const (
	Good     Payload = "good"
	Declined Payload = "declined" // consent is refused; for any other step it is good
	Bad      Payload = "bad"
)

// Output is an answer.
type Output struct {
	// Answer is one of the words below.
	Answer   string
	Decision string // of a verdict
	Listed   bool   // the list has the run
	Seen     Seen   // of whatever shows the run
	Started  int64  // of a start: when the run was started, as the times below

	// From and To are the moments of the hosts' clock at which the operation
	// was called and returned, in microseconds of Unix time.
	From, To int64
}

// The answers; a conflict names the status that stands in the way.
const (
	Done      = "ok"
	Delivered = "signal_delivered"
	Recorded  = "review_recorded"
	Invalid   = "invalid"
	NotOpen   = "not open"
	NotFound  = "not found" // the run has not been started
	InFlight  = "in flight" // of a start: another one has not been answered
	Conflict  = "conflict: "
)

// Seen is a run as it is shown. Moments are microseconds of Unix time; zero
// stands for null.
type Seen struct {
	Status    string
	Completed int64
	Action    string // whom it waits on
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

	Dispatches int // of a report: of the check, once it has come to an end
	Owed       int // of a report: the cards that need a review
}

// Describe says in short how an operation was answered.
func (i Input) Describe(o Output) string {
	words := []string{string(i.Op), o.Answer}
	if (i.Op == OpRead || i.Op == OpShown) && o.Answer == Done {
		words = []string{string(i.Op), o.Seen.Status, o.Seen.Decision}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// String is the operation as the picture of a history shows it.
func (i Input) String() string {
	words := []string{fmt.Sprintf("%d", i.Host), string(i.Op)}
	for _, w := range []string{i.Signal, string(i.Payload), i.Status, i.Decision, i.Notes} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// String is the answer as the picture of a history shows it.
func (o Output) String() string {
	words := []string{o.Answer}
	if o.Listed {
		words = append(words, "listed")
	}
	if o.Seen != (Seen{}) {
		words = append(words, fmt.Sprintf("%+v", o.Seen))
	}
	return strings.Join(words, " ")
}
