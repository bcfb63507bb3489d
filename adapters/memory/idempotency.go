// Idempotency keys.

package memory

import (
	"context"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// idempotencyKeys has the record of each key. Claims remove old records.
type idempotencyKeys struct {
	mu      sync.Mutex
	records map[tenantKey]verification.IdempotencyRecord
	claims  []claim // in the order of their arrival
}

type tenantKey struct {
	tenant verification.TenantID
	verification.IdempotencyKey
}

type claim struct {
	tenantKey

	id string
	at time.Time
}

func newIdempotencyKeys() idempotencyKeys {
	return idempotencyKeys{records: map[tenantKey]verification.IdempotencyRecord{}}
}

// IdempotencyRecord returns the record of a key at a time.
func (s *Store) IdempotencyRecord(
	ctx context.Context, t verification.TenantID, k verification.IdempotencyKey, now time.Time,
) (verification.IdempotencyRecord, error) {
	if err := ctx.Err(); err != nil {
		return verification.IdempotencyRecord{}, err
	}
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	r, ok := s.keys.records[tenantKey{t, k}]
	if !ok || now.Sub(r.At) >= verification.IdempotencyKeyTTL {
		return verification.IdempotencyRecord{}, verification.NotFound("idempotency key")
	}
	return r, nil
}

// ClaimIdempotencyKey stores the record unless its key has one that is younger than
// IdempotencyKeyTTL, and returns the stored record.
func (s *Store) ClaimIdempotencyKey(
	ctx context.Context, t verification.TenantID, r verification.IdempotencyRecord,
) (verification.IdempotencyRecord, error) {
	if err := ctx.Err(); err != nil {
		return verification.IdempotencyRecord{}, err
	}
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	s.keys.removeOld(r.At)
	k := tenantKey{t, r.IdempotencyKey}
	if old, ok := s.keys.records[k]; ok && r.At.Sub(old.At) < verification.IdempotencyKeyTTL {
		return old, nil
	}
	s.keys.records[k] = r
	s.keys.claims = append(s.keys.claims, claim{k, r.ID, r.At})
	return r, nil
}

// SettleIdempotencyKey marks the record with this ID as settled.
func (s *Store) SettleIdempotencyKey(ctx context.Context, t verification.TenantID, r verification.IdempotencyRecord) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	k := tenantKey{t, r.IdempotencyKey}
	if stored, ok := s.keys.records[k]; ok && stored.ID == r.ID {
		stored.Settled, stored.Result, stored.Decision = true, r.Result, r.Decision
		s.keys.records[k] = stored
	}
	return nil
}

// ReleaseIdempotencyKey removes the record with this ID unless it is settled.
func (s *Store) ReleaseIdempotencyKey(ctx context.Context, t verification.TenantID, r verification.IdempotencyRecord) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	k := tenantKey{t, r.IdempotencyKey}
	if stored, ok := s.keys.records[k]; ok && stored.ID == r.ID && !stored.Settled {
		delete(s.keys.records, k)
	}
	return nil
}

// removeOld removes the records that are older than IdempotencyKeyTTL.
func (k *idempotencyKeys) removeOld(now time.Time) {
	for len(k.claims) > 0 && now.Sub(k.claims[0].at) >= verification.IdempotencyKeyTTL {
		first := k.claims[0]
		if r, ok := k.records[first.tenantKey]; ok && r.ID == first.id {
			delete(k.records, first.tenantKey)
		}
		k.claims[0] = claim{} // release its strings
		k.claims = k.claims[1:]
	}
}
