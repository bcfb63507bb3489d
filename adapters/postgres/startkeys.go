// Idempotency keys of starts, remembered for a day.

package postgres

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
)

// What is asked of the keys.
const (
	selectStart = `
SELECT fingerprint, run_id::text, claimed_at, settled
FROM verifyd.start_keys WHERE tenant_id = $1 AND key = $2`

	// claimStart takes the place of a claim that had lived its life by $7, and
	// gives no row when there is another.
	claimStart = `
INSERT INTO verifyd.start_keys AS k (tenant_id, key, fingerprint, run_id, claimed_at, settled)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, run_id = excluded.run_id,
    claimed_at = excluded.claimed_at, settled = excluded.settled
WHERE k.claimed_at <= $7
RETURNING fingerprint, run_id::text, claimed_at, settled`
)

const (
	// claimAttempts is how often ClaimStart tries to find the claim that stands in
	// its way, before it gives up.
	claimAttempts = 5
	// forgetRounds bounds the transactions of one call of forgetStarts.
	forgetRounds = 100
)

// FindStart returns the claim that a key stands for at a moment.
func (s *Store) FindStart(ctx context.Context, t verification.TenantID, key string, now time.Time) (verification.StartClaim, error) {
	c, err := s.startClaim(ctx, t, key)
	if missing(err) || err == nil && now.Sub(c.At) >= verification.StartKeyLife {
		err = notFound("idempotency key")
	}
	if err != nil {
		return verification.StartClaim{}, translate("find idempotency key", err)
	}
	return c, nil
}

// ClaimStart keeps the claim unless one younger than StartKeyLife is there,
// and returns the one that is kept.
func (s *Store) ClaimStart(ctx context.Context, t verification.TenantID, key string, c verification.StartClaim) (verification.StartClaim, error) {
	kept, err := s.claimOrFind(ctx, t, key, c)
	if err != nil {
		return verification.StartClaim{}, translate("claim idempotency key", err)
	}
	return kept, nil
}

func (s *Store) claimOrFind(ctx context.Context, t verification.TenantID, key string, c verification.StartClaim) (verification.StartClaim, error) {
	tenant, err := uuidOf(string(t))
	if err != nil {
		return verification.StartClaim{}, err
	}
	run, err := uuidOf(string(c.Run))
	if err != nil {
		return verification.StartClaim{}, err
	}
	args := []any{tenant, key, c.Fingerprint, run, c.At, c.Settled, c.At.Add(-verification.StartKeyLife)}
	for range claimAttempts {
		kept, err := s.oneClaim(ctx, t, claimStart, args...)
		if missing(err) {
			kept, err = s.startClaim(ctx, t, key)
		}
		// The other claim may have been forgotten in between.
		if !missing(err) {
			return kept, err
		}
	}
	return verification.StartClaim{}, &verification.Error{
		Kind: verification.ErrUnavailable, Subject: "idempotency key", Message: "the key is being claimed and forgotten; try again",
	}
}

// SettleStart marks the claim of this run as answered.
func (s *Store) SettleStart(ctx context.Context, t verification.TenantID, key string, run verification.RunID) error {
	const settleStart = `UPDATE verifyd.start_keys SET settled = true WHERE tenant_id = $1 AND key = $2 AND run_id = $3`
	tenant, err := uuidOf(string(t))
	if err != nil {
		return err
	}
	id, err := uuidOf(string(run))
	if err != nil {
		return err
	}
	return s.settle(ctx, "settle idempotency key", string(t), settleStart, tenant, key, id)
}

// forgetStarts removes the claims of every tenant that were made at a moment
// or before, max of them in one transaction and forgetRounds times as many in
// all, and returns how many. It skips a claim that is being changed.
func (s *Store) forgetStarts(ctx context.Context, before time.Time, max int) (n int, err error) {
	const forget = `
DELETE FROM verifyd.start_keys WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM verifyd.start_keys WHERE claimed_at <= ? ORDER BY claimed_at LIMIT ? FOR UPDATE SKIP LOCKED))`
	for range forgetRounds {
		var gone int64
		err := s.transact(ctx, everyTenant, nil, func(ctx context.Context, tx bun.Tx) error {
			result, err := tx.NewRaw(forget, before, max).Exec(ctx)
			if err != nil {
				return err
			}
			gone, err = result.RowsAffected()
			return err
		})
		if err != nil {
			return n, translate("forget idempotency keys", err)
		}
		n += int(gone)
		if int(gone) < max || max < 1 {
			break
		}
	}
	return n, nil
}

// startClaim reads the claim that is kept under a key, however old.
func (s *Store) startClaim(ctx context.Context, t verification.TenantID, key string) (verification.StartClaim, error) {
	tenant, err := uuidOf(string(t))
	if err != nil {
		return verification.StartClaim{}, err
	}
	return s.oneClaim(ctx, t, selectStart, tenant, key)
}

func (s *Store) oneClaim(ctx context.Context, t verification.TenantID, statement string, args ...any) (c verification.StartClaim, err error) {
	err = s.one(ctx, string(t), statement, args, &c.Fingerprint, &c.Run, &c.At, &c.Settled)
	c.At = c.At.UTC()
	return c, err
}
