package storetest_test

import (
	"slices"
	"testing"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/storetest"
)

// breach is a store that breaks one clause, and in which way.
type breach struct {
	clause string
	way    string
	change breakage
}

func breaches() []breach {
	return slices.Concat(runBreaches(), appendBreaches(), listBreaches(), searchBreaches(), workBreaches(), turnBreaches(), leaseBreaches(),
		workflowBreaches(), tenantBreaches(), setupBreaches(), idempotencyBreaches(), deliveryBreaches(), reviewBreaches(), measureBreaches(),
		rescreenBreaches(), copyBreaches(), documentBreaches(), rewriteBreaches(), deletionBreaches(), retentionBreaches(), ledgerBreaches(), auditBreaches())
}

func TestEveryClauseCatchesItsBreach(t *testing.T) {
	for _, b := range breaches() {
		t.Run(b.clause+": "+b.way, func(t *testing.T) {
			for _, c := range storetest.Clauses() {
				if c.Name != b.clause {
					continue
				}
				sound := working()
				if err := c.Check(t.Context(), sound, sound); err != nil {
					t.Fatalf("on a working store: %v, want nil", err)
				}
				broken := working().broken(b.change)
				if err := c.Check(t.Context(), broken, broken); err == nil {
					t.Errorf("on a store where %s: nil, want an error", b.way)
				} else {
					t.Log(err)
				}
			}
		})
	}
}

func TestEveryClauseHasABreach(t *testing.T) {
	var clauses, broken []string
	for _, c := range storetest.Clauses() {
		if slices.Contains(clauses, c.Name) {
			t.Errorf("two clauses have the name %q", c.Name)
		}
		if c.Promise == "" {
			t.Errorf("clause %q does not say where it is promised", c.Name)
		}
		clauses = append(clauses, c.Name)
	}
	for _, b := range breaches() {
		broken = append(broken, b.clause)
		if !slices.Contains(clauses, b.clause) {
			t.Errorf("there is a breach of %q, which is no clause", b.clause)
		}
	}
	for _, name := range clauses {
		if !slices.Contains(broken, name) {
			t.Errorf("no broken store tests the clause %q", name)
		}
	}
}

// TestEverySuiteRunsAlone runs each suite with only its own ports.
func TestEverySuiteRunsAlone(t *testing.T) {
	made, surveys := map[any]bool{}, 0
	fresh := func() store.Store {
		s := memory.New()
		made[s] = true
		return s
	}
	for suite, of := range map[string]func(store.Store) storetest.Ports{
		"runs": func(s store.Store) storetest.Ports {
			return storetest.Ports{RunStore: s, WorkQueue: s, WorkflowStore: s, RescreenStore: s}
		},
		"rows":        func(s store.Store) storetest.Ports { return storetest.Ports{RowStore: s, RunStore: s} },
		"audit trail": func(s store.Store) storetest.Ports { return storetest.Ports{AuditStore: s, RunStore: s} },
		"measures":    func(s store.Store) storetest.Ports { return storetest.Ports{MeasureStore: s, RunStore: s} },
	} {
		t.Run(suite, func(t *testing.T) {
			storetest.Some(t, func(*testing.T) storetest.Ports { return of(fresh()) })
		})
		surveys++ // Some makes a store to see which ports there are
	}
	stores := len(made) - surveys
	t.Run("all", func(t *testing.T) { storetest.All(t, func(*testing.T) store.Store { return fresh() }) })
	inAll := len(made) - surveys - 1 - stores
	if inAll <= stores {
		t.Errorf("All made %d stores, want one for each of %d clauses, and for those on copies, which need all ports", inAll, stores)
	}
	t.Run("documents", func(t *testing.T) {
		storetest.Documents(t, func(*testing.T) verification.DocumentStore {
			s := working().DocumentStore
			made[s] = true
			return s
		})
	})
	if got, want := len(made)-surveys-1-stores-inAll, len(storetest.Clauses())-inAll; got != want {
		t.Errorf("Documents made %d stores, want %d, one for each clause", got, want)
	}
}
