// Idempotency keys.

package postgres

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// idempotencyRow is a row of verifyd.idempotency_keys.
type idempotencyRow struct {
	bun.BaseModel `bun:"table:verifyd.idempotency_keys,alias:k"`

	TenantID    verification.TenantID  `bun:",pk"`
	Scope       store.IdempotencyScope `bun:",pk"`
	Key         string                 `bun:",pk"`
	Fingerprint string
	ID          string
	ClaimedAt   time.Time
	Settled     bool
	Result      string
	Decision    rules.Decision
}

// newIdempotencyRow returns the row of a record, or an error when the database
// cannot store one of its texts.
func newIdempotencyRow(t verification.TenantID, r store.IdempotencyRecord) (*idempotencyRow, error) {
	if _, err := uuidOf(r.ID); err != nil {
		return nil, err
	}
	return &idempotencyRow{
		TenantID: t, Scope: r.Scope, Key: r.Key, Fingerprint: r.Fingerprint, ID: r.ID,
		ClaimedAt: r.At, Settled: r.Settled, Result: r.Result, Decision: r.Decision,
	}, checkKey(t, r.IdempotencyKey, r.Fingerprint, r.Result, string(r.Decision))
}

// checkKey returns an error when the tenant's id is no UUID, or when the database
// cannot store one of the texts.
func checkKey(t verification.TenantID, k store.IdempotencyKey, more ...string) error {
	if _, err := uuidOf(string(t)); err != nil {
		return err
	}
	if !storable(string(k.Scope), k.Key) || !storable(more...) {
		return notStorable("idempotency key")
	}
	return nil
}

func (r idempotencyRow) record() store.IdempotencyRecord {
	return store.IdempotencyRecord{
		IdempotencyKey: store.IdempotencyKey{Scope: r.Scope, Key: r.Key},
		Fingerprint:    r.Fingerprint, ID: r.ID, At: r.ClaimedAt.UTC(), Settled: r.Settled, Result: r.Result, Decision: r.Decision,
	}
}

// keySave returns the statement that changes the record of a key. It changes no row if the stored one does not allow it.
func (s *Store) keySave(c store.IdempotencyKeyRecord) (string, error) {
	row, err := newIdempotencyRow(c.Tenant, c.Request)
	switch {
	case err != nil:
		return "", err
	case c.Released:
		return s.db.NewDelete().Model(row).WherePK().Where("id = ?", row.ID).Where("NOT settled").String(), nil
	case row.Settled:
		return s.db.NewUpdate().Model(row).Column("settled", "result", "decision").WherePK().Where("id = ?", row.ID).String(), nil
	}
	return s.db.NewInsert().Model(row).On("CONFLICT (tenant_id, scope, key) DO UPDATE").
		Where("k.claimed_at <= ?", row.ClaimedAt.Add(-store.IdempotencyKeyTTL)).String(), nil
}

// forgetKeys removes the records of every tenant that were claimed at a time or
// before, limit of them in each transaction, and returns their number. It skips
// records that are being changed.
func (s *Store) forgetKeys(ctx context.Context, before time.Time, limit int) (n int, err error) {
	for removed := int64(limit); removed > 0 && removed >= int64(limit) && ctx.Err() == nil; n += int(removed) {
		err := s.transact(ctx, everyTenant, nil, func(ctx context.Context, tx bun.Tx) error {
			oldest := tx.NewSelect().Model((*idempotencyRow)(nil)).ColumnExpr("k.ctid").
				Where("claimed_at <= ?", before).OrderExpr("claimed_at").Limit(int64(limit)).For("UPDATE SKIP LOCKED")
			result, err := tx.NewDelete().Model((*idempotencyRow)(nil)).Where("k.ctid = ANY (ARRAY(?))", oldest).Exec(ctx)
			if err != nil {
				return err
			}
			removed, err = result.RowsAffected()
			return err
		})
		if err != nil {
			return n, pgerror.Translate("remove idempotency keys", err)
		}
	}
	return n, ctx.Err()
}
