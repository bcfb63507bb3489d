// Run: the state of a run, its steps, verdicts and wait.

package rules

import (
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Run is the state that a history folds into. It is a value: Evolve returns a
// new one and does not change the old one.
type Run struct {
	ID verification.RunID
	// Seq is the length of the history folded so far.
	Seq       int
	StartedAt time.Time
	// Started is the first event of the history.
	Started Started
	// Steps are the steps reached so far, in execution order. A step that is
	// visited again keeps its position.
	Steps []Step
	// Groups are the groups of checks and the nodes with for_each that the run has come to, in order.
	Groups []Group
	// Wait is what the run waits for; its Kind is empty once the run is over. Beside are the further checks
	// that the run waits for, while several are called at once.
	Wait   Wait
	Beside []Wait

	Ended       Status              // the terminal status of the history; empty while live
	CompletedAt time.Time           // zero while live
	Outcome     string              // of the end node of a completed run; Summary.Outcome is what is shown
	Data        verification.Data   // of the end node of a completed run; Summary.Data is what is shown
	EndNode     verification.NodeID // of a completed run
	Error       *RunError           // of a failed or expired run

	// ReopenedAt is when the completed run last began to need a verdict again, because a
	// later version of a list has a hit for it; zero for never.
	ReopenedAt time.Time

	// Hold keeps the run from being redacted; zero for none.
	Hold Hold

	// RedactedAt is when the personal data of the run was last removed; zero for never. ErasedAt is when
	// that was complete; zero while it is not.
	RedactedAt, ErasedAt time.Time

	// DocumentsRemovedAt is when the uploads of the run were removed, without a redaction; zero for never.
	DocumentsRemovedAt time.Time

	// RestrictedAt is since when the run is restricted; zero if it is not. A run that is folded from what
	// Shown returns then reads like a redacted one.
	RestrictedAt time.Time

	// HadHits reports whether a screening of the run has found hits, on any visit.
	HadHits bool

	// Documents are the uploads that accepted answers name, in order.
	Documents []verification.Document

	// Verdict is the newest one; its Decision is empty if there is none, or if hits were
	// found since.
	Verdict Verdict
	// Proposal is a verdict that a second reviewer must confirm; its Decision is empty
	// if there is none. It concerns the current wait, or the run that is over.
	Proposal Verdict

	// Assignment says who works on the run, which needs a verdict; zero for nobody.
	Assignment Assignment

	receipts    []SignalReceipt // oldest first
	round       round           // in which the customer was asked again; zero for none
	corrections []correction    // oldest first

	endDecision Decision // right after the end

	changed      int // the length of the history at the last event that is no annotation
	notes        tally
	corrected    tally
	assignments  tally
	escalations  tally
	verdicts     int
	returned     tally     // proposals that were sent back
	holds        int       // how often the run was put under a hold
	restrictions int       // how often it was restricted
	hits         tally     // decisions on hits
	opened       int       // how often the journey was opened
	bytes        int       // of the data and texts of the history, see bytesOf
	lastNote     NoteAdded // the last event, if that is a note; a reminder does not count
	reminded     time.Time // the beginning of the last review that had a reminder

	// The lengths of the history at the newest verdict, at its proposal (0 for none), and at
	// Proposal.
	judgedAt, proposedAt, proposalAt int

	steps ownership // of Steps
}

// SignalReceipt is the result of a signal with an idempotency key.
type SignalReceipt struct {
	Request string              // the id of the request
	Node    verification.NodeID // the step that was answered; empty for a verdict on a run that was over
	Verdict Decision            // empty for a customer's answer
	// Proposed and Returned say that the verdict was only proposed, or that it sent the
	// proposed one back.
	Proposed, Returned bool
}

// Step is one node of a run that can appear on a report.
type Step struct {
	Node   verification.NodeID
	Type   workflow.NodeType
	Key    string // of a check
	Label  string
	Status StepStatus
	Data   verification.Data
	// Reason is the reason that a review step shows to the reviewer.
	Reason      string
	StartedAt   time.Time // of the first visit
	VisitedAt   time.Time // the start of the last visit
	CompletedAt time.Time // of the last visit; zero while it is unfinished
	Visits      int
	// Dispatches counts the dispatches over all visits and providers.
	Dispatches int
	// Failures counts the dispatches and polls without a result.
	Failures int
	// Recovered says that a result came after such a failure, or that the check
	// passed after it had failed on an earlier visit.
	Recovered bool

	// Rescreen is the list whose changes lead to the re-screening of the completed run;
	// empty for none.
	Rescreen string
	// Screening is what a check found on a list on its last visit; nil if it has screened
	// nobody.
	Screening *Screening
	// EarlierHits are the screenings of earlier visits that found hits, oldest first: of the
	// newest 100 such visits.
	EarlierHits []VisitScreening
	// Rescreened are the hits that later versions of a list had, oldest first.
	Rescreened []HitsFound
	// HitDecisions are the newest decisions on the hits of all visits, oldest first.
	HitDecisions []HitDecision
	// Cleared are the hits that a check left out, of all visits and of later versions of a list,
	// with the decisions that cleared them, oldest first. Each is there once.
	Cleared []Clearance

	// Rounds are the times at which the customer was asked again for the step, oldest first.
	Rounds []Round
	// Confirms says whether the answer of a member of a group confirms; nil for no answer and for any other check.
	Confirms *bool

	noAnswer     verification.CheckOutcome // on the last visit; empty unless the source could not tell
	cancelled    bool                      // on the last visit: its answer was not needed
	failedBefore bool                      // on an earlier visit, and no visit has passed since
	unavailable  bool                      // on the last visit
	before       string                    // ListVersion of the visit before
	otherVersion bool                      // an earlier visit has screened against another version of Rescreen than the one after it
	reached      int                       // the length of the history when the last visit began
	overcome     int                       // the Failures that a result came after
	// flags are of the last visit that is finished, and earlier those of all visits before
	// it. If the run ends before a visit is finished, all of them are in earlier.
	flags, earlier flagReasons
}

// Round is a time at which a customer was asked again.
type Round struct {
	AskedAgain
	At    time.Time
	Visit int // of the step before it
	// Earlier is the answer of that visit.
	Earlier    verification.Data
	AnsweredAt time.Time // zero while the customer has not answered
}

// round is the present round: from which node the run went back to which step, and the length of the history then.
type round struct {
	step, from verification.NodeID
	began      int
}

// VisitScreening is what a check found on a list on an earlier visit.
type VisitScreening struct {
	Visit int // 1 for the first
	Screening
}

// Verdict is a reviewer's decision on a run.
type Verdict struct {
	// Node is the review step that was answered; empty if the run was over.
	Node     verification.NodeID
	Decision Decision
	// Reason is the code of the reject reason; empty for none.
	Reason   string `json:",omitempty"`
	Notes    string
	By       string // the name of the reviewer
	Identity string // identifies the reviewer; empty for an API client
	At       time.Time
}

// Person returns who gave the verdict.
func (v Verdict) Person() verification.Person {
	return verification.Person{Identity: v.Identity, Name: v.By}
}

// WaitKind says what a run waits for.
type WaitKind string

// The kinds of wait.
const (
	WaitNothing  WaitKind = ""
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
	// Uploads are the documents of a customer wait: the last one of each field.
	// Uploaded counts all documents that were sent.
	Uploads  []verification.Document
	Uploaded int
	// Since is when the run parked or, if later, when the customer last opened the
	// journey. For a check, it is when the provider was last dispatched or, if later, when its customer was led away,
	// opened the journey or came back.
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
	// Callbacks are the digests of the callbacks so far. PollNow says that one came
	// before the result was known to be pending.
	Callbacks []string
	PollNow   bool
	// Redirect is the URL that a check leads its customer to; empty for any other wait. Returned says that the customer
	// came back since, without a result.
	Redirect string
	Returned bool
}
