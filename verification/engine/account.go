// Who may act for which tenant.

package engine

import (
	"context"
	"crypto/subtle"
	"errors"

	"github.com/verifyd/verifyd/verification"
)

// Authenticate finds the account of a client identifier and its key, or fails
// with ErrUnauthenticated, without telling which of the two was wrong. The
// account may be disabled, or not authorized for a surface: that is for the
// caller to ask.
func (e *Engine) Authenticate(ctx context.Context, clientID, apiKey string) (verification.Account, error) {
	given := verification.HashAPIKey(apiKey)
	a, err := e.ports.Tenants.Account(ctx, clientID)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return verification.Account{}, err
	}
	// An unknown client is compared too, so that it takes as long.
	right := subtle.ConstantTimeCompare(given[:], a.KeyHash[:]) == 1
	if err != nil || !right {
		return verification.Account{}, &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "account"}
	}
	return a, nil
}
