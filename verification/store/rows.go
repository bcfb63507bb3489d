// Rows: the small tables of a store, whose rows a driver keeps without knowing what they say.

package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// RowStore is the part of a driver that keeps the rows of small tables: records of the kinds of which IsRow.
// [Tables] says what the rows mean. The logo of a TenantRecord has its content only from Row with RecordLogo.
type RowStore interface {
	// Row returns the row of a kind with a key, or ErrNotFound.
	Row(ctx context.Context, kind RecordKind, key string) (Record, error)
	// Rows returns the rows of a kind of which TenantOf is a tenant, empty for every one, in the order of their keys.
	Rows(ctx context.Context, kind RecordKind, of verification.TenantID) ([]Record, error)
	// Change saves rows of different keys, each in place of the one with its kind and key, all or nothing. It keeps
	// what Changed returns, or returns its error.
	Change(ctx context.Context, rows []Record) error
}

// TenantOf returns the tenant of a row.
func TenantOf(row Record) verification.TenantID {
	if a, ok := row.(AccountRecord); ok {
		return a.Account.Tenant
	}
	tenant, _, _ := strings.Cut(KeyOf(row), KeySeparator)
	return verification.TenantID(tenant)
}

// Changed returns what is kept of a row that is saved in place of another one, which is nil for none. It returns
// ErrInvalid for a tenant's id and a record that is no row, and ClientTaken if the rows are of two tenants.
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
	}
	return row, nil
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

// Tables are the small tables of a store by their types.
type Tables struct{ RowStore }

// Tenant returns a tenant, or ErrNotFound. Its logo has no content.
func (t Tables) Tenant(ctx context.Context, id verification.TenantID) (verification.Tenant, error) {
	r, err := rowOf[TenantRecord](ctx, t, RecordTenant, string(id), "tenant")
	return r.Tenant, err
}

// Logo returns the logo of a tenant with its content. It returns ErrNotFound if there
// is no such tenant, or it has no logo.
func (t Tables) Logo(ctx context.Context, id verification.TenantID) (verification.Logo, error) {
	r, err := rowOf[TenantRecord](ctx, t, RecordLogo, string(id), "logo")
	if err == nil && r.Tenant.Logo.Name == "" {
		err = verification.NotFound("logo")
	}
	return r.Tenant.Logo, err
}

// SaveTenant creates or replaces a tenant. If its logo has a name and no content, the
// stored content stays. It returns ErrInvalid if ValidateTenantID refuses the id.
func (t Tables) SaveTenant(ctx context.Context, v verification.Tenant) error {
	return t.Change(ctx, []Record{TenantRecord{v}})
}

// Tenants returns all tenants in the order of their ids. Their logos have no content.
func (t Tables) Tenants(ctx context.Context) (all []verification.Tenant, err error) {
	rows, err := t.Rows(ctx, RecordTenant, "")
	for _, row := range rows {
		r, err := as[TenantRecord](row)
		if err != nil {
			return nil, err
		}
		all = append(all, r.Tenant)
	}
	return all, err
}

// Account returns the account of a client id, or ErrNotFound.
func (t Tables) Account(ctx context.Context, clientID string) (verification.Account, error) {
	r, err := rowOf[AccountRecord](ctx, t, RecordAccount, clientID, "account")
	return r.Account, err
}

// SaveAccount creates or replaces an account. It returns ErrConflict if
// another tenant has that client id.
func (t Tables) SaveAccount(ctx context.Context, a verification.Account) error {
	return t.Change(ctx, []Record{AccountRecord{a}})
}

// Accounts returns the accounts of a tenant in the order of their client ids; none for
// an unknown tenant.
func (t Tables) Accounts(ctx context.Context, of verification.TenantID) (all []verification.Account, err error) {
	if of == "" { // of no tenant, and not of every one
		return nil, ctx.Err()
	}
	rows, err := t.Rows(ctx, RecordAccount, of)
	for _, row := range rows {
		r, err := as[AccountRecord](row)
		if err != nil {
			return nil, err
		}
		all = append(all, r.Account)
	}
	return all, err
}

// RetentionMark returns how far retention has come with the runs of a workflow; one without positions if
// none was saved.
func (t Tables) RetentionMark(ctx context.Context, tenant verification.TenantID, w verification.WorkflowID) (RetentionMark, error) {
	none := RetentionMarkRecord{RetentionMark{Tenant: tenant, Workflow: w}}
	r, err := rowOf[RetentionMarkRecord](ctx, t, RecordRetentionMark, KeyOf(none), "retention mark")
	if errors.Is(err, verification.ErrNotFound) {
		return none.Mark, nil
	}
	return r.Mark, err
}

// SaveRetentionMark creates or replaces a mark.
func (t Tables) SaveRetentionMark(ctx context.Context, m RetentionMark) error {
	return t.Change(ctx, []Record{RetentionMarkRecord{m}})
}

// rowOf returns the row of a kind with a key, or ErrNotFound about the subject.
func rowOf[R Record](ctx context.Context, t Tables, kind RecordKind, key, subject string) (r R, err error) {
	row, err := t.Row(ctx, kind, key)
	if err == nil {
		return as[R](row)
	}
	if errors.Is(err, verification.ErrNotFound) {
		err = verification.NotFound(subject)
	}
	return r, err
}

// as returns a row by its type.
func as[R Record](row Record) (R, error) {
	r, ok := row.(R)
	if !ok {
		return r, fmt.Errorf("store: a row is a %T, want a %T", row, r)
	}
	return r, nil
}

// IsRow reports whether records of a kind are rows of a small table.
func IsRow(kind RecordKind) bool { return rowDecoders()[kind] != nil }

// DecodeRow returns the row of a kind that decode decodes; ErrInvalid for a kind that is not of rows.
func DecodeRow(kind RecordKind, decode func(into any) error) (Record, error) {
	if !IsRow(kind) {
		return nil, noRow()
	}
	return rowDecoders()[kind](decode)
}

func noRow() error { return verification.Invalid("kind", "it is no small table") }

// rowDecoders has the kinds of rows.
func rowDecoders() map[RecordKind]func(decode func(into any) error) (Record, error) {
	return map[RecordKind]func(func(into any) error) (Record, error){
		RecordTenant: decodeRow[TenantRecord], RecordAccount: decodeRow[AccountRecord], RecordRetentionMark: decodeRow[RetentionMarkRecord],
	}
}

func decodeRow[R Record](decode func(into any) error) (Record, error) {
	var r R
	err := decode(&r)
	return r, err
}
