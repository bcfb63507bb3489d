// Rows: the small tables of a store, whose rows a driver keeps without knowing what they say.

package store

import (
	"context"
	"errors"

	"github.com/verifyd/verifyd/verification"
)

// RowStore is the part of a driver that keeps the rows of small tables: records of the kind RecordRetentionMark. [Tables]
// says what the rows mean.
type RowStore interface {
	// Row returns the row of a kind with a key, or ErrNotFound.
	Row(ctx context.Context, kind RecordKind, key string) (Record, error)
	// Change saves rows, each in place of the one with its kind and key, all or nothing.
	Change(ctx context.Context, rows []Record) error
}

// Tables are the small tables of a store by their types.
type Tables struct{ RowStore }

// RetentionMark returns how far retention has come with the runs of a workflow; one without positions if
// none was saved.
func (t Tables) RetentionMark(ctx context.Context, tenant verification.TenantID, w verification.WorkflowID) (RetentionMark, error) {
	r, err := rowOr(ctx, t, RetentionMarkRecord{RetentionMark{Tenant: tenant, Workflow: w}})
	return r.Mark, err
}

// SaveRetentionMark creates or replaces a mark.
func (t Tables) SaveRetentionMark(ctx context.Context, m RetentionMark) error {
	return t.Change(ctx, []Record{RetentionMarkRecord{m}})
}

// rowOr returns the row with the kind and the key of another one; the other one if there is none.
func rowOr[R Record](ctx context.Context, t Tables, none R) (R, error) {
	found, err := t.Row(ctx, KindOf(none), KeyOf(none))
	if errors.Is(err, verification.ErrNotFound) {
		return none, nil
	}
	if r, ok := found.(R); ok && err == nil {
		return r, nil
	}
	return none, err
}

// DecodeRow returns the record of a small table that decode decodes; ErrInvalid for another kind.
func DecodeRow(kind RecordKind, decode func(into any) error) (Record, error) {
	if kind != RecordRetentionMark {
		return nil, verification.Invalid("kind", "it is no small table")
	}
	var r RetentionMarkRecord
	err := decode(&r)
	return r, err
}
