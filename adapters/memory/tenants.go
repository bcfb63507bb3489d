// Tenants and their accounts.

package memory

import (
	"context"

	"github.com/verifyd/verifyd/verification"
)

// Tenant returns one tenant, or ErrNotFound.
func (s *Store) Tenant(ctx context.Context, id verification.TenantID) (verification.Tenant, error) {
	return s.tenants.get(ctx, id, "tenant")
}

// SaveTenant creates or replaces a tenant.
func (s *Store) SaveTenant(ctx context.Context, t verification.Tenant) error {
	return s.tenants.change(ctx, func(rows map[verification.TenantID]verification.Tenant) error {
		rows[t.ID] = t
		return nil
	})
}

// Account returns the account of a client identifier, or ErrNotFound.
func (s *Store) Account(ctx context.Context, clientID string) (verification.Account, error) {
	return s.accounts.get(ctx, clientID, "account")
}

// SaveAccount creates or replaces an account, or returns ErrConflict.
func (s *Store) SaveAccount(ctx context.Context, a verification.Account) error {
	return s.accounts.change(ctx, func(rows map[string]verification.Account) error {
		if old, ok := rows[a.ClientID]; ok && old.Tenant != a.Tenant {
			return verification.Conflict("account", "another tenant has that client identifier")
		}
		rows[a.ClientID] = a
		return nil
	})
}
