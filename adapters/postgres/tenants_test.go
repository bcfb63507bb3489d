package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestTenantsAreListedById(t *testing.T) {
	s := fresh(t)
	if got, err := s.Tenants(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("Tenants() of an empty store = %v, %v, want none", got, err)
	}
	want := []verification.Tenant{
		{ID: tenantNumber(1), Name: "One", RedirectAllowlist: []string{`https://a.example/"x",{y}`, "https://b.example"}},
		{ID: tenantNumber(2), Name: "Two", WebhookSecret: "whsec_bm90IGEgc2VjcmV0", Colour: "#0b5c4a"},
		{ID: tenantNumber(3), Name: "Three", PreviousWebhookSecret: "whsec_b25lIGJlZm9yZQ=="},
	}
	for _, n := range []int{1, 2, 0} {
		must(t, s.SaveTenant(t.Context(), want[n]))
	}
	got, err := s.Tenants(t.Context())
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Tenants() differs (-want +got):\n%s", diff)
	}
}

func TestAccountsOfATenantAreListedByClientIdentifier(t *testing.T) {
	s := fresh(t)
	want := []verification.Account{
		{ClientID: "Client", Tenant: tenantNumber(1), KeyHash: verification.HashAPIKey("a"), Surfaces: verification.Surfaces()},
		{ClientID: "a-client", Tenant: tenantNumber(1), KeyHash: verification.HashAPIKey("b"), Disabled: true},
		{ClientID: "z", Tenant: tenantNumber(1)},
	}
	other := verification.Account{ClientID: "m", Tenant: tenantNumber(2)}
	for _, a := range append(slices.Clone(want), other) {
		must(t, s.SaveAccount(t.Context(), a))
	}
	got, err := s.Accounts(t.Context(), tenantNumber(1))
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Accounts() differs (-want +got):\n%s", diff)
	}
	for _, none := range []verification.TenantID{tenantNumber(3), "no UUID"} {
		if got, err := s.Accounts(t.Context(), none); err != nil || len(got) != 0 {
			t.Errorf("Accounts(%s) = %v, %v, want none", none, got, err)
		}
	}
}

func TestAClientIdentifierGoesToOneOfManyTenants(t *testing.T) {
	s := fresh(t)
	for round := range 5 {
		client := fmt.Sprintf("client-%d", round)
		const meeting = 8
		errs := make([]error, meeting)
		var together sync.WaitGroup
		for n := range meeting {
			together.Go(func() {
				errs[n] = s.SaveAccount(t.Context(), verification.Account{ClientID: client, Tenant: tenantNumber(n + 1)})
			})
		}
		together.Wait()
		kept, err := s.Account(t.Context(), client)
		must(t, err)
		for n, err := range errs {
			switch mine := kept.Tenant == tenantNumber(n+1); {
			case mine && err != nil:
				t.Errorf("SaveAccount of the tenant that has %s now: %v", client, err)
			case !mine && !errors.Is(err, verification.ErrConflict):
				t.Errorf("SaveAccount of another tenant = %v, want a conflict", err)
			}
		}
	}
}

func TestAnUnstorableClientIdentifierIsNotFound(t *testing.T) {
	s := fresh(t)
	must(t, s.SaveAccount(t.Context(), verification.Account{ClientID: "a\uFFFDb", Tenant: tenantNumber(1)}))
	for _, client := range []string{"a\xffb", "a\x00b"} {
		if _, err := s.Account(t.Context(), client); !errors.Is(err, verification.ErrNotFound) {
			t.Errorf("Account(%q): %v, want not found", client, err)
		}
	}
}

func TestUnstorableTextsAreInvalid(t *testing.T) {
	s := fresh(t)
	for _, bad := range []string{"a\x00b", "a\xffb"} {
		for call, err := range map[string]error{
			"SaveTenant":        s.SaveTenant(t.Context(), verification.Tenant{ID: tenantNumber(1), Name: bad}),
			"SaveTenant (list)": s.SaveTenant(t.Context(), verification.Tenant{ID: tenantNumber(1), RedirectAllowlist: []string{bad}}),
			"SaveAccount":       s.SaveAccount(t.Context(), verification.Account{ClientID: bad, Tenant: tenantNumber(1)}),
			"SaveWorkflow":      s.SaveWorkflow(t.Context(), tenantNumber(1), workflow.Workflow{ID: flow, Name: bad, Revision: 1}, nil),
			"SaveDelivery":      s.SaveDelivery(t.Context(), tenantNumber(1), rules.Delivery{Run: runNumber(1), URL: bad}),
			"ClaimKey":          claimError(t, s, bad),
		} {
			var expected *verification.Error
			if !errors.Is(err, verification.ErrInvalid) || !errors.As(err, &expected) {
				t.Errorf("%s of %q: %v, want invalid", call, bad, err)
			}
		}
	}
	if all, err := s.Tenants(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("Tenants() = %v, %v, want none", all, err)
	}
}

func claimError(t *testing.T, s *postgres.Store, key string) error {
	t.Helper()
	_, err := s.ClaimIdempotencyKey(t.Context(), tenantNumber(1), startRecord(key, runNumber(1), noon()))
	return err
}

func TestAnUnknownClientSelectsOneRowLikeAKnownOne(t *testing.T) {
	s := fresh(t)
	must(t, s.SaveAccount(t.Context(), verification.Account{ClientID: "known", Tenant: ours}))
	for _, client := range []string{"known", "unknown"} {
		must(t, named(t, s, "all", func(ctx context.Context, tx pgx.Tx) error {
			rows, err := tx.Query(ctx, postgres.SelectAccount, client)
			must(t, err)
			all, err := pgx.CollectRows(rows, pgx.RowToMap)
			if len(all) != 1 {
				t.Errorf("the %s client is answered with %d rows, want 1", client, len(all))
			}
			return err
		}))
	}
}

func TestHostsSeeAChangedAccountInASecond(t *testing.T) {
	url := pgtest.Database(t)
	const key = "a key of at least twenty characters"
	a := verification.Account{ClientID: "acme", Tenant: ours, KeyHash: verification.HashAPIKey(key)}
	var stores [2]*postgres.Store
	var kits [2]*enginetest.Kit
	for n := range stores {
		stores[n] = openAt(t, url, postgres.Options{})
		kits[n] = enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Store = stores[n] })
	}
	disabled := func(host int) bool {
		t.Helper()
		got, err := kits[host].Engine.Authenticate(t.Context(), "acme", key)
		must(t, err)
		return got.Disabled
	}
	must(t, stores[0].SaveAccount(t.Context(), a))
	if disabled(0) || disabled(1) {
		t.Error("the account is disabled from the start")
	}
	a.Disabled = true
	must(t, stores[0].SaveAccount(t.Context(), a))
	for host, kit := range kits {
		kit.Advance(time.Second)
		if !disabled(host) {
			t.Errorf("host %d does not see after a second that the account is disabled", host)
		}
	}
}
