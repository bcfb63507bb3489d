// Copies: a store as a list of records, from which another store can be filled.

package store

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// CopyStore reads and writes everything that a store keeps, without rules. A store that has
// the records of another one reads the same, except that no lease is valid.
type CopyStore interface {
	// Records yields the records of a kind in the order of their keys. It ends with the first
	// error. Nobody may change the store before it ends, except by SaveRecords with keys up to
	// the last one that was yielded, or with any keys if none was.
	Records(ctx context.Context, kind RecordKind) iter.Seq2[Record, error]
	// SaveRecords saves records, each in place of the one with its kind and key. If it fails,
	// each record is saved or not. No lease of a saved run is valid any more.
	SaveRecords(ctx context.Context, records []Record) error
}

// RecordKind is a kind of records.
type RecordKind string

// The kinds of records. Copies have all but the last two, which are of rows only.
const (
	RecordTenant         RecordKind = "tenants"
	RecordAccount        RecordKind = "accounts"
	RecordWorkflow       RecordKind = "workflows"
	RecordRun            RecordKind = "runs"
	RecordMeasure        RecordKind = "measures"
	RecordIdempotencyKey RecordKind = "idempotency keys"
	RecordDelivery       RecordKind = "deliveries"
	RecordPass           RecordKind = "re-screening passes"
	RecordRetentionMark  RecordKind = "retention marks"
	RecordAudit          RecordKind = "audit entries"
	RecordLedger         RecordKind = "ledger marks"

	RecordLogo RecordKind = "logos"             // the tenant with a key, with the content of its logo
	RecordCopy RecordKind = "unfinished copies" // see Tables.UnfinishedCopy
)

// RecordKinds returns the kinds of a copy.
func RecordKinds() []RecordKind {
	return []RecordKind{
		RecordTenant, RecordAccount, RecordWorkflow, RecordRun, RecordMeasure, RecordIdempotencyKey, RecordDelivery, RecordPass,
		RecordRetentionMark, RecordAudit, RecordLedger,
	}
}

// Record is one record of a store: a TenantRecord, AccountRecord, WorkflowRecord, RunRecord,
// MeasureRecord, IdempotencyKeyRecord, DeliveryRecord, PassRecord, RetentionMarkRecord, AuditRecord,
// LedgerRecord or UnfinishedCopyRecord.
type Record interface{ row() (RecordKind, string) }

// KindOf returns the kind of a record.
func KindOf(r Record) RecordKind {
	kind, _ := r.row()
	return kind
}

// KeyOf returns the key of a record among the records of its kind. Keys are ordered byte by byte.
func KeyOf(r Record) string {
	_, key := r.row()
	return key
}

// KeySeparator separates the parts of a key. It is below every other byte, so that keys are
// ordered by their first part, then by the second, and so on.
const KeySeparator = "\x00"

// recordKey joins the parts of a key.
func recordKey(parts ...string) string { return strings.Join(parts, KeySeparator) }

// keyNumber returns a number as part of a key, which is at least 0.
func keyNumber(n int) string { return fmt.Sprintf("%010d", n) }

// TenantRecord is a tenant. Its logo has its content.
type TenantRecord struct{ Tenant verification.Tenant }

func (r TenantRecord) row() (RecordKind, string) { return RecordTenant, recordKey(string(r.Tenant.ID)) }

// AccountRecord is an account.
type AccountRecord struct{ Account verification.Account }

func (r AccountRecord) row() (RecordKind, string) {
	return RecordAccount, recordKey(r.Account.ClientID)
}

// WorkflowRecord is a workflow with all its versions in the order of their numbers.
type WorkflowRecord struct {
	Tenant   verification.TenantID
	Workflow workflow.Workflow
	Versions []workflow.Version
}

func (r WorkflowRecord) row() (RecordKind, string) {
	return RecordWorkflow, recordKey(string(r.Tenant), string(r.Workflow.ID))
}

// RunRecord is a run with all that a store keeps of it, except deliveries.
type RunRecord struct {
	Run     verification.RunRef
	Events  []rules.Event // at least one
	Summary rules.Summary // without the claim of its Review
	// Claim is the last claim of Summary.Review, which may be over.
	Claim    rules.Claim
	Keys     []SearchKey          // in the order of their bytes, each once
	Screened []rules.ScreenedList // in the order of the lists
	Work     []WorkRecord         // in the order of DueWork.Keys
}

// WorkRecord is a piece of work of a run.
type WorkRecord struct {
	WorkKey
	// Due is when the work is due; of leased work, a time of the lease.
	Due time.Time
	// Attempt, Lost, Alone and LeftAt are those of Work.
	Attempt, Lost, Alone int
	LeftAt               time.Time
	// Leased reports whether a host has the work: if another one takes it, Lost counts that.
	Leased bool
}

func (r RunRecord) row() (RecordKind, string) {
	return RecordRun, recordKey(string(r.Run.Tenant), string(r.Run.Run))
}

// MeasureRecord is the sum of a measure of a workflow on one day, which is not 0.
type MeasureRecord struct {
	Tenant   verification.TenantID
	Workflow verification.WorkflowID
	Measure
}

func (r MeasureRecord) row() (RecordKind, string) {
	return RecordMeasure, recordKey(
		string(r.Tenant), string(r.Workflow), string(r.Name), keyNumber(int(r.Day)), r.Measure.Key, keyNumber(r.Version))
}

// IdempotencyKeyRecord is an idempotency key with its request, which may be older than
// IdempotencyKeyTTL. RowStore.Change stores one that is not settled unless its key has a younger one: then it returns
// ErrConflict. A settled one settles the stored one with its ID, and leaves any other as it is.
type IdempotencyKeyRecord struct {
	Tenant  verification.TenantID
	Request IdempotencyRecord
	// Released removes the stored one with the ID of the request in RowStore.Change, unless it is settled. No stored one is Released.
	Released bool `json:",omitzero"`
}

func (r IdempotencyKeyRecord) row() (RecordKind, string) {
	return RecordIdempotencyKey, recordKey(string(r.Tenant), string(r.Request.Scope), r.Request.Key)
}

// DeliveryRecord is the delivery of a notice.
type DeliveryRecord struct {
	Tenant   verification.TenantID
	Delivery rules.Delivery
}

func (r DeliveryRecord) row() (RecordKind, string) {
	return RecordDelivery, recordKey(string(r.Tenant), string(r.Delivery.Run), keyNumber(r.Delivery.Seq))
}

// PassRecord is the last pass over a list.
type PassRecord struct{ Pass RescreenPass }

func (r PassRecord) row() (RecordKind, string) { return RecordPass, recordKey(r.Pass.List) }

// RetentionMarkRecord is the retention mark of a workflow.
type RetentionMarkRecord struct{ Mark RetentionMark }

func (r RetentionMarkRecord) row() (RecordKind, string) {
	return RecordRetentionMark, recordKey(string(r.Mark.Tenant), string(r.Mark.Workflow))
}

// AuditRecord is an entry of the audit trail.
type AuditRecord struct{ Entry AuditEntry }

func (r AuditRecord) row() (RecordKind, string) {
	return RecordAudit, recordKey(string(r.Entry.Tenant), r.Entry.ID)
}

// LedgerRecord is the mark of the ledger of erasures, with all entries that the ledger is owed in the order of their
// numbers. A store without a mark has none. RowStore.Change replaces the mark Was, and adds entries; it returns
// ErrConflict if the stored mark is another one. With Noted, it only removes the entries with these numbers.
type LedgerRecord struct {
	Mark  LedgerMark
	Owed  []verification.Erasure
	Was   LedgerMark `json:",omitzero"`  // of a change; the zero value for no mark
	Noted []int64    `json:",omitempty"` // of a change
}

func (r LedgerRecord) row() (RecordKind, string) { return RecordLedger, recordKey(r.Mark.ID) }

// UnfinishedCopyRecord is the only row of its kind: the source of which the store has a part; empty for none.
type UnfinishedCopyRecord struct{ Source string }

func (r UnfinishedCopyRecord) row() (RecordKind, string) { return RecordCopy, "" }
