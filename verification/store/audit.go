// The audit trail: who read whose data, and who decided or changed what.

package store

import (
	"fmt"
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
	AuditAccountSaved      AuditAction = "account.saved"
	AuditKeyRotated        AuditAction = "key.rotated"
	AuditWorkflowSaved     AuditAction = "workflow.saved"
	AuditWorkflowPublished AuditAction = "workflow.published"
	AuditWorkflowRetired   AuditAction = "workflow.retired"
	AuditTenantSaved       AuditAction = "tenant.saved"
	AuditExported          AuditAction = "audit.exported"
)

// AuditActions returns all actions.
func AuditActions() []AuditAction {
	return []AuditAction{
		AuditRunRead, AuditReportRead, AuditReportPrinted, AuditDocumentRead, AuditPersonSearched, AuditPersonExported,
		AuditVerdictGiven, AuditVerdictProposed, AuditCustomerAsked, AuditHitDecided, AuditValueCorrected, AuditRunCancelled,
		AuditRunRedacted, AuditRunDeleted, AuditRunHeld, AuditHoldEnded, AuditRunRestricted, AuditRestrictionLifted,
		AuditAccountSaved, AuditKeyRotated, AuditWorkflowSaved, AuditWorkflowPublished, AuditWorkflowRetired,
		AuditTenantSaved, AuditExported,
	}
}

// AuditEntry says that an actor did something. It has no personal data of customers, and names staff.
type AuditEntry struct {
	Tenant verification.TenantID `json:"tenant"`
	// ID orders the entries of a tenant by time, see AuditID.
	ID     string             `json:"id"`
	At     time.Time          `json:"at"` // of a count, the begin of its day in UTC
	Actor  verification.Actor `json:"actor"`
	Action AuditAction        `json:"action"`
	Run    verification.RunID `json:"run,omitempty"` // empty for what is not about one run
	// Document is the reference of a document that was read.
	Document string `json:"document,omitempty"`
	// Subject is what else the action was about: the keyed hash of the words of a search, the client id of an
	// account, or the id of a workflow.
	Subject string `json:"subject,omitempty"`
	Detail  string `json:"detail,omitempty"` // such as the decision of a verdict
	// Count is how often an account did it in a day: such an entry is one for an account, action, run, document
	// and day. 0 for an entry of a single time.
	Count int `json:"count,omitempty"`
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
	// From selects entries of this time or later, and Until earlier ones.
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
		(q.Action == "" || e.Action == q.Action) && (q.Run == "" || e.Run == q.Run) &&
		(q.From.IsZero() || !e.At.Before(q.From)) && (q.Until.IsZero() || e.At.Before(q.Until))
}
