// Accounts: which account a client acts for.

package engine

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/fair"
	"github.com/verifyd/verifyd/verification/lru"
)

const (
	// maxUnproven bounds the lookups of unproven credentials at once. A refused one
	// keeps its slot for refusalPause, which bounds the refusals of a host without
	// delaying the response.
	maxUnproven     = 4
	refusalPause    = 5 * time.Millisecond
	unprovenTimeout = 5 * time.Second // for a slot
	maxProven       = 10_000          // credentials
)

// credential is a client id with the hash of a key.
type credential struct {
	client string
	hash   [32]byte
}

// credentialLimiter bounds the lookups of unproven credentials, so that a flood of
// wrong ones does not delay clients with right ones. A credential is proven once it
// was right; it is looked up in the store all the same.
type credentialLimiter struct {
	slots  *fair.Limiter // by client
	proven *lru.Cache[credential, bool]
}

func newCredentialLimiter() credentialLimiter {
	return credentialLimiter{
		slots:  fair.NewLimiter(maxUnproven, 1),
		proven: lru.New[credential](maxProven, 1, func(bool) int { return 1 }),
	}
}

// errTooManyUnproven is returned when a credential has waited for too long.
var errTooManyUnproven = verification.Unavailable("account", "too many wrong credentials are being refused; try again")

// admit waits until the credential may be looked up. The caller calls done with the
// result.
func (l credentialLimiter) admit(ctx context.Context, c credential) (done func(right bool), err error) {
	if proven, _ := l.proven.Get(c); proven {
		return l.recheck(c), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, unprovenTimeout, errTooManyUnproven)
	defer cancel()
	release, err := l.slots.Acquire(ctx, c.client)
	if err != nil {
		return nil, err
	}
	if proven, _ := l.proven.Get(c); proven { // by a request that had the slot before
		release()
		return l.recheck(c), nil
	}
	return func(right bool) {
		if right {
			l.proven.Put(c, true)
			release()
			return
		}
		time.AfterFunc(refusalPause, release)
	}, nil
}

// recheck returns the done of a proven credential.
func (l credentialLimiter) recheck(c credential) (done func(right bool)) {
	return func(right bool) {
		if !right {
			l.proven.Put(c, false)
		}
	}
}

// Authenticate returns the account of a client id and its key.
// ErrUnauthenticated is returned when either is wrong, and does not say which. The
// caller checks whether the account is disabled, or not authorized for a surface.
// Lookups are limited, except those of credentials that were correct before.
// ErrUnavailable is returned when a lookup has waited too long.
func (e *Engine) Authenticate(ctx context.Context, clientID, apiKey string) (verification.Account, error) {
	given := credential{client: clientID, hash: verification.HashAPIKey(apiKey)}
	done, err := e.credentials.admit(ctx, given)
	if err != nil {
		return verification.Account{}, err
	}
	a, err := e.ports.Store.Account(ctx, clientID)
	// An unknown client is compared too, so that it takes as long.
	right := subtle.ConstantTimeCompare(given.hash[:], a.KeyHash[:]) == 1 && err == nil
	done(right)
	switch {
	case right:
		return a, nil
	case err != nil && !errors.Is(err, verification.ErrNotFound):
		return verification.Account{}, err
	}
	return verification.Account{}, &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "account"}
}
