package storetest_test

import (
	"slices"
	"testing"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

// breach is a store that breaks one clause, and in which way.
type breach struct {
	clause string
	way    string
	change breakage
}

func breaches() []breach {
	return slices.Concat(runBreaches(), appendBreaches(), listBreaches(), overdueBreaches(), workBreaches(), turnBreaches(), leaseBreaches(),
		workflowBreaches(), tenantBreaches(), idempotencyBreaches(), deliveryBreaches(), reviewBreaches(), measureBreaches(),
		rescreenBreaches(), documentBreaches())
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
	made := map[any]bool{}
	fresh := func() verification.Store {
		s := memory.New()
		made[s] = true
		return s
	}
	runStore := func(*testing.T) (verification.RunStore, verification.WorkQueue) { s := fresh(); return s, s }
	t.Run("runs", func(t *testing.T) {
		storetest.Runs(t, func(*testing.T) (verification.RunStore, verification.WorkQueue, verification.WorkflowStore) {
			s := fresh()
			return s, s, s
		})
	})
	t.Run("work", func(t *testing.T) { storetest.Work(t, runStore) })
	t.Run("workflows", func(t *testing.T) {
		storetest.Workflows(t, func(*testing.T) verification.WorkflowStore { return fresh() })
	})
	t.Run("tenants", func(t *testing.T) {
		storetest.Tenants(t, func(*testing.T) verification.TenantStore { return fresh() })
	})
	t.Run("idempotency", func(t *testing.T) {
		storetest.Idempotency(t, func(*testing.T) verification.IdempotencyStore { return fresh() })
	})
	t.Run("deliveries", func(t *testing.T) {
		storetest.Deliveries(t, func(*testing.T) (verification.DeliveryStore, verification.RunStore) { s := fresh(); return s, s })
	})
	t.Run("reviews", func(t *testing.T) {
		storetest.Reviews(t, func(*testing.T) (verification.ReviewQueue, verification.ClaimStore, verification.RunStore) {
			s := fresh()
			return s, s, s
		})
	})
	t.Run("measures", func(t *testing.T) {
		storetest.Measures(t, func(*testing.T) (verification.MeasureStore, verification.RunStore) { s := fresh(); return s, s })
	})
	t.Run("re-screening", func(t *testing.T) {
		storetest.Rescreens(t, func(*testing.T) (verification.RescreenStore, verification.RunStore) { s := fresh(); return s, s })
	})
	stores := len(made)
	t.Run("all", func(t *testing.T) { storetest.All(t, func(*testing.T) verification.Store { return fresh() }) })
	if got := len(made) - stores; got != stores {
		t.Errorf("All made %d stores, want %d, one for each clause", got, stores)
	}
	t.Run("documents", func(t *testing.T) {
		storetest.Documents(t, func(*testing.T) verification.DocumentStore {
			s := working().DocumentStore
			made[s] = true
			return s
		})
	})
	if got, want := len(made)-2*stores, len(storetest.Clauses())-stores; got != want {
		t.Errorf("Documents made %d stores, want %d, one for each clause", got, want)
	}
}
