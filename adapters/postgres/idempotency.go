// Idempotency keys, remembered for a day.

package postgres

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
)

// The statements about idempotency keys.
const (
	recordColumns = `fingerprint, id::text, claimed_at, settled, result, decision`

	selectRecord = `
SELECT ` + recordColumns + ` FROM verifyd.idempotency_keys WHERE tenant_id = $1 AND scope = $2 AND key = $3`

	// claimKey replaces a record that had lived its life by $10, and returns no
	// row when there is another.
	claimKey = `
INSERT INTO verifyd.idempotency_keys AS k (tenant_id, scope, key, fingerprint, id, claimed_at, settled, result, decision)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (tenant_id, scope, key) DO UPDATE SET fingerprint = excluded.fingerprint, id = excluded.id,
    claimed_at = excluded.claimed_at, settled = excluded.settled, result = excluded.result, decision = excluded.decision
WHERE k.claimed_at <= $10
RETURNING ` + recordColumns

	settleKey = `
UPDATE verifyd.idempotency_keys SET settled = true, result = $5, decision = $6
WHERE tenant_id = $1 AND scope = $2 AND key = $3 AND id = $4`

	releaseKey = `
DELETE FROM verifyd.idempotency_keys
WHERE tenant_id = $1 AND scope = $2 AND key = $3 AND id = $4 AND NOT settled`
)

// claimAttempts bounds how often a claim is tried again because the record that
// was in its way was gone when it was read.
const claimAttempts = 10

// IdempotencyRecord returns the record under a key at a time.
func (s *Store) IdempotencyRecord(
	ctx context.Context, t verification.TenantID, k verification.IdempotencyKey, now time.Time,
) (verification.IdempotencyRecord, error) {
	r, err := s.record(ctx, t, k)
	if missing(err) || err == nil && now.Sub(r.At) >= verification.IdempotencyKeyLife {
		err = notFound("idempotency key")
	}
	if err != nil {
		return verification.IdempotencyRecord{}, translate("find idempotency key", err)
	}
	return r, nil
}

// ClaimIdempotencyKey keeps the record under its key unless one younger than
// IdempotencyKeyLife is there, and returns the one that is kept.
func (s *Store) ClaimIdempotencyKey(
	ctx context.Context, t verification.TenantID, r verification.IdempotencyRecord,
) (verification.IdempotencyRecord, error) {
	kept, err := s.claimOrFind(ctx, t, r)
	if err != nil {
		return verification.IdempotencyRecord{}, translate("claim idempotency key", err)
	}
	return kept, nil
}

func (s *Store) claimOrFind(
	ctx context.Context, t verification.TenantID, r verification.IdempotencyRecord,
) (verification.IdempotencyRecord, error) {
	args, err := keyArgs(t, r)
	if err != nil {
		return verification.IdempotencyRecord{}, err
	}
	args = []any{
		args[0], args[1], args[2], r.Fingerprint, args[3], r.At, r.Settled, r.Result, string(r.Decision),
		r.At.Add(-verification.IdempotencyKeyLife),
	}
	for range claimAttempts {
		kept, err := s.oneRecord(ctx, t, r.IdempotencyKey, claimKey, args...)
		if missing(err) {
			kept, err = s.record(ctx, t, r.IdempotencyKey)
		}
		// The other record may have been removed in between.
		if !missing(err) {
			return kept, err
		}
	}
	return verification.IdempotencyRecord{}, &verification.Error{
		Kind: verification.ErrUnavailable, Subject: "idempotency key", Message: "the idempotency key is in use; try again",
	}
}

// SettleIdempotencyKey marks the record with this ID as settled.
func (s *Store) SettleIdempotencyKey(ctx context.Context, t verification.TenantID, r verification.IdempotencyRecord) error {
	args, err := keyArgs(t, r)
	if err != nil {
		return err
	}
	return s.settle(ctx, "settle idempotency key", string(t), settleKey, append(args, r.Result, string(r.Decision))...)
}

// ReleaseIdempotencyKey removes the record with this ID unless it is settled.
func (s *Store) ReleaseIdempotencyKey(ctx context.Context, t verification.TenantID, r verification.IdempotencyRecord) error {
	args, err := keyArgs(t, r)
	if err != nil {
		return err
	}
	return s.settle(ctx, "release idempotency key", string(t), releaseKey, args...)
}

// keyArgs are the tenant, scope, key and id of a record.
func keyArgs(t verification.TenantID, r verification.IdempotencyRecord) ([]any, error) {
	tenant, err := uuidOf(string(t))
	if err != nil {
		return nil, err
	}
	id, err := uuidOf(r.ID)
	if err != nil {
		return nil, err
	}
	return []any{tenant, string(r.Scope), r.Key, id}, nil
}

// forgetKeys removes the records of every tenant that were made at a time or
// before, at most limit in one transaction, and returns how many there were. A
// record that is being changed is passed over.
func (s *Store) forgetKeys(ctx context.Context, before time.Time, limit int) (n int, err error) {
	const forget = `
DELETE FROM verifyd.idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM verifyd.idempotency_keys WHERE claimed_at <= ? ORDER BY claimed_at LIMIT ? FOR UPDATE SKIP LOCKED))`
	for gone := int64(limit); gone > 0 && gone >= int64(limit) && ctx.Err() == nil; n += int(gone) {
		err := s.transact(ctx, everyTenant, nil, func(ctx context.Context, tx bun.Tx) error {
			result, err := tx.NewRaw(forget, before, limit).Exec(ctx)
			if err != nil {
				return err
			}
			gone, err = result.RowsAffected()
			return err
		})
		if err != nil {
			return n, translate("forget idempotency keys", err)
		}
	}
	return n, ctx.Err()
}

// record reads the record that is kept under a key, however old.
func (s *Store) record(ctx context.Context, t verification.TenantID, k verification.IdempotencyKey) (verification.IdempotencyRecord, error) {
	tenant, err := uuidOf(string(t))
	if err != nil {
		return verification.IdempotencyRecord{}, err
	}
	return s.oneRecord(ctx, t, k, selectRecord, tenant, string(k.Scope), k.Key)
}

func (s *Store) oneRecord(
	ctx context.Context, t verification.TenantID, k verification.IdempotencyKey, statement string, args ...any,
) (verification.IdempotencyRecord, error) {
	r := verification.IdempotencyRecord{IdempotencyKey: k}
	err := s.one(ctx, string(t), statement, args, &r.Fingerprint, &r.ID, &r.At, &r.Settled, &r.Result, &r.Decision)
	r.At = r.At.UTC()
	return r, err
}
