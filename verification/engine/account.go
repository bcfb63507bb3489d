// Which account a client acts for.

package engine

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/fair"
)

const (
	// maxStrangers is how many credentials that were not found right before are
	// looked up at once. A refused one keeps its slot for strangerPause, so that
	// the refusals of a host have a bound, and its caller does not wait for that.
	maxStrangers    = 4
	strangerPause   = 5 * time.Millisecond
	strangerTimeout = 2 * time.Second // for a slot
	maxProven       = 10_000          // credentials that are remembered as right
)

// credential is a client identifier with the hash of a key.
type credential struct {
	client string
	hash   [32]byte
}

// strangers bounds what credentials cost that are not known to be right, so that
// a flood of wrong ones delays nobody whose own are right. The store is asked
// about known ones all the same.
type strangers struct {
	slots  *fair.Limiter // by client
	proven *cache[credential, bool]
}

func newStrangers() strangers {
	return strangers{
		slots:  fair.NewLimiter(maxStrangers, 1),
		proven: newCache[credential](maxProven, 1, func(bool) int { return 1 }),
	}
}

// errStrangers is returned when a credential has waited for too long.
var errStrangers = &verification.Error{
	Kind: verification.ErrUnavailable, Subject: "account", Message: "too many wrong credentials are being refused; try again",
}

// enter waits until the credential may be looked up. The func that it returns is
// called with the result.
func (s strangers) enter(ctx context.Context, c credential) (leave func(right bool), err error) {
	if proven, _ := s.proven.get(c); proven {
		return func(right bool) {
			if !right {
				s.proven.put(c, false)
			}
		}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, strangerTimeout, errStrangers)
	defer cancel()
	release, err := s.slots.Acquire(ctx, c.client)
	if err != nil {
		return nil, err
	}
	return func(right bool) {
		if right {
			s.proven.put(c, true)
			release()
			return
		}
		time.AfterFunc(strangerPause, release)
	}, nil
}

// Authenticate returns the account of a client identifier and its key. It fails
// with ErrUnauthenticated when either is wrong, and does not say which. The
// account may be disabled, or not authorized for a surface: the caller checks.
// ErrUnavailable when too many other credentials are being refused.
func (e *Engine) Authenticate(ctx context.Context, clientID, apiKey string) (verification.Account, error) {
	given := credential{client: clientID, hash: verification.HashAPIKey(apiKey)}
	leave, err := e.strangers.enter(ctx, given)
	if err != nil {
		return verification.Account{}, err
	}
	a, err := e.ports.Tenants.Account(ctx, clientID)
	// An unknown client is compared too, so that it takes as long.
	right := subtle.ConstantTimeCompare(given.hash[:], a.KeyHash[:]) == 1 && err == nil
	leave(right)
	switch {
	case right:
		return a, nil
	case err != nil && !errors.Is(err, verification.ErrNotFound):
		return verification.Account{}, err
	}
	return verification.Account{}, &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "account"}
}
