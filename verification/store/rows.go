// Rows: the small tables of a store, whose rows a driver keeps without knowing what they say.

package store

import (
	"context"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// RowStore is the part of a driver that keeps the rows of small tables: records of the kinds of which IsRow.
// [Tables] says what the rows mean. The logo of a TenantRecord has its content only from Row with RecordLogo.
type RowStore interface {
	// Row returns the row of a kind with a key, or ErrNotFound. Passes are returned by Rows only, and an unfinished copy by Row only.
	// The key of the ledger of erasures is empty here, and its row has no entries.
	Row(ctx context.Context, kind RecordKind, key string) (Record, error)
	// Rows returns the rows that a query selects.
	Rows(ctx context.Context, q RowQuery) (Page[Record], error)
	// Change saves rows of different keys, each in place of the one with its kind and key, all or nothing. It keeps
	// what Changed returns, or returns its error. A delivery, an idempotency key, a pass and the ledger are changed
	// alone. What is kept of a key or the ledger depends on the stored one, see IdempotencyKeyRecord and LedgerRecord.
	Change(ctx context.Context, rows []Record) error
}

// RowQuery selects rows.
type RowQuery struct {
	Kind   RecordKind
	Tenant verification.TenantID // of which TenantOf is the tenant; empty for every one, but of deliveries
	// State selects deliveries in a state; empty for every state. They are returned in pages, in the order of
	// NewerDelivery, with the number of all matches. Of other kinds all rows are returned, in the order of their keys.
	// The ledger of erasures has at most Limit entries.
	State rules.DeliveryState
	PageQuery
}

// TenantOf returns the tenant of a row; empty for a pass, an unfinished copy and the ledger of erasures.
func TenantOf(row Record) verification.TenantID {
	switch r := row.(type) {
	case AccountRecord:
		return r.Account.Tenant
	case PassRecord, LedgerRecord:
		return ""
	}
	tenant, _, _ := strings.Cut(KeyOf(row), KeySeparator)
	return verification.TenantID(tenant)
}

// Changed returns what is kept of a row that is saved in place of another one, which is nil for none. It returns
// ErrInvalid for a tenant's id and a record that is no row or must be changed alone, and ClientTaken if the rows are of two
// tenants.
func Changed(kept, row Record) (Record, error) {
	if !IsRow(KindOf(row)) {
		return nil, noRow()
	}
	if kept != nil && TenantOf(kept) != TenantOf(row) {
		return nil, ClientTaken()
	}
	switch r := row.(type) {
	case TenantRecord:
		if old, ok := kept.(TenantRecord); ok && r.Tenant.Logo.Name != "" && len(r.Tenant.Logo.Content) == 0 {
			r.Tenant.Logo.Content = old.Tenant.Logo.Content
		}
		return r, verification.ValidateTenantID(r.Tenant.ID)
	case AccountRecord:
		r.Account.PreviousUntil = r.Account.PreviousUntil.Truncate(time.Microsecond)
		return r, nil
	case DeliveryRecord, IdempotencyKeyRecord, PassRecord, LedgerRecord:
		return nil, verification.Invalid("rows", "rows of this kind are changed alone")
	}
	return row, nil
}

// Refused returns the error of a change that the stored row does not allow; nil if the change of such a row is ignored.
func Refused(row Record) error {
	if r, ok := row.(IdempotencyKeyRecord); ok {
		if r.Released || r.Request.Settled {
			return nil
		}
		return verification.Conflict("idempotency key", "another request has it")
	}
	return ClientTaken()
}

// ClientTaken returns the error of a client id that another tenant has.
func ClientTaken() error {
	return verification.Conflict("account", "another tenant has that client id")
}

// WithoutContent returns a row as RowStore does unless asked for a logo.
func WithoutContent(row Record) Record {
	if r, ok := row.(TenantRecord); ok && r.Tenant.Logo.Content != nil {
		r.Tenant.Logo.Content = nil
		return r
	}
	return row
}

// IsRow reports whether records of a kind are rows of a small table.
func IsRow(kind RecordKind) bool { return rowDecoder(kind) != nil }

// DecodeRow returns the row of a kind that decode decodes; ErrInvalid for a kind that is not of rows.
func DecodeRow(kind RecordKind, decode func(into any) error) (Record, error) {
	of := rowDecoder(kind)
	if of == nil {
		return nil, noRow()
	}
	return of(decode)
}

func noRow() error { return verification.Invalid("kind", "it is no small table") }

// rowDecoder knows the kinds of rows; it returns nil for any other.
func rowDecoder(kind RecordKind) func(decode func(into any) error) (Record, error) {
	switch kind {
	case RecordTenant:
		return decodeRow[TenantRecord]
	case RecordAccount:
		return decodeRow[AccountRecord]
	case RecordRetentionMark:
		return decodeRow[RetentionMarkRecord]
	case RecordDelivery:
		return decodeRow[DeliveryRecord]
	case RecordIdempotencyKey:
		return decodeRow[IdempotencyKeyRecord]
	case RecordPass:
		return decodeRow[PassRecord]
	case RecordCopy:
		return decodeRow[UnfinishedCopyRecord]
	case RecordLedger:
		return decodeRow[LedgerRecord]
	case RecordWorkflow, RecordRun, RecordMeasure, RecordAudit, RecordLogo:
	}
	return nil
}

func decodeRow[R Record](decode func(into any) error) (Record, error) {
	var r R
	err := decode(&r)
	return r, err
}
