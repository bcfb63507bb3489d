// Commands: what may be requested of a run.

package rules

import (
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Command is one of the types below. Decide refuses it or turns it into events.
//
//sumtype:decl
type Command interface{ command() }

// Start begins a run that has no history yet.
type Start struct {
	ReferenceID string // 1 to 255 characters, no control characters
	Input       verification.Data
	RedirectURI string // checked against the tenant's allowlist by the caller
	Zone        string // Zone of the tenant
}

// RecordResult records a provider's result for a dispatch. A result that comes
// too late, because the run has moved on or ended, changes nothing.
type RecordResult struct {
	Node      verification.NodeID
	Dispatch  int
	Outcome   verification.CheckOutcome
	Data      verification.Data
	Screening *verification.ScreeningResult // nil if the check has screened nobody
	// Cleared are the decisions by which the request had cleared hits: see Clearances. Asked
	// identifies what was asked: see AskedDigest.
	Cleared   []Clearance
	Asked     string
	Handle    string        // of a pending result
	PollAfter time.Duration // of a pending result; 0 means the node's poll interval
	// Redirect is the URL of OutcomeRedirect, and Polled says that the provider can be polled meanwhile.
	Redirect string
	Polled   bool
}

// RecordFailure records that a provider was called and returned no result. A
// failure that comes too late changes nothing.
type RecordFailure struct {
	Node      verification.NodeID
	Dispatch  int
	Permanent bool   // another dispatch will not help
	Cause     string // for the operator; cut to 500 bytes
	// RetryAt is the earliest time of the next dispatch, within the maximum backoff
	// of the node; zero for no such time.
	RetryAt time.Time
}

// RecordCallback records that a vendor called back about the result of a dispatch,
// so that the provider is polled at once. A callback that comes too late, or that
// was recorded before, changes nothing.
type RecordCallback struct {
	WaitNumber int    // the number of the wait on the provider
	Digest     string // identifies the content of the callback
}

// RecordReturn records that a customer came back from the URL of a check, without a result yet. A return that comes
// too late, or that was recorded before, changes nothing.
type RecordReturn struct {
	WaitNumber int
	Digest     string // identifies the parameters
	Pending    bool   // as in Returned
}

// Redispatch calls a provider again once its retry is due.
type Redispatch struct{}

// Abort fails a run whose workflow cannot continue at the node that the run
// waits at. An abort at any other node changes nothing.
type Abort struct {
	Node  verification.NodeID
	Cause string // for the operator; cut to 500 bytes
}

// OpenJourney records that the customer opened the journey.
type OpenJourney struct {
	WaitNumber int // the number of the wait; 0 for the current one
}

// Submit delivers the customer's answer to the step that the run is parked on.
type Submit struct {
	Signal     string // may be empty when WaitNumber is not 0
	Payload    verification.Data
	WaitNumber int // the number of the wait that it answers; 0 for the current one
	// Language is the language of the page on which the customer answered; empty for none.
	Language string
	// CheckDocuments requires each document_id to name an upload of the run for
	// its field. It is false where there is no document store: then any UUID is
	// accepted.
	CheckDocuments bool
	// Request is the id of a request with an idempotency key; empty for none.
	// Delivering the same request again changes nothing.
	Request string
}

// Upload records a document that was saved for a field of the current wait.
// Content that the field already has changes nothing.
type Upload struct {
	WaitNumber int // the number of the wait
	Document   verification.Document
}

// GiveVerdict delivers a reviewer's verdict to the review step that the run is
// parked on, or to a run that is over. If the verdict needs two reviewers, the first
// one proposes it. The second one confirms it with the same decision, unless they may be
// one person (see Person.MayBe), and sends it back with the other.
type GiveVerdict struct {
	Decision Decision // approve or reject
	// Reason is the code of a workflow.RejectReason of the workflow, for a rejection; empty for none.
	Reason string
	Notes  string // at most 10,000 characters
	// Justified requires the reason and the notes that the workflow asks for, and notes for
	// the approval of somebody who is or may be on a list: see ErrNotesForListed and
	// ErrNotesForUnsure. Under four eyes it requires that the second person has decided the hits that
	// ask for one: see ErrHitForSecond. The console sets it.
	// It is false for an API client: the signal of the API has no reason, and a
	// verdict without one is valid there.
	Justified bool
	By        string // the reviewer's name
	// Identity identifies the reviewer; empty for an API client, that is, with an
	// API key. A verdict that needs two reviewers requires it.
	Identity string
	// Seq is the RunDetail.Seq that the reviewer saw: verification.ErrConflict is returned if the run
	// has changed since then. Notes, assignments and reminders are no changes. 0 accepts
	// every one.
	Seq int
	// Claim is the claim of the run, zero for none: ErrClaimed is returned to a reviewer
	// while another person holds it.
	Claim Claim
	// Request is the id of a request with an idempotency key; empty for none.
	// Delivering the same request again changes nothing. The engine sets it, and Claim.
	Request string
}

// AskAgain sends a run that is parked on review back to a step of its customer. It is no verdict.
type AskAgain struct {
	// Step is a form or a consent that the customer has answered. Empty means the last form that has all Fields.
	Step     verification.NodeID
	Reasons  []string // codes, at least one: see workflow.Definition.ResubmitReason
	Fields   []string // of the form; none for all
	Note     string   // to the customer: at most 1,000 characters
	By       string   // the reviewer's name
	Identity string   // as in GiveVerdict
	Seq      int      // as in GiveVerdict
	Claim    Claim    // as in GiveVerdict
	Request  string   // as in GiveVerdict
}

// ReturnProposal sends a proposed verdict back. The reviewer who proposed it may do so
// too.
type ReturnProposal struct {
	Notes    string // at most 10,000 characters
	By       string // the reviewer's name
	Identity string // as in GiveVerdict; required
	Seq      int    // as in GiveVerdict
	Claim    Claim  // as in GiveVerdict
}

// RecordHits records hits that a later version of a list has for a check of a completed
// run, or hits that it left out. Hits and clearances that the run knows change nothing.
type RecordHits struct {
	Node        verification.NodeID // of a check that the run has made
	Visit       int                 // 1 for its first visit; 0 for the last one
	List        string
	ListVersion string
	Hits        []verification.Hit
	Overruled   bool               // as in HitsFound
	Asked       string             // on the visit, see AskedDigest; it may be empty for the last one
	LeftOut     []verification.Hit // verification.ScreeningResult.Cleared
	Cleared     []Clearance        // as in RecordResult
}

// DecideHit records what a reviewer says about a hit, while the run needs a verdict. Unlike
// a verdict it has no Seq: reviewers decide the hits of a run one by one.
type DecideHit struct {
	Node  verification.NodeID // of the check
	Visit int                 // 1 for its first visit; 0 for the last one
	List  string
	// Entry and Digest are the ID and the Digest of the hit. verification.ErrConflict is returned if the
	// check has no such hit, or has it no longer.
	Entry, Digest string
	Match         HitMatch
	Reason        string // at most 10,000 characters; empty for none
	// Justified requires a reason to clear a hit that agrees with the person or company: see
	// Agrees. The console sets it.
	Justified bool
	// Together says that the reviewer decides several hits with one reason. A hit that agrees with
	// the person or company is then refused: it is decided alone.
	Together bool
	By       string // the reviewer's name
	Identity string // as in GiveVerdict
	Claim    Claim  // as in GiveVerdict
}

// Cancel ends a live run.
type Cancel struct{}

// Expire records that the deadline has passed. It changes nothing before that.
type Expire struct{}

// AddNote adds a note to a run in any state. The note that the same person has just added
// changes nothing.
type AddNote struct {
	Notes    string // 1 to 10,000 characters, not only white space
	By       string // the reviewer's name
	Identity string // identifies the reviewer; required
}

// Correct adds a correction beside a recorded value: see Correction. The correction that the value had
// last changes nothing.
type Correct struct {
	Node       verification.NodeID // whose data has the value, of the last visit; empty for the input
	Field      string              // the path of the value
	Correction string              // 1 to 1,000 characters, not only white space
	By         string              // the name of the person
	Identity   string              // identifies the person; required
	Request    string              // as in GiveVerdict; the caller sets it
}

// Assign assigns a run that needs a verdict, in place of an earlier assignment.
type Assign struct {
	To       Assignee // zero for nobody
	Escalate bool     // To is a team, and Notes are required
	Notes    string   // at most 10,000 characters
	By       string   // the reviewer's name
	Identity string   // identifies the reviewer; required
}

// HoldRun puts a run under a hold, which keeps it from being redacted. The hold that the same person has just
// given for the same reason changes nothing.
type HoldRun struct {
	Reason   string // 1 to 10,000 characters, not only white space
	By       string // the name of the person
	Identity string // identifies the person; required
}

// EndHold ends the hold of a run.
type EndHold struct {
	By       string // the name of the person
	Identity string // identifies the person; required
}

// Remind records that a verdict falls due soon. It changes nothing before the last quarter of the time for a verdict.
type Remind struct{}

func (Start) command()          {}
func (RecordResult) command()   {}
func (RecordFailure) command()  {}
func (RecordCallback) command() {}
func (RecordReturn) command()   {}
func (Redispatch) command()     {}
func (Abort) command()          {}
func (OpenJourney) command()    {}
func (Submit) command()         {}
func (Upload) command()         {}
func (GiveVerdict) command()    {}
func (ReturnProposal) command() {}
func (AskAgain) command()       {}
func (RecordHits) command()     {}
func (DecideHit) command()      {}
func (Cancel) command()         {}
func (Expire) command()         {}
func (AddNote) command()        {}
func (Correct) command()        {}
func (Assign) command()         {}
func (HoldRun) command()        {}
func (EndHold) command()        {}
func (Remind) command()         {}
