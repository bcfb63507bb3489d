// The clauses on tenants and accounts.

package storetest

import (
	"github.com/verifyd/verifyd/verification"
)

// Tenants are the clauses on tenants and the accounts that act for them.
func Tenants() []Clause {
	return []Clause{
		clause("a tenant comes back as it was saved",
			"TenantStore.SaveTenant: creates or replaces a tenant",
			tenantComesBack),
		clause("a tenant that was never saved is not found",
			"TenantStore.Tenant: or ErrNotFound",
			unknownTenant),
		clause("an account comes back as it was saved",
			"TenantStore.SaveAccount: creates or replaces an account",
			accountComesBack),
		clause("an account that was never saved is not found",
			"TenantStore.Account: or ErrNotFound",
			unknownAccount),
		clause("a client identifier stays with its tenant",
			"TenantStore.SaveAccount: ErrConflict when another tenant has that client identifier",
			clientStays),
	}
}

func tenant(id verification.TenantID) verification.Tenant {
	return verification.Tenant{
		ID: id, Name: prose, Colour: "#0b5c4a", WebhookSecret: "whsec_bm90IGEgc2VjcmV0", PreviousWebhookSecret: "whsec_b25lIGJlZm9yZQ==",
		RedirectAllowlist: []string{"https://z.example/done", "https://a.example"},
	}
}

func account(client string, of verification.TenantID) verification.Account {
	return verification.Account{
		ClientID: client, Tenant: of, KeyHash: verification.HashAPIKey("the key of " + client), Disabled: true,
		Surfaces: []verification.Surface{verification.SurfaceSignals, verification.SurfaceRuns},
	}
}

func (t *trial) saveTenant(v verification.Tenant) {
	if !t.over() {
		t.ok("SaveTenant", t.store.SaveTenant(t.ctx, v))
	}
}

func (t *trial) hasTenant(want verification.Tenant) {
	if !t.over() {
		got, err := t.store.Tenant(t.ctx, want.ID)
		t.ok("Tenant", err)
		same(t, "the tenant", got, want)
	}
}

func (t *trial) saveAccount(v verification.Account) {
	if !t.over() {
		t.ok("SaveAccount", t.store.SaveAccount(t.ctx, v))
	}
}

func (t *trial) hasAccount(want verification.Account) {
	if !t.over() {
		got, err := t.store.Account(t.ctx, want.ClientID)
		t.ok("Account", err)
		same(t, "the account", got, want)
	}
}

func tenantComesBack(t *trial) {
	a, b := tenant(ours), tenant(theirs)
	b.Name = "Theirs"
	t.saveTenant(a)
	t.saveTenant(b)
	t.hasTenant(a)
	t.hasTenant(b)
	a.Name, a.RedirectAllowlist, a.WebhookSecret = "Another", []string{"https://b.example"}, ""
	t.saveTenant(a)
	t.hasTenant(a)
	t.hasTenant(b)
}

func unknownTenant(t *trial) {
	t.saveTenant(tenant(ours))
	if !t.over() {
		_, err := t.store.Tenant(t.ctx, theirs)
		t.refused("Tenant(never saved)", err, verification.ErrNotFound)
	}
}

func accountComesBack(t *trial) {
	t.saveTenant(tenant(ours))
	t.saveTenant(tenant(theirs))
	a, b, c := account("client-a", ours), account("client-b", ours), account("client-c", theirs)
	for _, v := range []verification.Account{a, b, c} {
		t.saveAccount(v)
	}
	for _, v := range []verification.Account{a, b, c} {
		t.hasAccount(v)
	}
	a.KeyHash, a.Disabled, a.Surfaces = verification.HashAPIKey("another key"), false, verification.Surfaces()
	t.saveAccount(a)
	for _, v := range []verification.Account{a, b, c} {
		t.hasAccount(v)
	}
}

func unknownAccount(t *trial) {
	t.saveTenant(tenant(ours))
	t.saveAccount(account("client-a", ours))
	for _, client := range []string{"client-b", "client", "CLIENT-A", "client-a ", ""} {
		if t.over() {
			return
		}
		_, err := t.store.Account(t.ctx, client)
		t.refused("Account("+client+")", err, verification.ErrNotFound)
	}
}

func clientStays(t *trial) {
	t.saveTenant(tenant(ours))
	t.saveTenant(tenant(theirs))
	a := account("client-a", ours)
	t.saveAccount(a)
	if !t.over() {
		err := t.store.SaveAccount(t.ctx, account("client-a", theirs))
		t.refused("SaveAccount(with the client identifier of another tenant)", err, verification.ErrConflict)
	}
	t.hasAccount(a)
}
