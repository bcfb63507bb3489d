// What somebody wants of a run.

package verification

import "time"

// Command is one of the types below. Decide refuses it or turns it into events.
type Command interface{ command() }

// Start begins a run that has no history yet.
type Start struct {
	ReferenceID string // 1 to 255 characters, no control characters
	Input       Data
	RedirectURI string // already checked against the tenant's allowlist
}

// RecordResult keeps what a provider answered to a dispatch. An answer that
// comes too late, because the run went on or ended without it, changes nothing.
type RecordResult struct {
	Node      NodeID
	Dispatch  int
	Outcome   Outcome
	Data      Data
	Handle    string        // of a pending answer
	PollAfter time.Duration // of a pending answer; 0 leaves it to the node
}

// RecordFailure keeps that a provider was called and did not answer. One that
// comes too late changes nothing.
type RecordFailure struct {
	Node      NodeID
	Dispatch  int
	Permanent bool   // trying again will not help
	Cause     string // for the operator; cut to 500 characters
}

// Redispatch calls a provider again once its retry is due.
type Redispatch struct{}

// Abort ends a run whose workflow cannot go on at the node that the run waits
// at. One that comes too late changes nothing.
type Abort struct {
	Node  NodeID
	Cause string // for the operator; cut to 500 characters
}

// CustomerArrives says that the customer opened the journey at a wait.
type CustomerArrives struct {
	Wait int // the number of the wait; 0 for whichever is open
}

// Submit delivers the customer's answer to the step the run is parked on.
type Submit struct {
	Signal  string // may be empty when Wait is not 0
	Payload Data
	Wait    int // the number of the wait it answers; 0 for whichever is open
	// CheckDocuments requires each document_id to name an upload of the run for
	// its field. It is false where no documents are kept: any UUID is accepted.
	CheckDocuments bool
	// Request is the id of a request with an idempotency key; empty for none.
	// The same request delivered again changes nothing.
	Request string
}

// Upload records a document that was saved for a field of the open wait.
// Content that the field already has changes nothing.
type Upload struct {
	Wait     int // the number of the wait
	Document Document
}

// GiveVerdict delivers a reviewer's word: to the review step the run is
// parked on, or to a run that is over.
type GiveVerdict struct {
	Decision Decision // approve or reject
	Notes    string   // at most MaxNotes characters
	By       string
	// Request is the id of a request with an idempotency key; empty for none.
	// The same request delivered again changes nothing.
	Request string
}

// MaxNotes is the longest note of a verdict, in characters.
const MaxNotes = 10000

// Cancel ends a live run.
type Cancel struct{}

// Expire writes down that the deadline has passed.
type Expire struct{}

func (Start) command()           {}
func (RecordResult) command()    {}
func (RecordFailure) command()   {}
func (Redispatch) command()      {}
func (Abort) command()           {}
func (CustomerArrives) command() {}
func (Submit) command()          {}
func (Upload) command()          {}
func (GiveVerdict) command()     {}
func (Cancel) command()          {}
func (Expire) command()          {}
