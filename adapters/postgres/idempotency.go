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

// maxClaims bounds the attempts of a claim that finds a record and then does not,
// because the record was removed in between.
const maxClaims = 10

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

// IdempotencyRecord returns the record of a key, or ErrNotFound if none is younger than
// IdempotencyKeyTTL at now.
func (s *Store) IdempotencyRecord(
	ctx context.Context, t verification.TenantID, k store.IdempotencyKey, now time.Time,
) (store.IdempotencyRecord, error) {
	r, err := s.idempotencyRow(ctx, t, k)
	if isMissing(err) || err == nil && now.Sub(r.ClaimedAt) >= store.IdempotencyKeyTTL {
		err = verification.NotFound("idempotency key")
	}
	if err != nil {
		return store.IdempotencyRecord{}, pgerror.Translate("find idempotency key", err)
	}
	return r.record(), nil
}

// idempotencyRow reads the row of a key, however old it is.
func (s *Store) idempotencyRow(ctx context.Context, t verification.TenantID, k store.IdempotencyKey) (idempotencyRow, error) {
	if err := checkKey(t, k); err != nil {
		return idempotencyRow{}, err
	}
	return selectRow[idempotencyRow](ctx, s.querier(), string(t), s.db.NewSelect().
		Model(&idempotencyRow{TenantID: t, Scope: k.Scope, Key: k.Key}).WherePK().String())
}

// ClaimIdempotencyKey stores the record unless its key has one that is younger than
// IdempotencyKeyTTL, and returns the stored record.
func (s *Store) ClaimIdempotencyKey(
	ctx context.Context, t verification.TenantID, r store.IdempotencyRecord,
) (store.IdempotencyRecord, error) {
	stored, err := s.claimOrFind(ctx, t, r)
	if err != nil {
		return store.IdempotencyRecord{}, pgerror.Translate("claim idempotency key", err)
	}
	return stored.record(), nil
}

func (s *Store) claimOrFind(ctx context.Context, t verification.TenantID, r store.IdempotencyRecord) (idempotencyRow, error) {
	row, err := newIdempotencyRow(t, r)
	if err != nil {
		return idempotencyRow{}, err
	}
	claim := s.db.NewInsert().Model(row).On("CONFLICT (tenant_id, scope, key) DO UPDATE").
		Where("k.claimed_at <= ?", r.At.Add(-store.IdempotencyKeyTTL)).Returning("*").String()
	for range maxClaims {
		stored, err := selectRow[idempotencyRow](ctx, s.querier(), string(t), claim)
		if isMissing(err) {
			stored, err = s.idempotencyRow(ctx, t, r.IdempotencyKey)
		}
		if !isMissing(err) {
			return stored, err
		}
	}
	return idempotencyRow{}, pgerror.Unavailable("idempotency key", "the idempotency key is in use; try again", nil)
}

// SettleIdempotencyKey marks the record with this ID as settled.
func (s *Store) SettleIdempotencyKey(ctx context.Context, t verification.TenantID, r store.IdempotencyRecord) error {
	row, err := newIdempotencyRow(t, r)
	if err == nil {
		row.Settled = true
		err = s.querier().exec(ctx, string(t), s.db.NewUpdate().Model(row).Column("settled", "result", "decision").
			WherePK().Where("id = ?", r.ID).String())
	}
	return pgerror.Translate("settle idempotency key", err)
}

// ReleaseIdempotencyKey removes the record with this ID unless it is settled.
func (s *Store) ReleaseIdempotencyKey(ctx context.Context, t verification.TenantID, r store.IdempotencyRecord) error {
	row, err := newIdempotencyRow(t, r)
	if err == nil {
		err = s.querier().exec(ctx, string(t), s.db.NewDelete().Model(row).WherePK().Where("id = ?", r.ID).Where("NOT settled").String())
	}
	return pgerror.Translate("release idempotency key", err)
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
