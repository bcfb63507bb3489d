// Idempotency keys of starts, remembered for a day.

package memory

import (
	"context"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// claims holds what each key stands for. Old claims leave as new ones come.
type claims struct {
	mu   sync.Mutex
	held map[startKey]verification.StartClaim
	line []claimed // in the order they came
}

type startKey struct {
	tenant verification.TenantID
	key    string
}

type claimed struct {
	startKey
	at time.Time
}

func newClaims() claims {
	return claims{held: map[startKey]verification.StartClaim{}}
}

// FindStart returns the claim that a key stands for at a moment.
func (s *Store) FindStart(ctx context.Context, t verification.TenantID, key string, now time.Time) (verification.StartClaim, error) {
	if err := ctx.Err(); err != nil {
		return verification.StartClaim{}, err
	}
	s.claims.mu.Lock()
	defer s.claims.mu.Unlock()
	c, ok := s.claims.held[startKey{t, key}]
	if !ok || now.Sub(c.At) >= verification.StartKeyLife {
		return verification.StartClaim{}, notFound("idempotency key")
	}
	return c, nil
}

// ClaimStart keeps the claim unless one younger than StartKeyLife is there,
// and returns the one that is kept.
func (s *Store) ClaimStart(ctx context.Context, t verification.TenantID, key string, c verification.StartClaim) (verification.StartClaim, error) {
	if err := ctx.Err(); err != nil {
		return verification.StartClaim{}, err
	}
	s.claims.mu.Lock()
	defer s.claims.mu.Unlock()
	s.claims.forget(c.At)
	k := startKey{t, key}
	if old, ok := s.claims.held[k]; ok && c.At.Sub(old.At) < verification.StartKeyLife {
		return old, nil
	}
	s.claims.held[k] = c
	s.claims.line = append(s.claims.line, claimed{k, c.At})
	return c, nil
}

// SettleStart marks the claim of this run as answered.
func (s *Store) SettleStart(ctx context.Context, t verification.TenantID, key string, run verification.RunID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.claims.mu.Lock()
	defer s.claims.mu.Unlock()
	k := startKey{t, key}
	if c, ok := s.claims.held[k]; ok && c.Run == run {
		c.Settled = true
		s.claims.held[k] = c
	}
	return nil
}

// forget drops the claims at the head of the line that have lived their life.
func (c *claims) forget(now time.Time) {
	for len(c.line) > 0 && now.Sub(c.line[0].at) >= verification.StartKeyLife {
		first := c.line[0]
		if held, ok := c.held[first.startKey]; ok && held.At.Equal(first.at) {
			delete(c.held, first.startKey)
		}
		c.line[0] = claimed{} // let go of its strings
		c.line = c.line[1:]
	}
}
