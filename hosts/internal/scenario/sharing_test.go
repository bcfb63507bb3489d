// Tests of hosts that share a database: when the grace of a policy ends, and who changes a workflow.

package scenario_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// sharing opens a new database twice.
func sharing(t *testing.T) (stores [2]*postgres.Store) {
	t.Helper()
	url := pgtest.Database(t)
	for n := range stores {
		s, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 8})
		must(t, err)
		t.Cleanup(s.Close)
		stores[n] = s
	}
	return stores
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestHostsAgreeOnTheGraceOfAPolicy changes the policy of a tenant or of a workflow by one of two hosts, with a word to the engine or,
// as by a host that stops right after the change, without. Neither host then removes anything before the grace ends; after it, each
// run is redacted once.
func TestHostsAgreeOnTheGraceOfAPolicy(t *testing.T) {
	const day = 24 * time.Hour
	after := func(days int) verification.Retention {
		return verification.Retention{RedactAfterDays: days, From: verification.RetentionFromStart}
	}
	for name, c := range map[string]struct{ own, noted bool }{
		"a tenant's": {false, true}, "a workflow's": {true, true}, "a tenant's, without a word": {false, false}, "a workflow's, without a word": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			stores := sharing(t)
			var hosts [2]*enginetest.Kit
			for n := range hosts {
				hosts[n] = enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
					if p.Store = stores[n]; n > 0 {
						p.Clock, o.Passive = hosts[0].Clock, true
					}
				})
			}
			change := func(r verification.Retention) { // by the first host
				t.Helper()
				own, next := verification.Retention{}, engine.NextRetention{Tenant: r}
				if c.own {
					own, next = r, engine.NextRetention{Workflows: map[string]verification.Retention{"instant": r}}
				}
				changes, err := hosts[0].Engine.RetentionChanges(t.Context(), enginetest.Tenant, &next)
				must(t, err)
				must(t, stores[0].SaveTenant(t.Context(), verification.Tenant{ID: enginetest.Tenant, Name: "Test", Retention: next.Tenant}))
				hosts[0].Apply(workflow.Definition{
					Workflow: "instant", Name: "Instant", Start: "done", Retention: own,
					Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}},
				})
				if c.noted {
					must(t, hosts[0].Engine.NoteRetention(t.Context(), enginetest.Tenant, changes))
				}
			}
			pass := func(all ...*enginetest.Kit) {
				t.Helper()
				var both sync.WaitGroup
				for _, host := range all {
					both.Go(func() {
						for more, err := true, error(nil); more; {
							if more, err = host.Engine.Retain(t.Context()); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				both.Wait()
			}
			change(after(60))
			workflows, err := stores[0].Workflows(t.Context(), enginetest.Tenant, store.PageQuery{Limit: 1})
			must(t, err)
			var runs []verification.RunID
			for range 5 {
				runs = append(runs, hosts[0].Start(workflows.Data[0].ID, engine.StartRequest{ReferenceID: "person-1"}).ID)
			}
			pass(hosts[0], hosts[1])
			redactions := func() (n int) {
				t.Helper()
				for _, run := range runs {
					events, err := stores[1].Load(t.Context(), enginetest.Tenant, run, 0)
					must(t, err)
					for _, e := range events {
						if _, ok := e.Fact.(rules.Redacted); ok {
							n++
						}
					}
				}
				return n
			}
			hosts[0].Advance(10 * day)
			change(after(5))
			pass(hosts[1]) // it sees the change first, or what the first host has noted of it
			hosts[0].Advance(day - time.Second)
			pass(hosts[1])
			pass(hosts[0], hosts[1])
			if n := redactions(); n != 0 {
				t.Errorf("%d runs are redacted a second before the grace ends", n)
			}
			for _, host := range hosts {
				if counts, _, err := host.Engine.RetentionPlan(t.Context(), enginetest.Tenant); err != nil || len(counts) != 1 || counts[0].Runs != len(runs) ||
					!counts[0].From.Equal(enginetest.Began().Add(11*day)) {
					t.Errorf("the plan is %+v, %v, want %d runs redacted after 11 days", counts, err, len(runs))
				}
			}
			hosts[0].Advance(time.Second)
			for range 3 {
				pass(hosts[1], hosts[0])
			}
			if n := redactions(); n != len(runs) {
				t.Errorf("after the grace there are %d redactions of %d runs", n, len(runs))
			}
			entries, err := stores[1].AuditEntries(t.Context(), enginetest.Tenant, store.AuditQuery{Limit: store.MaxAuditLimit, Action: store.AuditRunRedacted})
			if err != nil || len(entries) != len(runs) {
				t.Errorf("the audit trail has %d redactions of %d runs, %v", len(entries), len(runs), err)
			}
		})
	}
}

// TestSetupsAndClientsOfOneWorkflowTakeTurns has setups of two hosts, which save a tenant and two workflows, and clients, which save
// one of these workflows, begin with the same revisions. One of them is saved whole, and the others are refused as a conflict.
func TestSetupsAndClientsOfOneWorkflowTakeTurns(t *testing.T) {
	const ours = enginetest.Tenant
	hosts := sharing(t)
	ids := []verification.WorkflowID{"c0000000-0000-7000-8000-000000000001", "c0000000-0000-7000-8000-000000000002"}
	must(t, hosts[0].SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "before"}))
	now := make([]workflow.Workflow, len(ids))
	for i, id := range ids {
		now[i] = workflow.Workflow{ID: id, Slug: fmt.Sprint("w", i), Name: "before", Revision: 1, CreatedAt: enginetest.Began()}
		must(t, hosts[0].SaveWorkflow(t.Context(), ours, now[i], nil))
	}
	next := func(i int, name string) workflow.Workflow {
		w := now[i]
		w.Name, w.Revision = name, w.Revision+1
		return w
	}
	for round := range 20 {
		errs := map[string]*error{}
		var all sync.WaitGroup
		begin := make(chan struct{})
		for n := range 6 {
			name, err := fmt.Sprintf("file %d of round %d", n, round), new(error)
			if n%2 > 0 {
				name = fmt.Sprintf("client %d of round %d", n, round)
			}
			errs[name] = err
			host := hosts[n/2%2]
			changes := []store.WorkflowChange{{Tenant: ours, Workflow: next(0, name)}, {Tenant: ours, Workflow: next(1, name)}}
			all.Go(func() {
				<-begin
				if n%2 > 0 {
					*err = host.SaveWorkflow(t.Context(), ours, changes[1].Workflow, nil)
					return
				}
				*err = host.SaveSetup(t.Context(), store.Setup{Tenants: []verification.Tenant{{ID: ours, Name: name}}, Workflows: changes})
			})
		}
		close(begin)
		all.Wait()
		var saved []string
		for name, err := range errs {
			if *err == nil {
				saved = append(saved, name)
			} else if !errors.Is(*err, verification.ErrConflict) {
				t.Errorf("%s: %v, want a conflict", name, *err)
			}
		}
		if len(saved) != 1 {
			t.Fatalf("saved are %q, want one", saved)
		}
		of, err := hosts[1].Tenant(t.Context(), ours)
		must(t, err)
		got := []string{of.Name}
		for i, id := range ids {
			now[i], err = hosts[1].Workflow(t.Context(), ours, id)
			must(t, err)
			got = append(got, now[i].Name)
		}
		if got[2] != saved[0] || got[0] != got[1] || (got[0] == got[2]) != (saved[0][:4] == "file") {
			t.Errorf("saved is %s, and the tenant and its workflows are of %q", saved[0], got)
		}
	}
}
