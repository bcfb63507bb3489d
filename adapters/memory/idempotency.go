// Idempotency keys, remembered for a day.

package memory

import (
	"context"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// claims holds the record of each key. Old records leave as new ones come.
type claims struct {
	mu   sync.Mutex
	held map[claimKey]verification.IdempotencyRecord
	line []claimed // in the order they came
}

type claimKey struct {
	tenant verification.TenantID
	verification.IdempotencyKey
}

type claimed struct {
	claimKey
	id string
	at time.Time
}

func newClaims() claims {
	return claims{held: map[claimKey]verification.IdempotencyRecord{}}
}

// IdempotencyRecord returns the record under a key at a time.
func (s *Store) IdempotencyRecord(
	ctx context.Context, t verification.TenantID, k verification.IdempotencyKey, now time.Time,
) (verification.IdempotencyRecord, error) {
	if err := ctx.Err(); err != nil {
		return verification.IdempotencyRecord{}, err
	}
	s.claims.mu.Lock()
	defer s.claims.mu.Unlock()
	r, ok := s.claims.held[claimKey{t, k}]
	if !ok || now.Sub(r.At) >= verification.IdempotencyKeyTTL {
		return verification.IdempotencyRecord{}, notFound("idempotency key")
	}
	return r, nil
}

// ClaimIdempotencyKey keeps the record under its key unless one younger than
// IdempotencyKeyTTL is there, and returns the one that is kept.
func (s *Store) ClaimIdempotencyKey(
	ctx context.Context, t verification.TenantID, r verification.IdempotencyRecord,
) (verification.IdempotencyRecord, error) {
	if err := ctx.Err(); err != nil {
		return verification.IdempotencyRecord{}, err
	}
	s.claims.mu.Lock()
	defer s.claims.mu.Unlock()
	s.claims.forget(r.At)
	k := claimKey{t, r.IdempotencyKey}
	if old, ok := s.claims.held[k]; ok && r.At.Sub(old.At) < verification.IdempotencyKeyTTL {
		return old, nil
	}
	s.claims.held[k] = r
	s.claims.line = append(s.claims.line, claimed{k, r.ID, r.At})
	return r, nil
}

// SettleIdempotencyKey marks the record with this ID as settled.
func (s *Store) SettleIdempotencyKey(ctx context.Context, t verification.TenantID, r verification.IdempotencyRecord) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.claims.mu.Lock()
	defer s.claims.mu.Unlock()
	k := claimKey{t, r.IdempotencyKey}
	if kept, ok := s.claims.held[k]; ok && kept.ID == r.ID {
		kept.Settled, kept.Result, kept.Decision = true, r.Result, r.Decision
		s.claims.held[k] = kept
	}
	return nil
}

// ReleaseIdempotencyKey removes the record with this ID unless it is settled.
func (s *Store) ReleaseIdempotencyKey(ctx context.Context, t verification.TenantID, r verification.IdempotencyRecord) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.claims.mu.Lock()
	defer s.claims.mu.Unlock()
	k := claimKey{t, r.IdempotencyKey}
	if kept, ok := s.claims.held[k]; ok && kept.ID == r.ID && !kept.Settled {
		delete(s.claims.held, k)
	}
	return nil
}

// forget drops the records at the head of the line that have lived their life.
func (c *claims) forget(now time.Time) {
	for len(c.line) > 0 && now.Sub(c.line[0].at) >= verification.IdempotencyKeyTTL {
		first := c.line[0]
		if held, ok := c.held[first.claimKey]; ok && held.ID == first.id {
			delete(c.held, first.claimKey)
		}
		c.line[0] = claimed{} // let go of its strings
		c.line = c.line[1:]
	}
}
