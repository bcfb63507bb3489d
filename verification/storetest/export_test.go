package storetest

import (
	"context"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Clause is a clause of any suite.
type Clause struct {
	Name, Promise string
	Check         func(ctx context.Context, s store.Store, d verification.DocumentStore) error
}

// Clauses returns the clauses of every suite.
func Clauses() []Clause {
	var all []Clause
	for _, c := range slices.Concat(runs(), work(), workflows(), tenants(), setups(), idempotency(), deliveries(), audits(), measures(), rescreens(), retention(), ledgers(), copies(), documents()) {
		all = append(all, Clause{c.name, c.promise, func(ctx context.Context, s store.Store, d verification.DocumentStore) error {
			p := portsOf(s)
			p.DocumentStore = d
			return c.run(ctx, p)
		}})
	}
	return all
}
