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

// changeKey changes the record of a key.
func (s *Store) changeKey(ctx context.Context, c store.IdempotencyKeyRecord) error {
	return s.keys.change(ctx, func(rows map[tenantKey]store.IdempotencyRecord) error {
		k, r := tenantKey{c.Tenant, c.Request.IdempotencyKey}, c.Request
		r.At = toMicrosecond(r.At)
		stored, known := rows[k]
		switch {
		case c.Released:
			if known && stored.ID == r.ID && !stored.Settled {
				delete(rows, k)
				s.keys.removeReleased(s.kept.add)
			}
		case r.Settled:
			if known && stored.ID == r.ID {
				stored.Settled, stored.Result, stored.Decision = true, r.Result, r.Decision
				rows[k] = stored
			}
		case known && r.At.Sub(stored.At) < store.IdempotencyKeyTTL:
			return store.Refused(c)
		default:
			if err := s.refuseKey(c.Tenant, r); err != nil {
				return err
			}
			s.kept.add(c.Tenant, sizeOfRequest)
			s.keys.removeOld(r.At, s.kept.add)
			rows[k] = r
			s.keys.claims = append(s.keys.claims, claim{k, r.ID, r.At})
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
