// The clauses on tenants and accounts.

package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func tenants() []clause {
	return []clause{
		{"a tenant is returned as it was saved", "Tables.SaveTenant: creates or replaces a tenant", tenantIsReturned},
		{"a tenant whose id is no UUID is refused", "Tables.SaveTenant: ErrInvalid if ValidateTenantID refuses the id", tenantWithoutUUID},
		{"a logo is returned with its content", "Tables.Logo: returns the logo of a tenant with its content", logoIsReturned},
		{"a logo without content keeps the stored content", "Tables.SaveTenant: the stored content stays", logoIsKept},
		{"a missing logo is not found", "Tables.Logo: ErrNotFound if there is no such tenant, or it has no logo", missingLogo},
		{"an unknown tenant is not found", "Tables.Tenant: or ErrNotFound", unknownTenant},
		{"an account is returned as it was saved", "Tables.SaveAccount: creates or replaces an account", accountIsReturned},
		{"an unknown account is not found", "Tables.Account: or ErrNotFound", unknownAccount},
		{"tenants and accounts are listed in order", "Tables: in the order of their ids, in the order of their client ids", tenantsInOrder},
		{"a client id belongs to one tenant", "Tables.SaveAccount: returns ErrConflict if another tenant has that client id", clientOfOneTenant},
	}
}

func tenant(id verification.TenantID) verification.Tenant {
	return verification.Tenant{
		ID: id, Name: oddText, Zone: "Asia/Kolkata", Colour: "#0b5c4a", WebhookSecret: "whsec_bm90IGEgc2VjcmV0", PreviousWebhookSecret: "whsec_b25lIGJlZm9yZQ==",
		RedirectAllowlist: []string{"https://z.example/done", "https://a.example"},
		Logo:              verification.NewLogo("image/png", []byte("\x89PNG\r\n\x00\xff"+id)),
		Links:             verification.PageLinks{Privacy: "https://a.example/privacy", Help: "https://a.example/help", Legal: "https://a.example/legal", Phone: "+91 98765 43210"},
		Retention:         aRetention(),
	}
}

// aRetention returns a policy with every field set.
func aRetention() verification.Retention {
	return verification.Retention{KeepDays: 1, DocumentsAfterDays: 2, RedactAfterDays: 3, DeleteAfterDays: 4, From: verification.RetentionFromStart}
}

func account(client string, of verification.TenantID) verification.Account {
	return verification.Account{
		ClientID: client, Tenant: of, KeyHash: verification.HashAPIKey("the key of " + client), Disabled: true,
		PreviousKeyHash: verification.HashAPIKey("an earlier key of " + client), PreviousUntil: instant(tick),
		Surfaces: []verification.Surface{verification.SurfaceSignals, verification.SurfaceRuns}, FromFile: true,
	}
}

func (t *trial) saveTenant(v verification.Tenant) {
	t.ok("SaveTenant", t.tables.SaveTenant(t.ctx, v))
}

func (t *trial) hasTenant(want verification.Tenant) {
	got, err := t.tables.Tenant(t.ctx, want.ID)
	t.ok("Tenant", err)
	want.Logo.Content = nil
	same(t, "the tenant", got, want)
}

func (t *trial) saveAccount(v verification.Account) {
	t.ok("SaveAccount", t.tables.SaveAccount(t.ctx, v))
}

func (t *trial) hasAccount(want verification.Account) {
	got, err := t.tables.Account(t.ctx, want.ClientID)
	t.ok("Account", err)
	same(t, "the account", got, want)
}

func tenantIsReturned(t *trial) {
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

func tenantWithoutUUID(t *trial) {
	for _, id := range []verification.TenantID{"acme", "", "A0000000-0000-7000-8000-00000000000A"} {
		t.refused("SaveTenant("+string(id)+")", t.tables.SaveTenant(t.ctx, verification.Tenant{ID: id, Name: "Acme"}), verification.ErrInvalid)
	}
}

func (t *trial) hasLogo(id verification.TenantID, want verification.Logo) {
	got, err := t.tables.Logo(t.ctx, id)
	t.ok("Logo", err)
	same(t, "the logo", got, want)
}

func logoIsReturned(t *trial) {
	a, b := tenant(ours), tenant(theirs)
	t.saveTenant(a)
	t.saveTenant(b)
	t.hasLogo(ours, a.Logo)
	t.hasLogo(theirs, b.Logo)
	a.Logo = verification.NewLogo("image/jpeg", []byte("another"))
	t.saveTenant(a)
	t.hasLogo(ours, a.Logo)
	t.hasLogo(theirs, b.Logo)
}

func logoIsKept(t *trial) {
	a := tenant(ours)
	t.saveTenant(a)
	changed := a
	changed.Name, changed.Logo.Content = "Another", nil
	t.saveTenant(changed)
	t.hasTenant(changed)
	t.hasLogo(ours, a.Logo)
}

func missingLogo(t *trial) {
	a := tenant(ours)
	t.saveTenant(a)
	_, err := t.tables.Logo(t.ctx, theirs)
	t.refused("Logo(an unknown tenant)", err, verification.ErrNotFound)
	a.Logo = verification.Logo{}
	t.saveTenant(a)
	t.hasTenant(a)
	_, err = t.tables.Logo(t.ctx, ours)
	t.refused("Logo(a tenant without one)", err, verification.ErrNotFound)
}

func unknownTenant(t *trial) {
	t.saveTenant(tenant(ours))
	_, err := t.tables.Tenant(t.ctx, theirs)
	t.refused("Tenant(an unknown one)", err, verification.ErrNotFound)
}

func accountIsReturned(t *trial) {
	t.saveTenant(tenant(ours))
	t.saveTenant(tenant(theirs))
	a, b, c := account("client-a", ours), account("client-b", ours), account("client-c", theirs)
	for _, v := range []verification.Account{a, b, c} {
		t.saveAccount(v)
	}
	for _, v := range []verification.Account{a, b, c} {
		t.hasAccount(v)
	}
	a.KeyHash, a.Disabled, a.Surfaces, a.FromFile = verification.HashAPIKey("another key"), false, verification.Surfaces(), false
	a.PreviousKeyHash, a.PreviousUntil = [32]byte{}, time.Time{}
	t.saveAccount(a)
	for _, v := range []verification.Account{a, b, c} {
		t.hasAccount(v)
	}
}

func tenantsInOrder(t *trial) {
	none, err := t.tables.Accounts(t.ctx, ours)
	t.ok("Accounts(an unknown tenant)", err)
	same(t, "the number of accounts of an unknown tenant", len(none), 0)
	var want []verification.Tenant
	for _, id := range []verification.TenantID{theirs, ours} {
		saved := tenant(id)
		t.saveTenant(saved)
		saved.Logo.Content = nil
		want = append(want, saved)
	}
	slices.SortFunc(want, func(a, b verification.Tenant) int { return cmp.Compare(a.ID, b.ID) })
	listed, err := t.tables.Tenants(t.ctx)
	t.ok("Tenants", err)
	same(t, "the tenants", listed, want)
	b, c, a := account("client-b", ours), account("client-c", theirs), account("Client-a", ours)
	b.FromFile = false
	for _, v := range []verification.Account{b, c, a} {
		t.saveAccount(v)
	}
	of, err := t.tables.Accounts(t.ctx, ours)
	t.ok("Accounts", err)
	same(t, "the accounts", of, []verification.Account{a, b})
}

func unknownAccount(t *trial) {
	t.saveTenant(tenant(ours))
	t.saveAccount(account("client-a", ours))
	for _, client := range []string{"client-b", "client", "CLIENT-A", "client-a ", ""} {
		_, err := t.tables.Account(t.ctx, client)
		t.refused("Account("+client+")", err, verification.ErrNotFound)
	}
}

func clientOfOneTenant(t *trial) {
	t.saveTenant(tenant(ours))
	t.saveTenant(tenant(theirs))
	a := account("client-a", ours)
	t.saveAccount(a)
	err := t.tables.SaveAccount(t.ctx, account("client-a", theirs))
	t.refused("SaveAccount(with the client id of another tenant)", err, verification.ErrConflict)
	t.hasAccount(a)
}
