// Accounts: which account a client acts for.

package engine

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/verification"
)

// maxUnproven bounds the lookups of unproven credentials at once, one of a client id.
const maxUnproven = 4

// credential is a client id with the hash of a key.
type credential struct {
	client string
	hash   [32]byte
}

// maxAccountAge is how long requests may use an account as it was before a change.
const maxAccountAge = time.Second

// knownAccount is an account as it was read.
type knownAccount struct {
	verification.Account

	read time.Time // before the read
}

// newCredentialGate returns the gate in front of the accounts. It keeps the accounts of
// proven credentials.
func newCredentialGate() *fair.Gate[credential, knownAccount] {
	return fair.NewGate[credential, knownAccount](maxUnproven, 1,
		verification.Unavailable("account", "too many wrong credentials are being refused; try again"))
}

// Authenticate returns the account of a client id and its key.
// ErrUnauthenticated is returned when either is wrong, and does not say which. The
// caller checks whether the account is disabled, or not authorized for a surface.
//
// Authenticate reads the account of correct credentials at most once a second. So a change
// of it, such as a disabled account, a new key or the end of a previous one, takes effect up to one second later.
//
// Lookups are limited, except for credentials that were correct before.
// ErrUnavailable is returned when a lookup has waited too long.
func (e *Engine) Authenticate(ctx context.Context, clientID, apiKey string) (verification.Account, error) {
	given := credential{client: clientID, hash: verification.HashAPIKey(apiKey)}
	known, err := e.credentials.Check(ctx, clientID, given, func() (knownAccount, error) { return e.account(ctx, given) })
	return known.Account, err
}

// account returns the account of credentials. It reads wrong credentials every time, so that
// an unknown client takes as long as a wrong key.
func (e *Engine) account(ctx context.Context, given credential) (knownAccount, error) {
	now := knownAccount{read: e.ports.Clock.Now()}
	if known, ok := e.credentials.Proven(given); ok {
		if age := now.read.Sub(known.read); 0 <= age && age < maxAccountAge {
			return known, nil
		}
	}
	var err error
	now.Account, err = tablesOf(e).Account(ctx, given.client)
	// An unknown client is compared too, so that it takes as long.
	right := subtle.ConstantTimeCompare(given.hash[:], now.KeyHash[:]) == 1
	previous := subtle.ConstantTimeCompare(given.hash[:], now.PreviousKeyHash[:]) == 1
	right = right || previous && (now.PreviousUntil.IsZero() || now.read.Before(now.PreviousUntil))
	switch {
	case err != nil && !errors.Is(err, verification.ErrNotFound):
		return knownAccount{}, err
	case err != nil || !right:
		return knownAccount{}, &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "account"}
	}
	return now, nil
}
