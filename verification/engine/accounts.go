// Accounts: which account a client acts for.

package engine

import (
	"context"
	"crypto/subtle"
	"errors"

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

// newCredentialGate returns the gate in front of the accounts. A proven credential is
// looked up all the same.
func newCredentialGate() *fair.Gate[credential, verification.Account] {
	return fair.NewGate[credential, verification.Account](maxUnproven, 1,
		verification.Unavailable("account", "too many wrong credentials are being refused; try again"))
}

// Authenticate returns the account of a client id and its key.
// ErrUnauthenticated is returned when either is wrong, and does not say which. The
// caller checks whether the account is disabled, or not authorized for a surface.
// Lookups are limited, except for credentials that were correct before.
// ErrUnavailable is returned when a lookup has waited too long.
func (e *Engine) Authenticate(ctx context.Context, clientID, apiKey string) (verification.Account, error) {
	given := credential{client: clientID, hash: verification.HashAPIKey(apiKey)}
	return e.credentials.Check(ctx, clientID, given, func() (verification.Account, error) {
		a, err := e.ports.Store.Account(ctx, clientID)
		// An unknown client is compared too, so that it takes as long.
		right := subtle.ConstantTimeCompare(given.hash[:], a.KeyHash[:]) == 1
		switch {
		case err != nil && !errors.Is(err, verification.ErrNotFound):
			return verification.Account{}, err
		case err != nil || !right:
			return verification.Account{}, &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "account"}
		}
		return a, nil
	})
}
