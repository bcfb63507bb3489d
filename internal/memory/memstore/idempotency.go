// Idempotency keys.

package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// idempotencyKeys has the record of each key. Claims remove old records.
type idempotencyKeys struct {
	table[tenantKey, store.IdempotencyRecord]

	claims []claim // in the order of their arrival
}

type tenantKey struct {
	tenant verification.TenantID
	store.IdempotencyKey
}

type claim struct {
	tenantKey

	id string
	at time.Time
}

// IdempotencyRecord returns the record of a key at the given time.
func (s *Store) IdempotencyRecord(
	ctx context.Context, t verification.TenantID, k store.IdempotencyKey, now time.Time,
) (store.IdempotencyRecord, error) {
	r, err := s.keys.get(ctx, tenantKey{t, k}, "idempotency key")
	if err == nil && now.Sub(r.At) >= store.IdempotencyKeyTTL {
		return store.IdempotencyRecord{}, verification.NotFound("idempotency key")
	}
	return r, err
}

// ClaimIdempotencyKey stores the record unless its key has one that is younger than
// IdempotencyKeyTTL, and returns the stored record.
func (s *Store) ClaimIdempotencyKey(
	ctx context.Context, t verification.TenantID, r store.IdempotencyRecord,
) (stored store.IdempotencyRecord, err error) {
	err = s.keys.change(ctx, func(rows map[tenantKey]store.IdempotencyRecord) error {
		k := tenantKey{t, r.IdempotencyKey}
		r.At = toMicrosecond(r.At)
		stored = rows[k]
		if stored.ID == "" || r.At.Sub(stored.At) >= store.IdempotencyKeyTTL {
			if err := s.refuseKey(t, r); err != nil {
				return err
			}
			s.kept.add(t, sizeOfRequest)
			s.keys.removeOld(r.At, s.kept.add)
			stored, rows[k] = r, r
			s.keys.claims = append(s.keys.claims, claim{k, r.ID, r.At})
		}
		return nil
	})
	return stored, err
}

// SettleIdempotencyKey marks the record with this ID as settled.
func (s *Store) SettleIdempotencyKey(ctx context.Context, t verification.TenantID, r store.IdempotencyRecord) error {
	return s.keys.change(ctx, func(rows map[tenantKey]store.IdempotencyRecord) error {
		k := tenantKey{t, r.IdempotencyKey}
		if stored, ok := rows[k]; ok && stored.ID == r.ID {
			stored.Settled, stored.Result, stored.Decision = true, r.Result, r.Decision
			rows[k] = stored
		}
		return nil
	})
}

// ReleaseIdempotencyKey removes the record with this ID unless it is settled.
func (s *Store) ReleaseIdempotencyKey(ctx context.Context, t verification.TenantID, r store.IdempotencyRecord) error {
	return s.keys.change(ctx, func(rows map[tenantKey]store.IdempotencyRecord) error {
		k := tenantKey{t, r.IdempotencyKey}
		if stored, ok := rows[k]; ok && stored.ID == r.ID && !stored.Settled {
			delete(rows, k)
			s.keys.removeReleased(s.kept.add)
		}
		return nil
	})
}

// removeReleased removes the claims of records that were released or replaced, once they are
// most of all claims.
func (k *idempotencyKeys) removeReleased(count func(t verification.TenantID, bytes int)) {
	if len(k.claims) < 2*len(k.rows)+minReleased {
		return
	}
	k.claims = slices.DeleteFunc(k.claims, func(c claim) bool {
		if k.rows[c.tenantKey].ID == c.id {
			return false
		}
		count(c.tenant, -sizeOfRequest)
		return true
	})
}

// minReleased keeps removeReleased from looking through few claims again and again.
const minReleased = 1000

// removeOld removes the records that are older than IdempotencyKeyTTL.
func (k *idempotencyKeys) removeOld(now time.Time, count func(t verification.TenantID, bytes int)) {
	for len(k.claims) > 0 && now.Sub(k.claims[0].at) >= store.IdempotencyKeyTTL {
		first := k.claims[0]
		if k.rows[first.tenantKey].ID == first.id {
			delete(k.rows, first.tenantKey)
		}
		k.claims[0] = claim{} // release its strings
		k.claims = k.claims[1:]
		count(first.tenant, -sizeOfRequest)
	}
}
