// The clauses on what a bootstrap file changes.

package storetest

import (
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

func setups() []clause {
	const saves = "SetupStore.SaveSetup: saves tenants, accounts, workflows and audit entries "
	return []clause{
		{"a setup is saved with all that it has", saves + "as SaveTenant, SaveAccount, SaveWorkflow and AppendAudit do", setupIsSaved},
		{"a refused setup changes nothing", saves + "all or nothing; returns the first of their errors", refusedSetup},
		{"a dry run of a setup changes nothing", "SetupStore.SaveSetup: with s.DryRun it saves nothing", drySetup},
		{"a setup with a cancelled context changes nothing", saves + "all or nothing", cancelledSetup},
	}
}

// aSetup returns a setup with every field set but DryRun.
func aSetup() store.Setup {
	w, v := aWorkflow(1), version(1)
	return store.Setup{
		Tenants:   []verification.Tenant{tenant(theirs), tenant(ours)},
		Accounts:  []verification.Account{account("client-b", theirs), account("client-a", ours)},
		Workflows: []store.WorkflowChange{{Tenant: theirs, Workflow: aWorkflow(2)}, {Tenant: ours, Workflow: w, Added: &v}},
		Audit:     []store.AuditEntry{entry(theirs, 2), entry(ours, 1)},
		File:      store.AppliedFile{Hash: "a hash", Names: `{"tenants": {}}`},
	}
}

// hasSetup ends the clause unless the store has all of aSetup, or nothing of it.
func (t *trial) hasSetup(all bool) {
	s := aSetup()
	if !all {
		for _, of := range s.Tenants {
			_, err := t.tables.Tenant(t.ctx, of.ID)
			t.refused("Tenant", err, verification.ErrNotFound)
			t.audited(of.ID, store.AuditQuery{})
		}
		for _, a := range s.Accounts {
			_, err := t.tables.Account(t.ctx, a.ClientID)
			t.refused("Account", err, verification.ErrNotFound)
		}
		for _, c := range s.Workflows {
			_, err := t.store.Workflow(t.ctx, c.Tenant, c.Workflow.ID)
			t.refused("Workflow", err, verification.ErrNotFound)
		}
		_, err := t.store.Version(t.ctx, ours, workflowID(1), version(1).Hash)
		t.refused("Version", err, verification.ErrNotFound)
		return
	}
	for i, of := range s.Tenants {
		t.hasTenant(of)
		t.hasLogo(of.ID, of.Logo)
		t.audited(of.ID, store.AuditQuery{}, s.Audit[i])
		t.hasAccount(s.Accounts[i])
		got, err := t.store.Workflow(t.ctx, of.ID, s.Workflows[i].Workflow.ID)
		t.ok("Workflow", err)
		same(t, "the workflow", got, s.Workflows[i].Workflow)
	}
	got, err := t.store.Version(t.ctx, ours, workflowID(1), version(1).Hash)
	t.ok("Version", err)
	same(t, "the version", got, version(1))
}

func setupIsSaved(t *trial) {
	t.ok("SaveSetup(of nothing)", t.store.SaveSetup(t.ctx, store.Setup{}))
	t.ok("SaveSetup", t.store.SaveSetup(t.ctx, aSetup()))
	t.hasSetup(true)
	next := aSetup().Workflows[1]
	next.Workflow.Revision, next.Workflow.Name = 2, "Another"
	renamed := tenant(ours)
	renamed.Name = "Another"
	t.ok("SaveSetup(of changes)", t.store.SaveSetup(t.ctx, store.Setup{
		Tenants: []verification.Tenant{renamed}, Workflows: []store.WorkflowChange{{Tenant: ours, Workflow: next.Workflow}},
	}))
	t.hasTenant(renamed)
	got, err := t.store.Workflow(t.ctx, ours, next.Workflow.ID)
	t.ok("Workflow", err)
	same(t, "the workflow", got, next.Workflow)
}

func refusedSetup(t *trial) {
	other := verification.TenantID("a0000000-0000-7000-8000-00000000000f")
	t.saveTenant(tenant(other))
	t.saveAccount(account("client-z", other))
	t.saveWorkflow(ours, aWorkflow(3), nil)
	for _, dry := range []bool{false, true} {
		for name, r := range map[string]struct {
			change func(*store.Setup)
			want   error
		}{
			"a tenant without a UUID":      {func(s *store.Setup) { s.Tenants = append(s.Tenants, verification.Tenant{ID: "acme"}) }, verification.ErrInvalid},
			"the client of another tenant": {func(s *store.Setup) { s.Accounts = append(s.Accounts, account("client-z", ours)) }, verification.ErrConflict},
			"an older revision": {func(s *store.Setup) {
				s.Workflows = append(s.Workflows, store.WorkflowChange{Tenant: ours, Workflow: aWorkflow(3)})
			}, verification.ErrConflict},
			"a revision too far": {func(s *store.Setup) {
				far := aWorkflow(4)
				far.Revision = 2
				s.Workflows = append(s.Workflows, store.WorkflowChange{Tenant: ours, Workflow: far})
			}, verification.ErrConflict},
		} {
			s := aSetup()
			s.DryRun = dry
			r.change(&s)
			t.refused("SaveSetup with "+name, t.store.SaveSetup(t.ctx, s), r.want)
			t.hasSetup(false)
		}
	}
	t.hasAccount(account("client-z", other))
}

func drySetup(t *trial) {
	s := aSetup()
	s.DryRun = true
	t.ok("SaveSetup with DryRun", t.store.SaveSetup(t.ctx, s))
	t.hasSetup(false)
}

func cancelledSetup(t *trial) {
	if t.store.SaveSetup(cancelled(t.ctx), aSetup()) == nil {
		t.failf("SaveSetup with a cancelled context succeeded, want an error")
	}
	t.hasSetup(false)
}
