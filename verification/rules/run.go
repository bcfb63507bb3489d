// Run: the state of a run, its steps and verdicts.

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
	// Unscreened are the checks that screen, and that the run came to and has not called.
	Unscreened []Unscreened
	// Waits are all that the run waits for; none once it is over. They are several while several checks are called at once.
	Waits []Wait

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
	rejections  Rejections      // found when the run last came to need a verdict
	round       round           // in which the customer was asked again; zero for none
	turn        turn            // of a run whose reviewer asked its customer again; zero for none
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

	own ownership // of Steps and Waits
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
	// Screens says that the check screens people or companies, on its last visit.
	Screens bool
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
	// Gone says that all visits of the step are earlier ones: the last visit of its node, which has for_each, has no such
	// element, or has not called this member of it.
	Gone bool

	provider     string                    // the last one that was called
	noAnswer     verification.CheckOutcome // on the last visit; empty unless the source could not tell
	found        verification.Data         // what a source found that could not tell; nil for nothing
	cancelled    bool                      // on the last visit: its answer was not needed
	fourEyes     bool                      // of a review: its verdict needs two reviewers
	doubted      bool                      // on the last visit: analysis_ok was false before facts differed
	failedBefore bool                      // on an earlier visit, and no visit has passed since
	unavailable  bool                      // on the last visit
	earlierWhy   string                    // the key of the sentence why no source could tell on an earlier visit; may be empty
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

// about hides the method of AskedAgain: a Round is no fact.
func (Round) about() {} //nolint:unused // it hides another one

// round is the present round: from which node the run went back to which step, and the length of the history then.
type round struct {
	step, from verification.NodeID
	began      int
}

// turn is the place in the review queue of a run whose reviewer has asked its customer again, until its verdict.
type turn struct {
	since time.Time           // when it first began to need the verdict
	by    verification.Person // who asked last
	round int                 // AskedAgain.Round
	left  time.Time           // when the customer was asked; zero once the run is back
	away  time.Duration       // from each question until the run was back
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
