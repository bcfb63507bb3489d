// Events: what has happened to a run.

package rules

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Event is one fact about a run, with its time.
type Event struct {
	At   time.Time
	Fact Fact
}

// About returns what is told of the event's fact once; zero if the event has no fact.
func (e Event) About() About {
	if e.Fact == nil {
		return About{}
	}
	return e.Fact.about()
}

// Fact is one of the types below. The set is closed. A type may gain fields whose
// zero value keeps the old meaning; any other change needs a new type, so that
// old histories always fold. The tag fact of a field says what a redaction leaves of it: "kept" all, "emptied" nothing, "blank" as many
// items that say nothing, "flags" what may flag a step, "reference" RedactedReference, "inside" what the fields inside say. With
// "counted", it counts towards the length of a history. What a rule computes is in redactedFact.
//
//sumtype:decl
type Fact interface {
	about() About
	fold(r *Run, at time.Time) // changes r, whose Seq counts the event
}

// Started is the first event of every history.
type Started struct {
	Workflow              verification.WorkflowID `json:"workflow" fact:"kept"`
	WorkflowName          string                  `json:"workflow_name" fact:"kept"`
	Version               int                     `json:"version" fact:"kept"`
	VersionHash           string                  `json:"version_hash" fact:"kept"`
	ReferenceID           string                  `json:"reference_id" fact:"reference"`
	Input                 verification.Data       `json:"input,omitempty" fact:"emptied,counted"`
	RedirectURI           string                  `json:"redirect_uri,omitempty" fact:"emptied"`
	Zone                  string                  `json:"zone,omitempty" fact:"kept"` // of the tenant; empty for UTC
	RunTTLSeconds         int64                   `json:"run_ttl_seconds,omitempty" fact:"kept"`
	AbandonTimeoutSeconds int64                   `json:"abandon_timeout_seconds,omitempty" fact:"kept"`
	ReviewDueMinutes      int64                   `json:"review_due_minutes,omitempty" fact:"kept"`
	// FourEyes says that a verdict needs two reviewers.
	FourEyes bool `json:"four_eyes,omitempty" fact:"kept"`
	// ReviewDueSoon says that the workflow asks for workflow.NoticeReviewDueSoon.
	ReviewDueSoon bool `json:"review_due_soon,omitempty" fact:"kept"`
}

// Dispatched records that a provider is called for a check.
type Dispatched struct {
	Node     verification.NodeID `json:"node" fact:"kept"`
	Key      string              `json:"key" fact:"kept"`
	Label    string              `json:"label" fact:"kept"`
	Provider string              `json:"provider" fact:"kept"`
	// Dispatch is the number of the dispatch for this step in this run, 1 for the first.
	Dispatch int `json:"dispatch" fact:"kept"`
	// Visit counts the visits of the node, 1 for the first.
	Visit int `json:"visit" fact:"kept"`
	// Rescreen is the list whose changes lead to the re-screening of the run once it is
	// completed; empty for none.
	Rescreen string `json:"rescreen,omitempty" fact:"kept"`
	// Screens says that the provider screens: see verification.ProviderDescription.
	Screens bool `json:"screens,omitempty" fact:"kept"`
}

// ResultPending records that the result is pending and the provider must be polled.
type ResultPending struct {
	Node   verification.NodeID `json:"node" fact:"kept"`
	Handle string              `json:"handle" fact:"emptied,counted"`
	PollAt time.Time           `json:"poll_at" fact:"kept"`
}

// CallbackReceived records that the vendor called back about an outstanding result: the
// provider is polled at once.
type CallbackReceived struct {
	Node verification.NodeID `json:"node" fact:"kept"`
	// Digest identifies the content of the callback.
	Digest string `json:"digest" fact:"emptied"`
}

// Redirected records that the provider leads the customer to a URL: the check waits for its customer.
type Redirected struct {
	Node   verification.NodeID `json:"node" fact:"kept"`
	URL    string              `json:"url" fact:"emptied,counted"`
	Handle string              `json:"handle,omitempty" fact:"emptied,counted"`
	PollAt time.Time           `json:"poll_at,omitzero" fact:"kept"` // zero if the provider cannot be polled
}

// Returned records that the customer came back, without a result yet.
type Returned struct {
	Node   verification.NodeID `json:"node" fact:"kept"`
	Digest string              `json:"digest" fact:"emptied"` // identifies the parameters
	// Pending says that the vendor has all that it needs from the customer: the provider is polled at once.
	Pending bool `json:"pending,omitempty" fact:"kept"`
}

// PollFailed records a poll without a result.
type PollFailed struct {
	Node   verification.NodeID `json:"node" fact:"kept"`
	Cause  string              `json:"cause" fact:"emptied"`
	PollAt time.Time           `json:"poll_at" fact:"kept"`
}

// ResultRecorded records the result of a check.
type ResultRecorded struct {
	Node   verification.NodeID `json:"node" fact:"kept"`
	Passed bool                `json:"passed" fact:"kept"`
	Data   verification.Data   `json:"data,omitempty" fact:"flags,counted"`
	// Screening is nil if the check has screened nobody.
	Screening *Screening `json:"screening,omitempty" fact:"inside"`
	// Confirms says whether the answer of a member of a group confirms; nil for any other check.
	Confirms *bool `json:"confirms,omitempty" fact:"kept"`
	// Doubted says that analysis_ok was false before facts differed.
	Doubted bool `json:"doubted,omitempty" fact:"kept"`
}

// Screening says which list a check has searched, and what it found.
type Screening struct {
	List        string             `json:"list" fact:"kept"`
	ListVersion string             `json:"list_version" fact:"kept"`
	Hits        []verification.Hit `json:"hits,omitempty" fact:"blank"`
	// Total is how many hits were found; 0 for no more than Hits.
	Total int `json:"total,omitempty" fact:"kept"`
	// Cleared are the hits that were left out, with the decisions that cleared them.
	Cleared []Clearance `json:"cleared,omitempty" fact:"inside"`
	// Asked identifies what the check was asked, see HitDecided.Asked. It is empty if there are
	// no hits.
	Asked string `json:"asked,omitempty" fact:"emptied"`
	// Doubted says that analysis_ok was false for another reason than hits. Only a redacted run has it:
	// the data of its checks no longer tells.
	Doubted bool `json:"doubted,omitempty" fact:"kept"`
}

// DispatchFailed records a dispatch without a result.
type DispatchFailed struct {
	Node  verification.NodeID `json:"node" fact:"kept"`
	Cause string              `json:"cause" fact:"emptied"`
	// RetryAt is when the provider is called again; zero if it is not.
	RetryAt time.Time `json:"retry_at,omitzero" fact:"kept"`
}

// ResultUnavailable records that every retry and fallback of a check failed.
type ResultUnavailable struct {
	Node verification.NodeID `json:"node" fact:"kept"`
	// Data is the step's data if the run continues without a result.
	Data verification.Data `json:"data,omitempty" fact:"flags"`
}

// GroupBegan records that the run came to a group of checks, or to a node with for_each.
type GroupBegan struct {
	Node  verification.NodeID `json:"node" fact:"kept"` // of an element, if the elements are groups
	Type  workflow.NodeType   `json:"type" fact:"kept"`
	Key   string              `json:"key,omitempty" fact:"kept"` // of a check
	Label string              `json:"label" fact:"kept"`
	// Visit counts the visits, 1 for the first.
	Visit int `json:"visit" fact:"kept"`
	// Each says that the node has for_each. Elements is the length of its list, and Items has the list.
	Each     bool              `json:"each,omitempty" fact:"kept"`
	Elements int               `json:"elements,omitempty" fact:"kept"`
	Items    verification.Data `json:"items,omitempty" fact:"emptied,counted"`
	// Screens are the members that screen, in the order of the file; one without a name if the node is a check. Those of an
	// element are those of its node.
	Screens []ScreeningMember `json:"screens,omitempty" fact:"kept"`
}

// ScreeningMember is a member of a group that screens.
type ScreeningMember struct {
	Name  string `json:"name,omitempty"`
	Label string `json:"label,omitempty"` // without the label of the group
}

// GroupDecided records that a group of checks is decided, or that every element of a node with for_each is. What is
// still open in it is cancelled.
type GroupDecided struct {
	Node   verification.NodeID `json:"node" fact:"kept"`
	Type   workflow.NodeType   `json:"type" fact:"kept"`
	Passed bool                `json:"passed" fact:"kept"`
	// Unavailable says that only checks without an answer kept it from passing.
	Unavailable bool `json:"unavailable,omitempty" fact:"kept"`
	// Lacking are the members without an answer, if the run continues although the group did not pass.
	Lacking []verification.NodeID `json:"lacking,omitempty" fact:"kept"`
	// Data is the data of a node with for_each whose list is too long, and Checks are the members that were then not called.
	Data   verification.Data    `json:"data,omitempty" fact:"flags"`
	Checks []workflow.CheckInfo `json:"checks,omitempty" fact:"kept"`
}

// NoAnswer records that a source was reached and cannot tell: verification.OutcomeNoCoverage or
// verification.OutcomeInconclusive.
type NoAnswer struct {
	Node    verification.NodeID       `json:"node" fact:"kept"`
	Outcome verification.CheckOutcome `json:"outcome" fact:"kept"`
	Data    verification.Data         `json:"data,omitempty" fact:"emptied,counted"`
}

// Skipped records that the run left out a step or a member whose condition does not hold.
type Skipped struct {
	Node   verification.NodeID `json:"node" fact:"kept"`
	Next   verification.NodeID `json:"next,omitempty" fact:"kept"`              // empty for a member of a group
	Values verification.Data   `json:"values,omitempty" fact:"emptied,counted"` // the values that the condition read, by path
	// Kept says that the answer of an earlier visit stays, because nothing that it depends on was asked again. On is the way
	// by which the run leaves the step, as Transition.On; empty means next.
	Kept bool   `json:"kept,omitempty" fact:"kept"`
	On   string `json:"on,omitempty" fact:"kept"`
}

// Compared records that the facts of a step that keeps its answer were compared anew in a round, and differ in another way than
// before: see workflow.DifferenceFlag.
type Compared struct {
	Node verification.NodeID `json:"node" fact:"kept"`
	// Differs are the facts whose values differ now; none if they agree.
	Differs []string `json:"differs,omitempty" fact:"kept,counted"`
}

// AskedAgain records that the run goes back to a step of its customer.
type AskedAgain struct {
	Node verification.NodeID `json:"node" fact:"kept"` // the step of the customer
	From verification.NodeID `json:"from" fact:"kept"` // the review step or the branch
	// Round counts how often the customer was asked again for the step, 1 for the first.
	Round   int      `json:"round" fact:"kept"`
	Reasons []string `json:"reasons,omitempty" fact:"kept"`         // codes, see workflow.Definition.ResubmitReason
	Fields  []string `json:"fields,omitempty" fact:"kept"`          // those of the form that it is about; none for all
	Note    string   `json:"note,omitempty" fact:"emptied,counted"` // to the customer
	// By and Identity are empty if a branch asked.
	By       string `json:"by,omitempty" fact:"kept"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty" fact:"kept"` // as in VerdictRecorded
	Request  string `json:"request,omitempty" fact:"kept"`  // as in VerdictRecorded
	// Since is when the run began to need the verdict that the customer was asked before: see Run.InReview. It is zero if a branch
	// asked, and in histories of before: such a run comes back to the end of the review queue.
	Since time.Time `json:"since,omitzero" fact:"kept"`
}

// CustomerAwaited records that the run parked on its customer.
type CustomerAwaited struct {
	Node   verification.NodeID `json:"node" fact:"kept"`
	Type   workflow.NodeType   `json:"type" fact:"kept"`
	Label  string              `json:"label" fact:"kept"`
	Signal string              `json:"signal" fact:"kept"`
}

// JourneyOpened records that the customer opened the journey.
type JourneyOpened struct {
	Node verification.NodeID `json:"node" fact:"kept"`
}

// DocumentUploaded records a file that the customer sent for a field of the open
// step. It replaces an earlier file of that field.
type DocumentUploaded struct {
	Node      verification.NodeID `json:"node" fact:"kept"`
	Document  string              `json:"document_id" fact:"emptied"`
	Field     string              `json:"field" fact:"kept"`
	MediaType string              `json:"media_type" fact:"kept"`
	Size      int64               `json:"size" fact:"kept"`
	SHA256    string              `json:"sha256" fact:"emptied"`
}

// CustomerSubmitted records the customer's answer and the values derived from it.
type CustomerSubmitted struct {
	Node verification.NodeID `json:"node" fact:"kept"`
	Data verification.Data   `json:"data,omitempty" fact:"flags,counted"`
	// Language is the language of the journey page; empty if the answer did not come from one.
	Language string `json:"language,omitempty" fact:"kept"`
	// Request is the id of the request, if it had an idempotency key.
	Request string `json:"request,omitempty" fact:"kept"`
}

// BranchTaken records where a branch led, and the values that it read.
type BranchTaken struct {
	Node   verification.NodeID `json:"node" fact:"kept"`
	When   string              `json:"when,omitempty" fact:"kept"` // the condition that held; empty for else
	Next   verification.NodeID `json:"next" fact:"kept"`
	Values verification.Data   `json:"values,omitempty" fact:"emptied,counted"` // the values that the rules read, by path
}

// ReviewAsked records that the run parked on a reviewer.
type ReviewAsked struct {
	Node   verification.NodeID `json:"node" fact:"kept"`
	Label  string              `json:"label" fact:"kept"`
	Reason string              `json:"reason,omitempty" fact:"emptied"`
	// FourEyes says that the verdict of this step needs two reviewers.
	FourEyes bool `json:"four_eyes,omitempty" fact:"kept"`
}

// VerdictRecorded records a reviewer's verdict.
type VerdictRecorded struct {
	// Node is the review step that was answered; empty if the run was over.
	Node     verification.NodeID `json:"node,omitempty" fact:"kept"`
	Decision Decision            `json:"decision" fact:"kept"`
	// Reason is the code of the reject reason; empty for none. The API never shows it.
	Reason string `json:"reason,omitempty" fact:"kept"`
	Notes  string `json:"notes,omitempty" fact:"emptied,counted"`
	// By is the name of the reviewer. The JSON of the API never shows it; a report for the
	// file does.
	By string `json:"by,omitempty" fact:"kept"`
	// Identity identifies the reviewer; empty if an API client gave the verdict. The API never shows it.
	Identity string `json:"identity,omitempty" fact:"kept"`
	// Request is the id of the request, if it had an idempotency key.
	Request string `json:"request,omitempty" fact:"kept"`
}

// VerdictProposed records the verdict of the first of two reviewers.
type VerdictProposed VerdictRecorded

// ProposalReturned records that a reviewer sent the proposed verdict back: there is no
// proposal any more.
type ProposalReturned struct {
	// Node is the review step that the proposal was for; empty if the run was over.
	Node verification.NodeID `json:"node,omitempty" fact:"kept"`
	// Decision is the verdict that the reviewer gave instead; empty for none.
	Decision Decision `json:"decision,omitempty" fact:"kept"`
	Reason   string   `json:"reason,omitempty" fact:"kept"` // as in VerdictRecorded
	Notes    string   `json:"notes,omitempty" fact:"emptied"`
	By       string   `json:"by,omitempty" fact:"kept"`       // as in VerdictRecorded
	Identity string   `json:"identity,omitempty" fact:"kept"` // as in VerdictRecorded
	Request  string   `json:"request,omitempty" fact:"kept"`  // as in VerdictRecorded
}

// HitsFound records that a later version of a list has entries like the person or
// company that a check of the completed run has screened, or that the check had such
// hits, see Overruled. It flags the step of the check, and the run needs a verdict again.
type HitsFound struct {
	Node        verification.NodeID `json:"node" fact:"kept"`
	List        string              `json:"list" fact:"kept"`
	ListVersion string              `json:"list_version" fact:"kept"`
	Hits        []verification.Hit  `json:"hits" fact:"blank"`
	// Overruled says that the run had the hits before, of that version, and left them out
	// because of decisions that no longer count.
	Overruled bool `json:"overruled,omitzero" fact:"kept"`
	// Visit is the earlier visit of the check that they belong to; 0 for the last one. Asked is
	// what the check was asked on it, see HitDecided.Asked; empty for the last one.
	Visit int    `json:"visit,omitzero" fact:"kept"`
	Asked string `json:"asked,omitempty" fact:"emptied"`
}

// HitsCleared records that hits of a later version of a list were left out, with the decisions
// that cleared them. It changes neither flags nor verdicts.
type HitsCleared struct {
	Node    verification.NodeID `json:"node" fact:"kept"`
	Cleared []Clearance         `json:"cleared" fact:"inside"`
	Visit   int                 `json:"visit,omitzero" fact:"kept"` // as in HitsFound
}

// HitDecided records what a reviewer says about a hit of a check. It replaces an earlier
// decision on the hit.
type HitDecided struct {
	Node  verification.NodeID `json:"node" fact:"kept"`
	Visit int                 `json:"visit,omitzero" fact:"kept"` // as in HitsFound
	List  string              `json:"list" fact:"kept"`
	// Entry and Digest are the ID and the Digest of the hit.
	Entry  string   `json:"entry" fact:"emptied"`
	Digest string   `json:"digest,omitempty" fact:"emptied"`
	Match  HitMatch `json:"match" fact:"kept"`
	Reason string   `json:"reason,omitempty" fact:"emptied"` // in the reviewer's words; empty for none
	// Asked identifies the person or company that the hit was compared with: it is the
	// SHA-256 of what the check is asked, in hexadecimal. It is empty if that cannot be told.
	Asked    string `json:"asked,omitempty" fact:"emptied"`
	By       string `json:"by,omitempty" fact:"kept"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty" fact:"kept"` // as in VerdictRecorded
}

// Completed records that the run reached an end node.
type Completed struct {
	Node    verification.NodeID `json:"node" fact:"kept"`
	Outcome string              `json:"outcome,omitempty" fact:"kept"`         // of the end node; empty for none
	Data    verification.Data   `json:"data,omitempty" fact:"emptied,counted"` // what the end node computed; nil for none
	// Lacking are the fields of the data that could not be computed, and Cause says why the first one could not.
	Lacking []string `json:"lacking,omitempty" fact:"kept"`
	Cause   string   `json:"cause,omitempty" fact:"emptied"`
}

// Failed records that the workflow stopped on an error.
type Failed struct {
	Node  verification.NodeID `json:"node" fact:"kept"`
	Error RunError            `json:"error" fact:"kept"`
	// Cause is for the operator; the API never shows it.
	Cause string `json:"cause,omitempty" fact:"emptied"`
}

// Expired records that the deadline passed. Its time is the deadline.
type Expired struct {
	Error RunError `json:"error" fact:"kept"`
}

// Cancelled records that the client cancelled the run.
type Cancelled struct{}

// NoteAdded records a note about the run. It changes nothing else, and the API never shows
// it; a report for the file does.
type NoteAdded struct {
	Notes    string `json:"notes" fact:"emptied"`
	By       string `json:"by,omitempty" fact:"kept"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty" fact:"kept"` // as in VerdictRecorded
}

// Corrected records a correction beside a value of a step, or of the input: see Correction. It changes
// neither the value nor anything else.
type Corrected struct {
	Node       verification.NodeID `json:"node,omitempty" fact:"kept"` // empty for the input
	Field      string              `json:"field" fact:"emptied,counted"`
	Correction string              `json:"correction" fact:"emptied,counted"`
	By         string              `json:"by,omitempty" fact:"kept"`       // as in VerdictRecorded
	Identity   string              `json:"identity,omitempty" fact:"kept"` // as in VerdictRecorded
	Request    string              `json:"request,omitempty" fact:"kept"`  // as in VerdictRecorded
}

// Assigned records to whom a run that needs a verdict is assigned. The assignment ends with
// the review, and when the assignee proposes a verdict. The API never shows it.
type Assigned struct {
	To        Assignee `json:"to,omitzero" fact:"kept"` // zero for nobody any more
	Escalated bool     `json:"escalated,omitempty" fact:"kept"`
	Notes     string   `json:"notes,omitempty" fact:"emptied"`
	By        string   `json:"by,omitempty" fact:"kept"`       // as in VerdictRecorded
	Identity  string   `json:"identity,omitempty" fact:"kept"` // as in VerdictRecorded
}

// Held records that the run is under a hold, in place of an earlier one: see Hold.
type Held struct {
	Reason   string `json:"reason" fact:"emptied,counted"`
	By       string `json:"by,omitempty" fact:"kept"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty" fact:"kept"` // as in VerdictRecorded
}

// HoldEnded records that the hold of the run has ended.
type HoldEnded struct {
	By       string `json:"by,omitempty" fact:"kept"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty" fact:"kept"` // as in VerdictRecorded
}

// Redacted records that the personal data of the run was removed from the events before. Its reviewer may
// be an operator or an API client.
type Redacted struct {
	// Digest is that of the history before, as a report of it has it.
	Digest   string       `json:"digest" fact:"kept"`
	Reason   RedactReason `json:"reason,omitempty" fact:"kept"`   // empty if none was asked for
	By       string       `json:"by,omitempty" fact:"kept"`       // as in VerdictRecorded
	Identity string       `json:"identity,omitempty" fact:"kept"` // as in VerdictRecorded
}

// Restricted records that the run is restricted: see Restrict.
type Restricted struct {
	// Digest is that of the history before, as a report of it has it.
	Digest   string `json:"digest" fact:"kept"`
	Reason   string `json:"reason,omitempty" fact:"emptied,counted"`
	By       string `json:"by,omitempty" fact:"kept"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty" fact:"kept"` // as in VerdictRecorded
}

// RestrictionLifted records that the run is restricted no more.
type RestrictionLifted struct {
	Reason   string `json:"reason,omitempty" fact:"emptied,counted"`
	By       string `json:"by,omitempty" fact:"kept"`       // as in VerdictRecorded
	Identity string `json:"identity,omitempty" fact:"kept"` // as in VerdictRecorded
}

// Erased records that what was beside the history is gone, too: the redaction of the run is complete.
type Erased struct{}

// DocumentsRemoved records that the uploads of the run were removed, because they were old. The run has
// everything else.
type DocumentsRemoved struct{}

// ReviewDueSoon records that the last quarter of the time for a verdict has begun. It is
// recorded once for each review, and only if the workflow asks for workflow.NoticeReviewDueSoon.
type ReviewDueSoon struct {
	DueAt time.Time `json:"due_at" fact:"kept"`
}

// RejectedBefore records which runs of the same person or company are rejected, the newest first, when the run comes
// to need a verdict. It replaces the one before. It changes neither flags nor verdicts.
type RejectedBefore Rejections

// About is what is told of a fact once. Audit trails, files of persons and rules read it there.
type About struct {
	// Kind is the name of the fact's type, such as "dispatched".
	Kind string
	// File says which parts of a person's file have the fact.
	File FilePart
	// CanWait says that a service without room may refuse the event, because what it records can be done again later: a customer
	// opens a journey, answers a step or adds a file, or a person adds a note or a correction or assigns the run. A result, a
	// verdict, a cancellation or an expiry cannot wait.
	CanWait bool
	// Audit is the action in the audit trail, and Detail its detail; empty for a fact that the trail does not have. By is the
	// person whom such a fact names; zero for none.
	Audit, Detail string
	By            verification.Person
	// Since is the level of a store since which the event may be written, because builds that read less do not know it; 0 is 1.
	// See store.Level.
	Since int

	annotation bool // it changes nothing that a verdict is based on
	bytes      int  // about how much data and text the fact adds to a history: the fields with the tag counted
}

// FilePart says which parts of a person's file have a fact.
type FilePart int

// The parts. No fact has another one.
const (
	FileNone   FilePart = iota + 1
	FileData            // data.json
	FileReview          // review.json
	FileBoth
)

func (f Started) about() About  { return About{Kind: "started", File: FileData, bytes: len(f.Input)} }
func (Dispatched) about() About { return About{Kind: "dispatched", File: FileData} }
func (f GroupBegan) about() About {
	return About{Kind: "group_began", File: FileData, bytes: len(f.Items)}
}
func (GroupDecided) about() About { return About{Kind: "group_decided", File: FileNone} }
func (f NoAnswer) about() About   { return About{Kind: "no_answer", File: FileData, bytes: len(f.Data)} }

func (f Skipped) about() About { return About{Kind: "skipped", File: FileNone, bytes: len(f.Values)} }

func (f Compared) about() About {
	return About{Kind: "compared", File: FileNone, bytes: len(strings.Join(f.Differs, ""))}
}

func (f AskedAgain) about() About {
	a := About{Kind: "asked_again", File: FileReview, bytes: len(f.Note)}
	if f.By != "" || f.Identity != "" || f.Request != "" { // else a branch asked
		a.Audit, a.Detail, a.By = "customer.asked", string(f.Node), verification.Person{Identity: f.Identity, Name: f.By}
	}
	return a
}

func (f Redirected) about() About {
	return About{Kind: "redirected", File: FileData, bytes: len(f.URL) + len(f.Handle)}
}

func (Returned) about() About { return About{Kind: "returned", File: FileNone} }
func (f ResultPending) about() About {
	return About{Kind: "result_pending", File: FileData, bytes: len(f.Handle)}
}
func (CallbackReceived) about() About { return About{Kind: "callback_received", File: FileNone} }
func (PollFailed) about() About       { return About{Kind: "poll_failed", File: FileData} }
func (f ResultRecorded) about() About {
	return About{Kind: "result_recorded", File: FileData, bytes: len(f.Data)}
}
func (DispatchFailed) about() About    { return About{Kind: "dispatch_failed", File: FileData} }
func (ResultUnavailable) about() About { return About{Kind: "result_unavailable", File: FileData} }
func (CustomerAwaited) about() About   { return About{Kind: "customer_awaited", File: FileNone} }
func (JourneyOpened) about() About {
	return About{Kind: "journey_opened", File: FileData, CanWait: true}
}

func (DocumentUploaded) about() About {
	return About{Kind: "document_uploaded", File: FileData, CanWait: true}
}

func (f CustomerSubmitted) about() About {
	return About{Kind: "customer_submitted", File: FileData, CanWait: true, bytes: len(f.Data)}
}

func (f BranchTaken) about() About {
	return About{Kind: "branch_taken", File: FileNone, bytes: len(f.Values)}
}
func (ReviewAsked) about() About { return About{Kind: "review_asked", File: FileReview} }
func (f VerdictRecorded) about() About {
	return About{
		Kind: "verdict_recorded", File: FileReview, bytes: len(f.Notes), Audit: "verdict.given", Detail: string(f.Decision),
		By: verification.Person{Identity: f.Identity, Name: f.By},
	}
}

func (f VerdictProposed) about() About {
	return About{
		Kind: "verdict_proposed", File: FileReview, Audit: "verdict.proposed", Detail: string(f.Decision),
		By: verification.Person{Identity: f.Identity, Name: f.By},
	}
}

func (f ProposalReturned) about() About {
	return About{
		Kind: "proposal_returned", File: FileReview, Audit: "verdict.proposed", Detail: "returned",
		By: verification.Person{Identity: f.Identity, Name: f.By},
	}
}

func (HitsFound) about() About   { return About{Kind: "hits_found", File: FileReview} }
func (HitsCleared) about() About { return About{Kind: "hits_cleared", File: FileReview} }
func (f HitDecided) about() About {
	return About{
		Kind: "hit_decided", File: FileReview, Audit: "hit.decided", Detail: string(f.Match),
		By: verification.Person{Identity: f.Identity, Name: f.By},
	}
}

func (f Completed) about() About {
	return About{Kind: "completed", File: FileReview, bytes: len(f.Data)}
}
func (Failed) about() About  { return About{Kind: "failed", File: FileData} }
func (Expired) about() About { return About{Kind: "expired", File: FileNone} }
func (Cancelled) about() About {
	return About{Kind: "cancelled", File: FileNone, Audit: "run.cancelled"}
}

func (NoteAdded) about() About {
	return About{Kind: "note_added", File: FileReview, annotation: true, CanWait: true}
}

func (f Corrected) about() About {
	return About{
		Kind: "corrected", File: FileBoth, annotation: true, CanWait: true, bytes: len(f.Field) + len(f.Correction), Audit: "value.corrected",
		By: verification.Person{Identity: f.Identity, Name: f.By},
	}
}

func (Assigned) about() About {
	return About{Kind: "assigned", File: FileReview, annotation: true, CanWait: true}
}

func (f Held) about() About {
	return About{
		Kind: "held", File: FileReview, annotation: true, bytes: len(f.Reason), Audit: "run.held",
		By: verification.Person{Identity: f.Identity, Name: f.By},
	}
}

func (f HoldEnded) about() About {
	return About{Kind: "hold_ended", File: FileReview, annotation: true, Audit: "hold.ended", By: verification.Person{Identity: f.Identity, Name: f.By}}
}

func (Erased) about() About { return About{Kind: "erased", File: FileNone, annotation: true} }
func (DocumentsRemoved) about() About {
	return About{Kind: "documents_removed", File: FileNone, annotation: true}
}

func (f Redacted) about() About {
	return About{Kind: "redacted", File: FileData, Audit: "run.redacted", Detail: string(f.Reason), By: verification.Person{Identity: f.Identity, Name: f.By}}
}

func (f Restricted) about() About {
	return About{
		Kind: "restricted", File: FileBoth, annotation: true, bytes: len(f.Reason), Audit: "run.restricted",
		By: verification.Person{Identity: f.Identity, Name: f.By},
	}
}

func (f RestrictionLifted) about() About {
	return About{
		Kind: "restriction_lifted", File: FileBoth, annotation: true, bytes: len(f.Reason), Audit: "restriction.lifted",
		By: verification.Person{Identity: f.Identity, Name: f.By},
	}
}

func (RejectedBefore) about() About {
	return About{Kind: "rejected_before", File: FileReview, annotation: true}
}

func (ReviewDueSoon) about() About {
	return About{Kind: "review_due_soon", File: FileNone, annotation: true}
}

// Kind returns the name of the fact's type, such as "dispatched"; empty if the
// event has no fact.
func (e Event) Kind() string { return e.About().Kind }

// decoders returns what decodes each fact but Dispatched, the facts of most runs first.
func decoders() [43]func(string, json.RawMessage) (Fact, error) {
	return [...]func(string, json.RawMessage) (Fact, error){
		decodeAs[ResultRecorded], decodeAs[Started], decodeAs[Completed], // the facts of most runs first
		decodeAs[ResultPending], decodeAs[CallbackReceived], decodeAs[PollFailed], decodeAs[DispatchFailed], decodeAs[ResultUnavailable],
		decodeAs[CustomerAwaited], decodeAs[JourneyOpened], decodeAs[DocumentUploaded], decodeAs[CustomerSubmitted], decodeAs[BranchTaken],
		decodeAs[ReviewAsked], decodeAs[VerdictRecorded], decodeAs[VerdictProposed], decodeAs[ProposalReturned], decodeAs[HitsFound],
		decodeAs[HitDecided], decodeAs[HitsCleared], decodeAs[Failed], decodeAs[Expired], decodeAs[Cancelled],
		decodeAs[NoteAdded], decodeAs[Assigned], decodeAs[ReviewDueSoon], decodeAs[Held], decodeAs[HoldEnded], decodeAs[Redacted],
		decodeAs[Restricted], decodeAs[RestrictionLifted],
		decodeAs[Corrected],
		decodeAs[GroupBegan], decodeAs[GroupDecided], decodeAs[NoAnswer], decodeAs[Skipped], decodeAs[AskedAgain], decodeAs[Compared],
		decodeAs[Redirected], decodeAs[Returned],
		decodeAs[Erased], decodeAs[DocumentsRemoved],
		decodeAs[RejectedBefore],
	}
}
