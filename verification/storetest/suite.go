// Package storetest is the contract of the store ports, for whoever writes an
// adapter: a store is a store when it passes.
//
// In a test of the adapter:
//
//	func TestStoreKeepsTheContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Store { return openEmpty(t) })
//	}
//
// A clause is one promise of package verification's ports.go, with a check that
// tells what it saw and what it wanted. Clauses give and expect moments in UTC,
// whole microseconds.
package storetest

import (
	"context"
	"slices"
	"testing"

	"github.com/verifyd/verifyd/verification"
)

// Store is everything that the clauses try: the six ports over one set of
// data.
type Store interface { //nolint:interfacebloat // the ports are small; this is all of them
	verification.RunStore
	verification.WorkQueue
	verification.WorkflowStore
	verification.TenantStore
	verification.IdempotencyStore
	verification.DeliveryStore
}

// Clause is one promise of a store.
type Clause struct {
	// Name is what holds, as a sentence.
	Name string
	// Promise is where it is promised: the method, and the gist of its words.
	Promise string
	// Check tries the promise on an empty store. It returns what was seen and
	// what was wanted, or nil.
	Check func(ctx context.Context, s Store) error
}

// Clauses lists the whole contract.
func Clauses() []Clause {
	return slices.Concat(Runs(), Appends(), Lists(), Overdue(), Work(), Turns(), Leases(), Workflows(), Tenants(), Idempotency(), Deliveries())
}

// Run tries every clause as a subtest, each on a store of its own. fresh makes
// an empty store and cleans up through its t.
func Run(t *testing.T, fresh func(t *testing.T) Store) {
	t.Helper()
	subjects := []struct {
		name    string
		clauses []Clause
	}{
		{"runs", Runs()},
		{"appends", Appends()},
		{"lists", Lists()},
		{"overdue", Overdue()},
		{"work", Work()},
		{"turns", Turns()},
		{"leases", Leases()},
		{"workflows", Workflows()},
		{"tenants", Tenants()},
		{"idempotency keys", Idempotency()},
		{"deliveries", Deliveries()},
	}
	for _, subject := range subjects {
		t.Run(subject.name, func(t *testing.T) {
			for _, c := range subject.clauses {
				t.Run(c.Name, func(t *testing.T) {
					if err := c.Check(t.Context(), fresh(t)); err != nil {
						t.Errorf("%v\npromised by %s", err, c.Promise)
					}
				})
			}
		})
	}
}
