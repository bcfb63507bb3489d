// Tenants and their accounts.

package memory

import (
	"context"
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// accounts has the tenants, and the accounts by client identifier.
type accounts struct {
	mu       sync.RWMutex
	tenants  map[verification.TenantID]verification.Tenant
	byClient map[string]verification.Account
}

func newAccounts() accounts {
	return accounts{
		tenants:  map[verification.TenantID]verification.Tenant{},
		byClient: map[string]verification.Account{},
	}
}

// Tenant returns one tenant, or ErrNotFound.
func (s *Store) Tenant(ctx context.Context, id verification.TenantID) (verification.Tenant, error) {
	if err := ctx.Err(); err != nil {
		return verification.Tenant{}, err
	}
	s.accounts.mu.RLock()
	defer s.accounts.mu.RUnlock()
	t, ok := s.accounts.tenants[id]
	if !ok {
		return verification.Tenant{}, verification.NotFound("tenant")
	}
	return t, nil
}

// SaveTenant creates or replaces a tenant.
func (s *Store) SaveTenant(ctx context.Context, t verification.Tenant) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	s.accounts.tenants[t.ID] = t
	return nil
}

// Account returns the account of a client identifier, or ErrNotFound.
func (s *Store) Account(ctx context.Context, clientID string) (verification.Account, error) {
	if err := ctx.Err(); err != nil {
		return verification.Account{}, err
	}
	s.accounts.mu.RLock()
	defer s.accounts.mu.RUnlock()
	a, ok := s.accounts.byClient[clientID]
	if !ok {
		return verification.Account{}, verification.NotFound("account")
	}
	return a, nil
}

// SaveAccount creates or replaces an account, or returns ErrConflict.
func (s *Store) SaveAccount(ctx context.Context, a verification.Account) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	if old, ok := s.accounts.byClient[a.ClientID]; ok && old.Tenant != a.Tenant {
		return verification.Conflict("account", "another tenant has that client identifier")
	}
	s.accounts.byClient[a.ClientID] = a
	return nil
}
