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
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

const accountKey = "a key of at least twenty characters"

// accounts are an engine, and the store of its accounts, which counts lookups.
type accounts struct {
	*enginetest.Kit
	t       *testing.T
	lookups *mock.RowStoreMock
	stored  *memory.Store
}

func newAccounts(t *testing.T) accounts {
	t.Helper()
	a := accounts{t: t, stored: memory.New()}
	a.lookups = &mock.RowStoreMock{RowFunc: a.stored.Row, ChangeFunc: a.stored.Change}
	a.Kit = enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Store = replace(p.Store, func(s *ports) { s.RowStore = a.lookups })
	})
	return a
}

func acmeAccount() verification.Account {
	return verification.Account{ClientID: "acme", Tenant: enginetest.Tenant, KeyHash: verification.HashAPIKey(accountKey)}
}

func (a accounts) save(v verification.Account) {
	a.t.Helper()
	if err := a.stored.SaveAccount(a.t.Context(), v); err != nil {
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
	if made := len(a.lookups.RowCalls()); made != lookups {
		a.t.Errorf("%d lookups, want %d", made, lookups)
	}
}

func TestAnAccountIsReadOnceASecond(t *testing.T) {
	a := newAccounts(t)
	a.save(acmeAccount())
	for second := range 3 {
		a.finds("acme", false, second+1)
		a.finds("acme", false, second+1)
		a.Advance(999 * time.Millisecond)
		a.finds("acme", false, second+1)
		a.Advance(time.Millisecond)
	}
}

func TestAChangedAccountIsSeenInASecond(t *testing.T) {
	a := newAccounts(t)
	a.save(acmeAccount())
	a.finds("acme", false, 1)
	changed := acmeAccount()
	changed.Disabled = true
	a.save(changed)
	a.Advance(time.Second)
	a.finds("acme", true, 2)
	changed.KeyHash = verification.HashAPIKey("another key of twenty characters")
	a.save(changed)
	a.Advance(time.Second)
	if _, err := a.Engine.Authenticate(t.Context(), "acme", accountKey); !errors.Is(err, verification.ErrUnauthenticated) {
		t.Errorf("the old key after a second = %v, want ErrUnauthenticated", err)
	}
}

func TestTheAgeOfAnAccountCountsFromItsLookup(t *testing.T) {
	a := newAccounts(t)
	a.save(acmeAccount())
	a.lookups.RowFunc = func(ctx context.Context, kind store.RecordKind, client string) (store.Record, error) {
		found, err := a.stored.Row(ctx, kind, client)
		a.Advance(600 * time.Millisecond) // of a slow database
		return found, err
	}
	a.finds("acme", false, 1)
	a.lookups.RowFunc = a.stored.Row
	a.Advance(400 * time.Millisecond)
	a.finds("acme", false, 2)
}

func TestWrongCredentialsAreLookedUpEachTime(t *testing.T) {
	a := newAccounts(t)
	a.save(acmeAccount())
	a.finds("acme", false, 1)
	for n := range 3 {
		for client, key := range map[string]string{"acme": accountKey + "!", "nobody": accountKey} {
			if _, err := a.Engine.Authenticate(t.Context(), client, key); !errors.Is(err, verification.ErrUnauthenticated) {
				t.Errorf("%s with %q = %v, want ErrUnauthenticated", client, key, err)
			}
		}
		if made := len(a.lookups.RowCalls()); made != 3+2*n {
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
		a.save(v)
		a.finds(v.ClientID, false, n+1)
	}
	a.finds("client-1", false, most+1)
	a.finds("client-0", false, most+2) // it was dropped
}

func TestAPreviousKeyIsAcceptedUntilItsEnd(t *testing.T) {
	const previousKey = "a key that the account had before"
	a := newAccounts(t)
	status := func(key string) string {
		t.Helper()
		got, err := a.Engine.Authenticate(t.Context(), "acme", key)
		switch {
		case errors.Is(err, verification.ErrUnauthenticated):
			return "refused"
		case err != nil || got.ClientID != "acme":
			t.Fatalf("authenticate = %+v, %v", got, err)
		}
		return "accepted"
	}
	account := acmeAccount()
	account.PreviousKeyHash = verification.HashAPIKey(previousKey)
	for _, tt := range []struct {
		when          string
		until         time.Time
		wait          time.Duration
		key, previous string
	}{
		{"without an end", time.Time{}, 1000 * time.Hour, "accepted", "accepted"},
		{"a moment before the end", a.Clock.Now().Add(1001 * time.Hour), time.Hour - time.Microsecond, "accepted", "accepted"},
		{"at the end", a.Clock.Now().Add(1001 * time.Hour), time.Second, "accepted", "refused"},
	} {
		account.PreviousUntil = tt.until
		a.save(account)
		a.Advance(tt.wait)
		if key, previous := status(accountKey), status(previousKey); key != tt.key || previous != tt.previous {
			t.Errorf("%s the key is %s and the previous one %s, want %s and %s", tt.when, key, previous, tt.key, tt.previous)
		}
	}
	account.PreviousKeyHash, account.PreviousUntil = [32]byte{}, time.Time{}
	a.save(account)
	a.Advance(time.Second)
	if key, previous := status(accountKey), status(previousKey); key != "accepted" || previous != "refused" {
		t.Errorf("without a previous key, the key is %s and the earlier one %s", key, previous)
	}
}
