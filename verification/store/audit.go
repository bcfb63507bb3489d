// The audit trail: who read whose data, and who decided or changed what.

package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// AuditAction says what an actor did.
type AuditAction string

// The actions.
const (
	AuditRunRead           AuditAction = "run.read"
	AuditReportRead        AuditAction = "report.read"
	AuditReportPrinted     AuditAction = "report.printed"
	AuditDocumentRead      AuditAction = "document.read"
	AuditPersonSearched    AuditAction = "person.searched"
	AuditPersonExported    AuditAction = "person.exported"
	AuditVerdictGiven      AuditAction = "verdict.given"
	AuditVerdictProposed   AuditAction = "verdict.proposed"
	AuditCustomerAsked     AuditAction = "customer.asked" // again, by a reviewer
	AuditHitDecided        AuditAction = "hit.decided"
	AuditValueCorrected    AuditAction = "value.corrected"
	AuditRunCancelled      AuditAction = "run.cancelled"
	AuditRunRedacted       AuditAction = "run.redacted"
	AuditRunDeleted        AuditAction = "run.deleted"
	AuditRunHeld           AuditAction = "run.held"
	AuditHoldEnded         AuditAction = "hold.ended"
	AuditRunRestricted     AuditAction = "run.restricted"
	AuditRestrictionLifted AuditAction = "restriction.lifted"
	AuditAccountCreated    AuditAction = "account.created"
	AuditAccountSaved      AuditAction = "account.saved"
	AuditAccountDisabled   AuditAction = "account.disabled"
	AuditAccountEnabled    AuditAction = "account.enabled"
	AuditKeyRotated        AuditAction = "key.rotated"
	AuditTokenIssued       AuditAction = "token.issued"
	AuditWorkflowSaved     AuditAction = "workflow.saved"
	AuditWorkflowPublished AuditAction = "workflow.published"
	AuditWorkflowRetired   AuditAction = "workflow.retired"
	AuditTenantSaved       AuditAction = "tenant.saved"
	AuditReviewerSignedOut AuditAction = "reviewer.signed_out"
	AuditExported          AuditAction = "audit.exported"
	AuditReadsLost         AuditAction = "reads.lost" // that were answered and are in no other entry
)

// AuditActions returns all actions.
func AuditActions() []AuditAction {
	return []AuditAction{
		AuditRunRead, AuditReportRead, AuditReportPrinted, AuditDocumentRead, AuditPersonSearched, AuditPersonExported,
		AuditVerdictGiven, AuditVerdictProposed, AuditCustomerAsked, AuditHitDecided, AuditValueCorrected, AuditRunCancelled,
		AuditRunRedacted, AuditRunDeleted, AuditRunHeld, AuditHoldEnded, AuditRunRestricted, AuditRestrictionLifted,
		AuditAccountCreated, AuditAccountSaved, AuditAccountDisabled, AuditAccountEnabled, AuditKeyRotated, AuditTokenIssued,
		AuditWorkflowSaved, AuditWorkflowPublished, AuditWorkflowRetired, AuditTenantSaved, AuditReviewerSignedOut,
		AuditExported, AuditReadsLost,
	}
}

// AuditReads returns the actions that only read: their entries are kept as Ages.Reads says.
func AuditReads() []AuditAction {
	return []AuditAction{AuditRunRead, AuditReportRead, AuditReportPrinted, AuditDocumentRead, AuditPersonSearched, AuditReadsLost}
}

// Reads reports whether an action only reads.
func (a AuditAction) Reads() bool { return slices.Contains(AuditReads(), a) }

// AuditEntry says that an actor did something. It has no personal data of customers, and names staff.
type AuditEntry struct {
	Tenant verification.TenantID `json:"tenant"`
	// ID orders the entries of a tenant by time, see AuditID: that of a count has the start of its run, or the begin
	// of its day in UTC.
	ID     string             `json:"id"`
	At     time.Time          `json:"at"`               // of a count, the first time
	LastAt time.Time          `json:"last_at,omitzero"` // of a count, the last time
	Actor  verification.Actor `json:"actor"`
	Action AuditAction        `json:"action"`
	Run    verification.RunID `json:"run,omitempty"` // empty for what is not about one run
	// Document is the reference of a document that was read.
	Document string `json:"document,omitempty"`
	// Subject is what else the action was about: the keyed hash of the words of a search, the client id of an
	// account, or the id of a workflow.
	Subject string `json:"subject,omitempty"`
	Detail  string `json:"detail,omitempty"` // such as the decision of a verdict
	// Count is how often an account did it: such an entry is one for an account, action and run, or for an account,
	// action and day for what is about no run. 0 for an entry of a single time.
	Count int `json:"count,omitempty"`
}

// Last returns the last time of a count, or the time of an entry.
func (e AuditEntry) Last() time.Time {
	if e.LastAt.IsZero() {
		return e.At
	}
	return e.LastAt
}

// Add returns the entry with the count of another one that has its ID, see AuditStore.AppendAudit.
func (e AuditEntry) Add(more AuditEntry) AuditEntry {
	e.Count += more.Count
	if more.At.Before(e.At) {
		e.At = more.At
	}
	if more.LastAt.After(e.LastAt) {
		e.LastAt = more.LastAt
	}
	return e
}

// CanWait reports whether a store that is full refuses the entry: it is about a read or an export, which does not
// happen without it, and is not one of the few counts by day.
func (e AuditEntry) CanWait() bool {
	if e.Action == AuditPersonExported || e.Action == AuditExported {
		return true
	}
	return e.Action != AuditReadsLost && e.Action.Reads() && (e.Run != "" || e.Count == 0)
}

// AuditEventID returns the id of the entry about an event: the one with this position in the history of a run, from 0.
func AuditEventID(at time.Time, run verification.RunID, position int) string {
	return AuditID(at, fmt.Sprintf("%s-%06d", run, position))
}

// Event returns the position of the event that the entry is about in the history of its run, from 0; -1 if it is about
// no event.
func (e AuditEntry) Event() int {
	_, position, _ := strings.Cut(e.ID, "-"+string(e.Run)+"-")
	n, err := strconv.Atoi(position)
	if e.Run == "" || err != nil {
		return -1
	}
	return n
}

// AuditID returns the id of an entry. Ids are ordered by time, byte by byte; unique tells entries of the same
// time apart. Without it, the id comes before all others of its time.
func AuditID(at time.Time, unique string) string {
	return fmt.Sprintf("%016x-%s", at.UnixMicro(), unique)
}

// MaxAuditLimit is the maximum number of entries of an AuditQuery.
const MaxAuditLimit = 1000

// AuditQuery selects entries of a tenant. An entry must match every filter; the zero value of a filter matches
// every entry.
type AuditQuery struct {
	Limit int // 1 to MaxAuditLimit
	// Before continues a list: only entries before the one with this ID are selected, which are older.
	Before string
	Actor  string // Actor.ID
	Action AuditAction
	Run    verification.RunID
	// Changes leaves out what only reads, see AuditAction.Reads.
	Changes bool
	// From selects entries of this time or later, and Until earlier ones. A count is selected if any of its times
	// may be.
	From, Until time.Time
}

// Validate returns ErrInvalid if the limit is out of bounds.
func (q AuditQuery) Validate() error {
	if q.Limit < 1 || q.Limit > MaxAuditLimit {
		return verification.Invalid("limit", fmt.Sprintf("limit must be 1 to %d", MaxAuditLimit))
	}
	return nil
}

// Matches reports whether the query selects an entry of the tenant, whatever its limit is.
func (q AuditQuery) Matches(e AuditEntry) bool {
	return (q.Before == "" || e.ID < q.Before) && (q.Actor == "" || e.Actor.ID == q.Actor) &&
		(q.Action == "" || e.Action == q.Action) && (q.Run == "" || e.Run == q.Run) && (!q.Changes || !e.Action.Reads()) &&
		(q.From.IsZero() || !e.Last().Before(q.From)) && (q.Until.IsZero() || e.At.Before(q.Until))
}
