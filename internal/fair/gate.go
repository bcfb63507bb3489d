// The gate in front of checks of credentials.

package fair

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/internal/lru"
)

const (
	// refusalPause is how long a refused credential keeps its slot, which bounds the
	// refusals of a host without delaying the response.
	refusalPause = 5 * time.Millisecond
	gateTimeout  = 5 * time.Second // for a slot
	maxProven    = 10_000          // credentials
)

// Gate bounds the checks of unproven credentials, so that a flood of wrong ones does not
// delay people and clients with right ones. A credential is proven once its check
// succeeded, until one fails; the gate remembers up to 10,000 with what their checks
// returned. A Gate is safe for concurrent use.
type Gate[C comparable, V any] struct {
	slots  *Limiter
	proven *lru.Cache[C, V]
	busy   error
}

// NewGate returns a Gate that allows max checks at once, of which one key may have perKey;
// see NewLimiter. Who waits for a slot for more than 5 s gets the error busy.
func NewGate[C comparable, V any](max, perKey int, busy error) *Gate[C, V] {
	return &Gate[C, V]{
		slots: NewLimiter(max, perKey), proven: lru.New[C](maxProven, 1, func(V) int { return 1 }), busy: busy,
	}
}

// Proven returns the result of the last check of a credential, if it succeeded.
func (g *Gate[C, V]) Proven(c C) (V, bool) { return g.proven.Get(c) }

// Check checks a credential, in a slot unless it is proven. Callers with different keys
// share the slots fairly.
func (g *Gate[C, V]) Check(ctx context.Context, key string, c C, check func() (V, error)) (v V, err error) {
	proven := func() error {
		if v, err = check(); err != nil {
			g.proven.Delete(c)
			return err
		}
		g.proven.Put(c, v)
		return nil
	}
	if _, ok := g.proven.Get(c); ok {
		err = proven()
		return v, err
	}
	again := false
	err = g.Try(ctx, key, func() error {
		if _, again = g.proven.Get(c); again { // by a caller that had the slot before
			return nil
		}
		if v, err = check(); err == nil {
			g.proven.Put(c, v)
		}
		return err
	})
	if again {
		err = proven()
	}
	return v, err
}

// Try makes a check in a slot. A check that fails keeps its slot for a moment.
func (g *Gate[C, V]) Try(ctx context.Context, key string, check func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, gateTimeout, g.busy)
	defer cancel()
	release, err := g.slots.Acquire(ctx, key)
	if err != nil {
		return err
	}
	if err = check(); err != nil {
		time.AfterFunc(refusalPause, release)
		return err
	}
	release()
	return nil
}
