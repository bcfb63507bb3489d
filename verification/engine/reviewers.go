// Reviewers: signing in to the console.

package engine

import (
	"context"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// UseSignInLink records that a sign-in link is used. ErrUnauthenticated is returned
// when the link has expired, or was used before on any host.
func (e *Engine) UseSignInLink(ctx context.Context, l verification.SignInLink) error {
	if !e.now().Before(l.ExpiresAt) {
		return &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "sign-in link", Message: "it has expired"}
	}
	// A store keeps keys for longer than a link lasts, and gives one to one caller only.
	mine, err := e.newRecord(store.ScopeSignIn, l.ID, e.ports.NewID(), l.Reviewer)
	if err != nil {
		return err
	}
	kept, err := tablesOf(e).ClaimIdempotencyKey(ctx, l.Tenant, mine)
	if err == nil && kept.ID != mine.ID {
		err = &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "sign-in link", Message: "it was used before"}
	}
	return err
}

// TenantName returns the name of a tenant, or ErrNotFound.
func (e *Engine) TenantName(ctx context.Context, t verification.TenantID) (string, error) {
	tenant, err := e.store.Tenant(ctx, t)
	return tenant.Name, err
}
