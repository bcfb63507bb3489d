// Tests of accounts that are kept in memory.

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

const accountKey = "a key of at least twenty characters"

// accounts are an engine, and the store of its accounts, which counts lookups.
type accounts struct {
	*enginetest.Kit
	t       *testing.T
	lookups *mock.TenantStoreMock
	other   *memory.Store // what another host writes through
}

// newAccounts returns an engine that reads accounts as another host saves them to the same
// database.
func newAccounts(t *testing.T) accounts {
	t.Helper()
	a := accounts{t: t, other: memory.New()}
	a.lookups = &mock.TenantStoreMock{AccountFunc: a.other.Account, SaveTenantFunc: a.other.SaveTenant}
	own := memory.New() // counts the saves on this host
	a.lookups.SaveAccountFunc = func(ctx context.Context, v verification.Account) error {
		return errors.Join(a.other.SaveAccount(ctx, v), own.SaveAccount(ctx, v))
	}
	a.Kit = enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Store = replace(p.Store, func(s *ports) { s.TenantStore, s.AccountCounter = a.lookups, own })
	})
	return a
}

func acmeAccount() verification.Account {
	return verification.Account{ClientID: "acme", Tenant: enginetest.Tenant, KeyHash: verification.HashAPIKey(accountKey)}
}

// save saves an account on this host, or on another one.
func (a accounts) save(save func(context.Context, verification.Account) error, v verification.Account) {
	a.t.Helper()
	if err := save(a.t.Context(), v); err != nil {
		a.t.Fatal(err)
	}
}

// finds fails the test unless the credentials of a client find an account after this
// many lookups in all.
func (a accounts) finds(client string, disabled bool, lookups int) {
	a.t.Helper()
	got, err := a.Engine.Authenticate(a.t.Context(), client, accountKey)
	if err != nil || got.ClientID != client || got.Disabled != disabled {
		a.t.Errorf("authenticate = %+v, %v; want disabled = %t", got, err, disabled)
	}
	if made := len(a.lookups.AccountCalls()); made != lookups {
		a.t.Errorf("%d lookups, want %d", made, lookups)
	}
}

func TestAnAccountIsReadOnceASecond(t *testing.T) {
	a := newAccounts(t)
	a.save(a.other.SaveAccount, acmeAccount())
	for second := range 3 {
		a.finds("acme", false, second+1)
		a.finds("acme", false, second+1)
		a.Advance(999 * time.Millisecond)
		a.finds("acme", false, second+1)
		a.Advance(time.Millisecond)
	}
}

func TestAHostSeesItsOwnChangeOfAnAccountAtOnce(t *testing.T) {
	a := newAccounts(t)
	a.save(a.lookups.SaveAccount, acmeAccount())
	a.finds("acme", false, 1)
	changed := acmeAccount()
	changed.Disabled = true
	a.save(a.lookups.SaveAccount, changed)
	a.finds("acme", true, 2)
	a.finds("acme", true, 2)
	changed.KeyHash = verification.HashAPIKey("another key of twenty characters")
	a.save(a.lookups.SaveAccount, changed)
	if _, err := a.Engine.Authenticate(t.Context(), "acme", accountKey); !errors.Is(err, verification.ErrUnauthenticated) {
		t.Errorf("the old key = %v, want ErrUnauthenticated", err)
	}
}

func TestAChangeDuringALookupIsSeenByTheNext(t *testing.T) {
	a := newAccounts(t)
	a.save(a.lookups.SaveAccount, acmeAccount())
	changed := acmeAccount()
	changed.Disabled = true
	a.lookups.AccountFunc = func(ctx context.Context, client string) (verification.Account, error) {
		old, err := a.other.Account(ctx, client)
		a.save(a.lookups.SaveAccount, changed)
		return old, err
	}
	a.finds("acme", false, 1)
	a.lookups.AccountFunc = a.other.Account
	a.finds("acme", true, 2)
}

func TestAnotherHostsAccountIsSeenInASecond(t *testing.T) {
	a := newAccounts(t)
	a.save(a.other.SaveAccount, acmeAccount())
	a.finds("acme", false, 1)
	changed := acmeAccount()
	changed.Disabled = true
	a.save(a.other.SaveAccount, changed)
	a.Advance(time.Second)
	a.finds("acme", true, 2)
	changed.KeyHash = verification.HashAPIKey("another key of twenty characters")
	a.save(a.other.SaveAccount, changed)
	a.Advance(time.Second)
	if _, err := a.Engine.Authenticate(t.Context(), "acme", accountKey); !errors.Is(err, verification.ErrUnauthenticated) {
		t.Errorf("the old key after a second = %v, want ErrUnauthenticated", err)
	}
}

func TestTheAgeOfAnAccountCountsFromItsLookup(t *testing.T) {
	a := newAccounts(t)
	a.save(a.other.SaveAccount, acmeAccount())
	a.lookups.AccountFunc = func(ctx context.Context, client string) (verification.Account, error) {
		found, err := a.other.Account(ctx, client)
		a.Advance(600 * time.Millisecond) // of a slow database
		return found, err
	}
	a.finds("acme", false, 1)
	a.lookups.AccountFunc = a.other.Account
	a.Advance(400 * time.Millisecond)
	a.finds("acme", false, 2)
}

func TestWrongCredentialsAreLookedUpEachTime(t *testing.T) {
	a := newAccounts(t)
	a.save(a.other.SaveAccount, acmeAccount())
	a.finds("acme", false, 1)
	for n := range 3 {
		for client, key := range map[string]string{"acme": accountKey + "!", "nobody": accountKey} {
			if _, err := a.Engine.Authenticate(t.Context(), client, key); !errors.Is(err, verification.ErrUnauthenticated) {
				t.Errorf("%s with %q = %v, want ErrUnauthenticated", client, key, err)
			}
		}
		if made := len(a.lookups.AccountCalls()); made != 3+2*n {
			t.Errorf("%d lookups, want %d", made, 3+2*n)
		}
	}
}

func TestTheAccountsInMemoryAreBounded(t *testing.T) {
	const most = 10_000
	a := newAccounts(t)
	for n := range most + 1 {
		v := acmeAccount()
		v.ClientID = fmt.Sprintf("client-%d", n)
		a.save(a.other.SaveAccount, v)
		a.finds(v.ClientID, false, n+1)
	}
	a.finds("client-1", false, most+1)
	a.finds("client-0", false, most+2) // it was dropped
}
