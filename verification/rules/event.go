// Events: what has happened to a run.

package rules

import (
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Event is one fact about a run, with its time.
type Event struct {
	At   time.Time
	Fact Fact
}

// CanWait reports whether a service without room may refuse what the event records, because it can
// be done again later: a customer opens a journey, answers a step or adds a file, or a person adds a
// note or a correction or assigns the run. A result, a verdict, a cancellation or an expiry cannot wait.
func (e Event) CanWait() bool {
	switch e.Fact.(type) {
	case JourneyOpened, CustomerSubmitted, DocumentUploaded, NoteAdded, Corrected, Assigned:
		return true
	}
	return false
}

// Fact is one of the types below. The set is closed. A type may gain fields whose
// zero value keeps the old meaning; any other change needs a new type, so that
// old histories always fold.
type Fact interface{ kind() string }

// Started is the first event of every history.
type Started struct {
	Workflow              verification.WorkflowID `json:"workflow"`
	WorkflowName          string                  `json:"workflow_name"`
	Version               int                     `json:"version"`
	VersionHash           string                  `json:"version_hash"`
	ReferenceID           string                  `json:"reference_id"`
	Input                 verification.Data       `json:"input,omitempty"`
	RedirectURI           string                  `json:"redirect_uri,omitempty"`
	Zone                  string                  `json:"zone,omitempty"` // of the tenant; empty for UTC
	RunTTLSeconds         int64                   `json:"run_ttl_seconds,omitempty"`
	AbandonTimeoutSeconds int64                   `json:"abandon_timeout_seconds,omitempty"`
	ReviewDueMinutes      int64                   `json:"review_due_minutes,omitempty"`
	// FourEyes says that a verdict needs two reviewers.
	FourEyes bool `json:"four_eyes,omitempty"`
	// ReviewDueSoon says that the workflow asks for workflow.NoticeReviewDueSoon.
	ReviewDueSoon bool `json:"review_due_soon,omitempty"`
}

// Dispatched records that a provider is called for a check.
type Dispatched struct {
	Node     verification.NodeID `json:"node"`
	Key      string              `json:"key"`
	Label    string              `json:"label"`
	Provider string              `json:"provider"`
	// Dispatch is the number of the dispatch for this step in this run, 1 for the first.
	Dispatch int `json:"dispatch"`
	// Visit counts the visits of the node, 1 for the first.
	Visit int `json:"visit"`
	// Rescreen is the list whose changes lead to the re-screening of the run once it is
	// completed; empty for none.
	Rescreen string `json:"rescreen,omitempty"`
}

// ResultPending records that the result is pending and the provider must be polled.
type ResultPending struct {
	Node   verification.NodeID `json:"node"`
	Handle string              `json:"handle"`
	PollAt time.Time           `json:"poll_at"`
}

// CallbackReceived records that the vendor called back about an outstanding result: the
// provider is polled at once.
type CallbackReceived struct {
	Node verification.NodeID `json:"node"`
	// Digest identifies the content of the callback.
	Digest string `json:"digest"`
}

// Redirected records that the provider leads the customer to a URL: the check waits for its customer.
type Redirected struct {
	Node   verification.NodeID `json:"node"`
	URL    string              `json:"url"`
	Handle string              `json:"handle,omitempty"`
	PollAt time.Time           `json:"poll_at,omitzero"` // zero if the provider cannot be polled
}

// Returned records that the customer came back, without a result yet.
type Returned struct {
	Node   verification.NodeID `json:"node"`
	Digest string              `json:"digest"` // identifies the parameters
	// Pending says that the vendor has all that it needs from the customer: the provider is polled at once.
	Pending bool `json:"pending,omitempty"`
}

// PollFailed records a poll without a result.
type PollFailed struct {
	Node   verification.NodeID `json:"node"`
	Cause  string              `json:"cause"`
	PollAt time.Time           `json:"poll_at"`
}

// ResultRecorded records the result of a check.
type ResultRecorded struct {
	Node   verification.NodeID `json:"node"`
	Passed bool                `json:"passed"`
	Data   verification.Data   `json:"data,omitempty"`
	// Screening is nil if the check has screened nobody.
	Screening *Screening `json:"screening,omitempty"`
	// Confirms says whether the answer of a member of a group confirms; nil for any other check.
	Confirms *bool `json:"confirms,omitempty"`
}

// Screening says which list a check has searched, and what it found.
type Screening struct {
	List        string             `json:"list"`
	ListVersion string             `json:"list_version"`
	Hits        []verification.Hit `json:"hits,omitempty"`
	// Total is how many hits were found; 0 for no more than Hits.
	Total int `json:"total,omitempty"`
	// Cleared are the hits that were left out, with the decisions that cleared them.
	Cleared []Clearance `json:"cleared,omitempty"`
	// Asked identifies what the check was asked, see HitDecided.Asked. It is empty if there are
	// no hits.
	Asked string `json:"asked,omitempty"`
	// Doubted says that analysis_ok was false for another reason than hits. Only a redacted run has it:
	// the data of its checks no longer tells.
	Doubted bool `json:"doubted,omitempty"`
}

// DispatchFailed records a dispatch without a result.
type DispatchFailed struct {
	Node  verification.NodeID `json:"node"`
	Cause string              `json:"cause"`
	// RetryAt is when the provider is called again; zero if it is not.
	RetryAt time.Time `json:"retry_at,omitzero"`
}

// ResultUnavailable records that every retry and fallback of a check failed.
type ResultUnavailable struct {
	Node verification.NodeID `json:"node"`
	// Data is the step's data if the run continues without a result.
	Data verification.Data `json:"data,omitempty"`
}

// GroupBegan records that the run came to a group of checks, or to a node with for_each.
type GroupBegan struct {
	Node  verification.NodeID `json:"node"` // of an element, if the elements are groups
	Type  workflow.NodeType   `json:"type"`
	Key   string              `json:"key,omitempty"` // of a check
	Label string              `json:"label"`
	// Visit counts the visits, 1 for the first.
	Visit int `json:"visit"`
	// Each says that the node has for_each. Elements is the length of its list, and Items has the list.
	Each     bool              `json:"each,omitempty"`
	Elements int               `json:"elements,omitempty"`
	Items    verification.Data `json:"items,omitempty"`
}

// GroupDecided records that a group of checks is decided, or that every element of a node with for_each is. What is
// still open in it is cancelled.
type GroupDecided struct {
	Node   verification.NodeID `json:"node"`
	Type   workflow.NodeType   `json:"type"`
	Passed bool                `json:"passed"`
	// Unavailable says that only checks without an answer kept it from passing.
	Unavailable bool `json:"unavailable,omitempty"`
	// Lacking are the members without an answer, if the run continues although the group did not pass.
	Lacking []verification.NodeID `json:"lacking,omitempty"`
	// Data is the data of a node with for_each whose list is too long.
	Data verification.Data `json:"data,omitempty"`
}

// NoAnswer records that a source was reached and cannot tell: verification.OutcomeNoCoverage or
// verification.OutcomeInconclusive.
type NoAnswer struct {
	Node    verification.NodeID       `json:"node"`
	Outcome verification.CheckOutcome `json:"outcome"`
	Data    verification.Data         `json:"data,omitempty"`
}

// Skipped records that the run left out a step or a member whose condition does not hold.
type Skipped struct {
	Node   verification.NodeID `json:"node"`
	Next   verification.NodeID `json:"next,omitempty"`   // empty for a member of a group
	Values verification.Data   `json:"values,omitempty"` // the values that the condition read, by path
	// Kept says that the answer of an earlier visit stays, because nothing that it depends on was asked again. On is the way
	// by which the run leaves the step, as Transition.On; empty means next.
	Kept bool   `json:"kept,omitempty"`
	On   string `json:"on,omitempty"`
}

// AskedAgain records that the run goes back to a step of its customer.
type AskedAgain struct {
	Node verification.NodeID `json:"node"` // the step of the customer
	From verification.NodeID `json:"from"` // the review step or the branch
	// Round counts how often the customer was asked again for the step, 1 for the first.
	Round   int      `json:"round"`
	Reasons []string `json:"reasons,omitempty"` // codes, see workflow.Definition.ResubmitReason
	Fields  []string `json:"fields,omitempty"`  // those of the form that it is about; none for all
	Note    string   `json:"note,omitempty"`    // to the customer
	// By and Identity are empty if a branch asked.
	By       string `json:"by,omitempty"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty"` // as in VerdictRecorded
	Request  string `json:"request,omitempty"`  // as in VerdictRecorded
}

// CustomerAwaited records that the run parked on its customer.
type CustomerAwaited struct {
	Node   verification.NodeID `json:"node"`
	Type   workflow.NodeType   `json:"type"`
	Label  string              `json:"label"`
	Signal string              `json:"signal"`
}

// JourneyOpened records that the customer opened the journey.
type JourneyOpened struct {
	Node verification.NodeID `json:"node"`
}

// DocumentUploaded records a file that the customer sent for a field of the open
// step. It replaces an earlier file of that field.
type DocumentUploaded struct {
	Node      verification.NodeID `json:"node"`
	Document  string              `json:"document_id"`
	Field     string              `json:"field"`
	MediaType string              `json:"media_type"`
	Size      int64               `json:"size"`
	SHA256    string              `json:"sha256"`
}

// CustomerSubmitted records the customer's answer and the values derived from it.
type CustomerSubmitted struct {
	Node verification.NodeID `json:"node"`
	Data verification.Data   `json:"data,omitempty"`
	// Language is the language of the journey page; empty if the answer did not come from one.
	Language string `json:"language,omitempty"`
	// Request is the id of the request, if it had an idempotency key.
	Request string `json:"request,omitempty"`
}

// BranchTaken records where a branch led, and the values that it read.
type BranchTaken struct {
	Node   verification.NodeID `json:"node"`
	When   string              `json:"when,omitempty"` // the condition that held; empty for else
	Next   verification.NodeID `json:"next"`
	Values verification.Data   `json:"values,omitempty"` // the values that the rules read, by path
}

// ReviewAsked records that the run parked on a reviewer.
type ReviewAsked struct {
	Node   verification.NodeID `json:"node"`
	Label  string              `json:"label"`
	Reason string              `json:"reason,omitempty"`
}

// VerdictRecorded records a reviewer's verdict.
type VerdictRecorded struct {
	// Node is the review step that was answered; empty if the run was over.
	Node     verification.NodeID `json:"node,omitempty"`
	Decision Decision            `json:"decision"`
	// Reason is the code of the reject reason; empty for none. The API never shows it.
	Reason string `json:"reason,omitempty"`
	Notes  string `json:"notes,omitempty"`
	// By is the name of the reviewer. The JSON of the API never shows it; a report for the
	// file does.
	By string `json:"by,omitempty"`
	// Identity identifies the reviewer; empty if an API client gave the verdict. The API never shows it.
	Identity string `json:"identity,omitempty"`
	// Request is the id of the request, if it had an idempotency key.
	Request string `json:"request,omitempty"`
}

// VerdictProposed records the verdict of the first of two reviewers.
type VerdictProposed VerdictRecorded

// ProposalReturned records that a reviewer sent the proposed verdict back: there is no
// proposal any more.
type ProposalReturned struct {
	// Node is the review step that the proposal was for; empty if the run was over.
	Node verification.NodeID `json:"node,omitempty"`
	// Decision is the verdict that the reviewer gave instead; empty for none.
	Decision Decision `json:"decision,omitempty"`
	Reason   string   `json:"reason,omitempty"` // as in VerdictRecorded
	Notes    string   `json:"notes,omitempty"`
	By       string   `json:"by,omitempty"`       // as in VerdictRecorded
	Identity string   `json:"identity,omitempty"` // as in VerdictRecorded
	Request  string   `json:"request,omitempty"`  // as in VerdictRecorded
}

// HitsFound records that a later version of a list has entries like the person or
// company that a check of the completed run has screened, or that the check had such
// hits, see Overruled. It flags the step of the check, and the run needs a verdict again.
type HitsFound struct {
	Node        verification.NodeID `json:"node"`
	List        string              `json:"list"`
	ListVersion string              `json:"list_version"`
	Hits        []verification.Hit  `json:"hits"`
	// Overruled says that the run had the hits before, of that version, and left them out
	// because of decisions that no longer count.
	Overruled bool `json:"overruled,omitzero"`
	// Visit is the earlier visit of the check that they belong to; 0 for the last one. Asked is
	// what the check was asked on it, see HitDecided.Asked; empty for the last one.
	Visit int    `json:"visit,omitzero"`
	Asked string `json:"asked,omitempty"`
}

// HitsCleared records that hits of a later version of a list were left out, with the decisions
// that cleared them. It changes neither flags nor verdicts.
type HitsCleared struct {
	Node    verification.NodeID `json:"node"`
	Cleared []Clearance         `json:"cleared"`
	Visit   int                 `json:"visit,omitzero"` // as in HitsFound
}

// HitDecided records what a reviewer says about a hit of a check. It replaces an earlier
// decision on the hit.
type HitDecided struct {
	Node  verification.NodeID `json:"node"`
	Visit int                 `json:"visit,omitzero"` // as in HitsFound
	List  string              `json:"list"`
	// Entry and Digest are the ID and the Digest of the hit.
	Entry  string   `json:"entry"`
	Digest string   `json:"digest,omitempty"`
	Match  HitMatch `json:"match"`
	Reason string   `json:"reason,omitempty"` // in the reviewer's words; empty for none
	// Asked identifies the person or company that the hit was compared with: it is the
	// SHA-256 of what the check is asked, in hexadecimal. It is empty if that cannot be told.
	Asked    string `json:"asked,omitempty"`
	By       string `json:"by,omitempty"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty"` // as in VerdictRecorded
}

// Completed records that the run reached an end node.
type Completed struct {
	Node    verification.NodeID `json:"node"`
	Outcome string              `json:"outcome,omitempty"` // of the end node; empty for none
	Data    verification.Data   `json:"data,omitempty"`    // what the end node computed; nil for none
}

// Failed records that the workflow stopped on an error.
type Failed struct {
	Node  verification.NodeID `json:"node"`
	Error RunError            `json:"error"`
	// Cause is for the operator; the API never shows it.
	Cause string `json:"cause,omitempty"`
}

// Expired records that the deadline passed. Its time is the deadline.
type Expired struct {
	Error RunError `json:"error"`
}

// Cancelled records that the client cancelled the run.
type Cancelled struct{}

// NoteAdded records a note about the run. It changes nothing else, and the API never shows
// it; a report for the file does.
type NoteAdded struct {
	Notes    string `json:"notes"`
	By       string `json:"by,omitempty"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty"` // as in VerdictRecorded
}

// Corrected records a correction beside a value of a step, or of the input: see Correction. It changes
// neither the value nor anything else.
type Corrected struct {
	Node       verification.NodeID `json:"node,omitempty"` // empty for the input
	Field      string              `json:"field"`
	Correction string              `json:"correction"`
	By         string              `json:"by,omitempty"`       // as in VerdictRecorded
	Identity   string              `json:"identity,omitempty"` // as in VerdictRecorded
	Request    string              `json:"request,omitempty"`  // as in VerdictRecorded
}

// Assigned records to whom a run that needs a verdict is assigned. The assignment ends with
// the review, and when the assignee proposes a verdict. The API never shows it.
type Assigned struct {
	To        Assignee `json:"to,omitzero"` // zero for nobody any more
	Escalated bool     `json:"escalated,omitempty"`
	Notes     string   `json:"notes,omitempty"`
	By        string   `json:"by,omitempty"`       // as in VerdictRecorded
	Identity  string   `json:"identity,omitempty"` // as in VerdictRecorded
}

// Held records that the run is under a hold, in place of an earlier one: see Hold.
type Held struct {
	Reason   string `json:"reason"`
	By       string `json:"by,omitempty"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty"` // as in VerdictRecorded
}

// HoldEnded records that the hold of the run has ended.
type HoldEnded struct {
	By       string `json:"by,omitempty"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty"` // as in VerdictRecorded
}

// Redacted records that the personal data of the run was removed from the events before. Its reviewer may
// be an operator or an API client.
type Redacted struct {
	// Digest is that of the history before, as a report of it has it.
	Digest   string `json:"digest"`
	By       string `json:"by,omitempty"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty"` // as in VerdictRecorded
}

// Restricted records that the run is restricted: see Restrict.
type Restricted struct {
	// Digest is that of the history before, as a report of it has it.
	Digest   string `json:"digest"`
	Reason   string `json:"reason,omitempty"`
	By       string `json:"by,omitempty"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty"` // as in VerdictRecorded
}

// RestrictionLifted records that the run is restricted no more.
type RestrictionLifted struct {
	Reason   string `json:"reason,omitempty"`
	By       string `json:"by,omitempty"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty"` // as in VerdictRecorded
}

// Erased records that what was beside the history is gone, too: the redaction of the run is complete.
type Erased struct{}

// DocumentsRemoved records that the uploads of the run were removed, because they were old. The run has
// everything else.
type DocumentsRemoved struct{}

// ReviewDueSoon records that the last quarter of the time for a verdict has begun. It is
// recorded once for each review, and only if the workflow asks for workflow.NoticeReviewDueSoon.
type ReviewDueSoon struct {
	DueAt time.Time `json:"due_at"`
}

func (Started) kind() string           { return "started" }
func (Dispatched) kind() string        { return "dispatched" }
func (GroupBegan) kind() string        { return "group_began" }
func (GroupDecided) kind() string      { return "group_decided" }
func (NoAnswer) kind() string          { return "no_answer" }
func (Skipped) kind() string           { return "skipped" }
func (AskedAgain) kind() string        { return "asked_again" }
func (Redirected) kind() string        { return "redirected" }
func (Returned) kind() string          { return "returned" }
func (ResultPending) kind() string     { return "result_pending" }
func (CallbackReceived) kind() string  { return "callback_received" }
func (PollFailed) kind() string        { return "poll_failed" }
func (ResultRecorded) kind() string    { return "result_recorded" }
func (DispatchFailed) kind() string    { return "dispatch_failed" }
func (ResultUnavailable) kind() string { return "result_unavailable" }
func (CustomerAwaited) kind() string   { return "customer_awaited" }
func (JourneyOpened) kind() string     { return "journey_opened" }
func (DocumentUploaded) kind() string  { return "document_uploaded" }
func (CustomerSubmitted) kind() string { return "customer_submitted" }
func (BranchTaken) kind() string       { return "branch_taken" }
func (ReviewAsked) kind() string       { return "review_asked" }
func (VerdictRecorded) kind() string   { return "verdict_recorded" }
func (VerdictProposed) kind() string   { return "verdict_proposed" }
func (ProposalReturned) kind() string  { return "proposal_returned" }
func (HitsFound) kind() string         { return "hits_found" }
func (HitsCleared) kind() string       { return "hits_cleared" }
func (HitDecided) kind() string        { return "hit_decided" }
func (Completed) kind() string         { return "completed" }
func (Failed) kind() string            { return "failed" }
func (Expired) kind() string           { return "expired" }
func (Cancelled) kind() string         { return "cancelled" }
func (NoteAdded) kind() string         { return "note_added" }
func (Corrected) kind() string         { return "corrected" }
func (Assigned) kind() string          { return "assigned" }
func (Held) kind() string              { return "held" }
func (HoldEnded) kind() string         { return "hold_ended" }
func (Erased) kind() string            { return "erased" }
func (DocumentsRemoved) kind() string  { return "documents_removed" }
func (Redacted) kind() string          { return "redacted" }
func (Restricted) kind() string        { return "restricted" }
func (RestrictionLifted) kind() string { return "restriction_lifted" }
func (ReviewDueSoon) kind() string     { return "review_due_soon" }

// Kind returns the name of the fact's type, such as "dispatched"; empty if the
// event has no fact.
func (e Event) Kind() string {
	if e.Fact == nil {
		return ""
	}
	return e.Fact.kind()
}
