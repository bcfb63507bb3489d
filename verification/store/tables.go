// Tables: the small tables of a store, by their types.

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

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
func (t Tables) Tenants(ctx context.Context) ([]verification.Tenant, error) {
	p, err := pageOf(ctx, t, RowQuery{Kind: RecordTenant}, func(r TenantRecord) verification.Tenant { return r.Tenant })
	return p.Data, err
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
func (t Tables) Accounts(ctx context.Context, of verification.TenantID) ([]verification.Account, error) {
	if of == "" { // of no tenant, and not of every one
		return nil, ctx.Err()
	}
	p, err := pageOf(ctx, t, RowQuery{Kind: RecordAccount, Tenant: of}, func(r AccountRecord) verification.Account { return r.Account })
	return p.Data, err
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

// SaveDelivery creates or replaces the delivery of a notice.
func (t Tables) SaveDelivery(ctx context.Context, of verification.TenantID, d rules.Delivery) error {
	return t.Change(ctx, []Record{DeliveryRecord{of, d}})
}

// Delivery returns the delivery of a notice, or ErrNotFound.
func (t Tables) Delivery(ctx context.Context, of verification.TenantID, n rules.NoticeRef) (rules.Delivery, error) {
	key := KeyOf(DeliveryRecord{of, rules.Delivery{Run: n.Run, Seq: n.Seq}})
	r, err := rowOf[DeliveryRecord](ctx, t, RecordDelivery, key, "delivery")
	return r.Delivery, err
}

// Deliveries returns one page of the deliveries in a state (empty for every
// state), in the order of NewerDelivery, and the number of all matches.
func (t Tables) Deliveries(ctx context.Context, of verification.TenantID, state rules.DeliveryState, p PageQuery) (Page[rules.Delivery], error) {
	q := RowQuery{Kind: RecordDelivery, Tenant: of, State: state, PageQuery: p}
	return pageOf(ctx, t, q, func(r DeliveryRecord) rules.Delivery { return r.Delivery })
}

// RescreenPasses returns the last pass over each list, in the order of the lists.
func (t Tables) RescreenPasses(ctx context.Context) ([]RescreenPass, error) {
	p, err := pageOf(ctx, t, RowQuery{Kind: RecordPass}, func(r PassRecord) RescreenPass { return r.Pass })
	return p.Data, err
}

// IdempotencyRecord returns the record of a key, or ErrNotFound if there is
// none younger than IdempotencyKeyTTL at now.
func (t Tables) IdempotencyRecord(ctx context.Context, of verification.TenantID, k IdempotencyKey, now time.Time) (IdempotencyRecord, error) {
	kept, err := t.key(ctx, of, k)
	if err == nil && now.Sub(kept.At) >= IdempotencyKeyTTL {
		return IdempotencyRecord{}, verification.NotFound("idempotency key")
	}
	return kept, err
}

func (t Tables) key(ctx context.Context, of verification.TenantID, k IdempotencyKey) (IdempotencyRecord, error) {
	key := KeyOf(IdempotencyKeyRecord{Tenant: of, Request: IdempotencyRecord{IdempotencyKey: k}})
	r, err := rowOf[IdempotencyKeyRecord](ctx, t, RecordIdempotencyKey, key, "idempotency key")
	return r.Request, err
}

// maxClaims bounds the attempts of a claim that finds a record and then does not,
// because the record was removed in between.
const maxClaims = 10

// ClaimIdempotencyKey stores the record unless its key has one younger than
// IdempotencyKeyTTL. It returns the stored record.
func (t Tables) ClaimIdempotencyKey(ctx context.Context, of verification.TenantID, r IdempotencyRecord) (IdempotencyRecord, error) {
	r.At = r.At.UTC().Truncate(time.Microsecond)
	for range maxClaims {
		err := t.Change(ctx, []Record{IdempotencyKeyRecord{Tenant: of, Request: r}})
		if err == nil {
			return r, nil
		}
		if !errors.Is(err, verification.ErrConflict) {
			return IdempotencyRecord{}, err
		}
		if kept, err := t.key(ctx, of, r.IdempotencyKey); !errors.Is(err, verification.ErrNotFound) {
			return kept, err
		}
	}
	return IdempotencyRecord{}, verification.Unavailable("idempotency key", "the idempotency key is in use; try again")
}

// SettleIdempotencyKey marks the record with this ID as settled and stores its
// Result and Decision.
func (t Tables) SettleIdempotencyKey(ctx context.Context, of verification.TenantID, r IdempotencyRecord) error {
	r.Settled = true
	return t.Change(ctx, []Record{IdempotencyKeyRecord{Tenant: of, Request: r}})
}

// ReleaseIdempotencyKey removes the record with this ID unless it is settled.
func (t Tables) ReleaseIdempotencyKey(ctx context.Context, of verification.TenantID, r IdempotencyRecord) error {
	return t.Change(ctx, []Record{IdempotencyKeyRecord{Tenant: of, Request: r, Released: true}})
}

// UnfinishedCopy returns what SetUnfinishedCopy was given last; empty at first. A store
// with an unfinished copy is not opened for any other purpose.
func (t Tables) UnfinishedCopy(ctx context.Context) (source string, err error) {
	r, err := rowOf[UnfinishedCopyRecord](ctx, t, RecordCopy, "", "unfinished copy")
	if errors.Is(err, verification.ErrNotFound) {
		err = nil
	}
	return r.Source, err
}

// SetUnfinishedCopy says that the store has a part of the records of a source; empty
// says that it is complete.
func (t Tables) SetUnfinishedCopy(ctx context.Context, source string) error {
	return t.Change(ctx, []Record{UnfinishedCopyRecord{source}})
}

// LedgerMark returns the mark of the ledger of erasures; the zero value until one was saved.
func (t Tables) LedgerMark(ctx context.Context) (LedgerMark, error) {
	r, err := rowOf[LedgerRecord](ctx, t, RecordLedger, "", "ledger of erasures")
	if errors.Is(err, verification.ErrNotFound) {
		err = nil
	}
	return r.Mark, err
}

// SaveLedgerMark replaces the mark was by another one, and adds entries to those that the ledger is owed, all or
// nothing. It returns ErrConflict if the stored mark is not was.
func (t Tables) SaveLedgerMark(ctx context.Context, was, mark LedgerMark, owed []verification.Erasure) error {
	return t.Change(ctx, []Record{LedgerRecord{Was: was, Mark: mark, Owed: owed}})
}

// OwedErasures returns the entries that the ledger is owed, in the order of their numbers; at most limit. Commit.Erasure
// gives the numbers.
func (t Tables) OwedErasures(ctx context.Context, limit int) (owed []verification.Erasure, err error) {
	q := RowQuery{Kind: RecordLedger, PageQuery: PageQuery{Limit: limit}}
	p, err := pageOf(ctx, t, q, func(r LedgerRecord) []verification.Erasure { return r.Owed })
	for _, entries := range p.Data {
		owed = append(owed, entries...)
	}
	return owed, err
}

// ErasuresNoted says that the ledger has the entries with these numbers: it is owed them no more.
func (t Tables) ErasuresNoted(ctx context.Context, numbers []int64) error {
	if len(numbers) == 0 {
		return ctx.Err()
	}
	return t.Change(ctx, []Record{LedgerRecord{Noted: numbers}})
}

// pageOf returns the rows that a query selects by their type.
func pageOf[R Record, T any](ctx context.Context, t Tables, q RowQuery, convert func(R) T) (Page[T], error) {
	rows, err := t.Rows(ctx, q)
	p := Page[T]{Total: rows.Total, PageQuery: rows.PageQuery}
	for _, row := range rows.Data {
		r, err := as[R](row)
		if err != nil {
			return p, err
		}
		p.Data = append(p.Data, convert(r))
	}
	return p, err
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
