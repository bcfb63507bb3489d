package storetest_test

import (
	"slices"
	"testing"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification/storetest"
)

// breach is a store that breaks one clause, and in which way.
type breach struct {
	clause string
	way    string
	store  func(storetest.Store) storetest.Store
}

func breaches() []breach {
	return slices.Concat(runBreaches(), appendBreaches(), listBreaches(), overdueBreaches(),
		workBreaches(), turnBreaches(), leaseBreaches(), workflowBreaches(), tenantBreaches(), idempotencyBreaches(), deliveryBreaches())
}

func TestEveryClauseCatchesItsBreach(t *testing.T) {
	for _, b := range breaches() {
		t.Run(b.clause+": "+b.way, func(t *testing.T) {
			for _, c := range storetest.Clauses() {
				if c.Name != b.clause {
					continue
				}
				if err := c.Check(t.Context(), memory.New()); err != nil {
					t.Fatalf("on a sound store: %v, want nil", err)
				}
				if err := c.Check(t.Context(), b.store(memory.New())); err == nil {
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
			t.Errorf("clause %q says nowhere where it is promised", c.Name)
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
			t.Errorf("no broken store tries the clause %q", name)
		}
	}
}

func TestRunTriesEveryClauseOnAStoreOfItsOwn(t *testing.T) {
	stores := map[storetest.Store]bool{}
	storetest.Run(t, func(*testing.T) storetest.Store {
		s := memory.New()
		stores[s] = true
		return s
	})
	if got, want := len(stores), len(storetest.Clauses()); got != want {
		t.Errorf("Run made %d stores, want %d", got, want)
	}
}
