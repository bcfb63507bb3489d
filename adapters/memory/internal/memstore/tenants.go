// Tenants and their accounts.

package memstore

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/verifyd/verifyd/verification"
)

// Tenant returns one tenant, or ErrNotFound.
func (s *Store) Tenant(ctx context.Context, id verification.TenantID) (verification.Tenant, error) {
	t, err := s.tenants.get(ctx, id, "tenant")
	t.Logo.Content = nil
	return t, err
}

// Logo returns the logo of a tenant with its content, or ErrNotFound.
func (s *Store) Logo(ctx context.Context, id verification.TenantID) (verification.Logo, error) {
	t, err := s.tenants.get(ctx, id, "tenant")
	if err == nil && t.Logo.Name == "" {
		err = verification.NotFound("logo")
	}
	return t.Logo, err
}

// SaveTenant creates or replaces a tenant.
func (s *Store) SaveTenant(ctx context.Context, t verification.Tenant) error {
	if err := verification.ValidateTenantID(t.ID); err != nil {
		return err
	}
	return s.tenants.change(ctx, func(rows map[verification.TenantID]verification.Tenant) error {
		s.putTenant(rows, t)
		return nil
	})
}

func (s *Store) putTenant(rows map[verification.TenantID]verification.Tenant, t verification.Tenant) {
	if t.Logo.Name != "" && len(t.Logo.Content) == 0 {
		t.Logo.Content = rows[t.ID].Logo.Content
	}
	s.kept.add(t.ID, behind(reflect.ValueOf(t))-behind(reflect.ValueOf(rows[t.ID])))
	rows[t.ID] = t
}

// Account returns the account of a client id, or ErrNotFound.
func (s *Store) Account(ctx context.Context, clientID string) (verification.Account, error) {
	return s.accounts.get(ctx, clientID, "account")
}

// SaveAccount creates or replaces an account, or returns ErrConflict.
func (s *Store) SaveAccount(ctx context.Context, a verification.Account) error {
	return s.accounts.change(ctx, func(rows map[string]verification.Account) error {
		err := fitsClient(rows, a)
		if err == nil {
			s.putAccount(rows, a)
		}
		return err
	})
}

// fitsClient returns ErrConflict if another tenant has the client id of an account.
func fitsClient(rows map[string]verification.Account, a verification.Account) error {
	if old, ok := rows[a.ClientID]; ok && old.Tenant != a.Tenant {
		return verification.Conflict("account", "another tenant has that client id")
	}
	return nil
}

func (s *Store) putAccount(rows map[string]verification.Account, a verification.Account) {
	a.PreviousUntil = toMicrosecond(a.PreviousUntil)
	s.kept.add(a.Tenant, behind(reflect.ValueOf(a))-behind(reflect.ValueOf(rows[a.ClientID])))
	rows[a.ClientID] = a
}

// Tenants returns all tenants in the order of their ids.
func (s *Store) Tenants(ctx context.Context) (all []verification.Tenant, err error) {
	err = s.tenants.read(ctx, func() error {
		for _, t := range s.tenants.rows {
			t.Logo.Content = nil
			all = append(all, t)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b verification.Tenant) int { return cmp.Compare(a.ID, b.ID) })
	return all, err
}

// Accounts returns the accounts of a tenant in the order of their client ids.
func (s *Store) Accounts(ctx context.Context, t verification.TenantID) (all []verification.Account, err error) {
	err = s.accounts.read(ctx, func() error {
		for _, a := range s.accounts.rows {
			if a.Tenant == t {
				all = append(all, a)
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b verification.Account) int { return cmp.Compare(a.ClientID, b.ClientID) })
	return all, err
}
