// Package storetest tests that an implementation of the store ports of package
// verification keeps their promises. There is one suite for each port:
//
//	func TestTenants(t *testing.T) {
//		storetest.Tenants(t, func(t *testing.T) verification.TenantStore { return openEmpty(t) })
//	}
//
// [All] calls every suite except [Documents], whose port is not part of
// verification.Store.
//
// A suite consists of clauses. Each clause tests one promise of ports.go on a
// store of its own. Pass each suite a function that returns an empty store and
// cleans up with t.Cleanup. All times that clauses save are in UTC and have
// microseconds.
package storetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/verifyd/verifyd/verification"
)

// All tests every port of a verification.Store.
func All(t *testing.T, fresh func(t *testing.T) verification.Store) {
	t.Helper()
	for _, suite := range []struct {
		name    string
		clauses []clause
	}{
		{"runs", runs()},
		{"work", work()},
		{"workflows", workflows()},
		{"tenants", tenants()},
		{"idempotency keys", idempotency()},
		{"deliveries", deliveries()},
		{"reviews", reviews()},
		{"measures", measures()},
		{"re-screening", rescreens()},
	} {
		t.Run(suite.name, func(t *testing.T) {
			run(t, suite.clauses, func(t *testing.T) ports { return portsOf(fresh(t)) })
		})
	}
}

// Runs tests a RunStore together with the WorkQueue that its Append fills and the
// WorkflowStore whose revisions it checks.
func Runs(t *testing.T, fresh func(t *testing.T) (verification.RunStore, verification.WorkQueue, verification.WorkflowStore)) {
	t.Helper()
	run(t, runs(), func(t *testing.T) ports {
		s, q, w := fresh(t)
		return ports{RunStore: s, WorkQueue: q, WorkflowStore: w}
	})
}

// Work tests a WorkQueue together with the RunStore whose Append fills it.
func Work(t *testing.T, fresh func(t *testing.T) (verification.RunStore, verification.WorkQueue)) {
	t.Helper()
	run(t, work(), func(t *testing.T) ports { s, q := fresh(t); return ports{RunStore: s, WorkQueue: q} })
}

// Workflows tests a WorkflowStore.
func Workflows(t *testing.T, fresh func(t *testing.T) verification.WorkflowStore) {
	t.Helper()
	run(t, workflows(), func(t *testing.T) ports { return ports{WorkflowStore: fresh(t)} })
}

// Tenants tests a TenantStore.
func Tenants(t *testing.T, fresh func(t *testing.T) verification.TenantStore) {
	t.Helper()
	run(t, tenants(), func(t *testing.T) ports { return ports{TenantStore: fresh(t)} })
}

// Idempotency tests an IdempotencyStore.
func Idempotency(t *testing.T, fresh func(t *testing.T) verification.IdempotencyStore) {
	t.Helper()
	run(t, idempotency(), func(t *testing.T) ports { return ports{IdempotencyStore: fresh(t)} })
}

// Deliveries tests a DeliveryStore. The RunStore creates the runs whose
// deliveries are saved.
func Deliveries(t *testing.T, fresh func(t *testing.T) (verification.DeliveryStore, verification.RunStore)) {
	t.Helper()
	run(t, deliveries(), func(t *testing.T) ports { d, r := fresh(t); return ports{DeliveryStore: d, RunStore: r} })
}

// Reviews tests a ReviewQueue and a ClaimStore together with the RunStore whose Append
// fills the queue.
func Reviews(t *testing.T, fresh func(t *testing.T) (verification.ReviewQueue, verification.ClaimStore, verification.RunStore)) {
	t.Helper()
	run(t, reviews(), func(t *testing.T) ports {
		q, c, r := fresh(t)
		return ports{ReviewQueue: q, ClaimStore: c, RunStore: r}
	})
}

// Measures tests a MeasureStore together with the RunStore whose appends it adds up.
func Measures(t *testing.T, fresh func(t *testing.T) (verification.MeasureStore, verification.RunStore)) {
	t.Helper()
	run(t, measures(), func(t *testing.T) ports { m, r := fresh(t); return ports{MeasureStore: m, RunStore: r} })
}

// Rescreens tests a RescreenStore together with the RunStore whose Append fills it.
func Rescreens(t *testing.T, fresh func(t *testing.T) (verification.RescreenStore, verification.RunStore)) {
	t.Helper()
	run(t, rescreens(), func(t *testing.T) ports { s, r := fresh(t); return ports{RescreenStore: s, RunStore: r} })
}

// Documents tests a DocumentStore, which needs a capacity of 100 MiB.
func Documents(t *testing.T, fresh func(t *testing.T) verification.DocumentStore) {
	t.Helper()
	run(t, documents(), func(t *testing.T) ports { return ports{DocumentStore: fresh(t)} })
}

// run runs each clause as a subtest.
func run(t *testing.T, clauses []clause, fresh func(t *testing.T) ports) {
	t.Helper()
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) {
			if err := c.try(t.Context(), fresh(t)); err != nil {
				t.Errorf("%v\npromised by %s", err, c.promise)
			}
		})
	}
}

func runs() []clause { return slices.Concat(histories(), appends(), lists(), overdue()) }

func work() []clause { return slices.Concat(queue(), turns(), leases()) }

// ports are the ports that the clauses of a suite call; the others are nil.
type ports struct {
	verification.RunStore
	verification.WorkQueue
	verification.WorkflowStore
	verification.TenantStore
	verification.IdempotencyStore
	verification.DeliveryStore
	verification.DocumentStore
	verification.ReviewQueue
	verification.ClaimStore
	verification.MeasureStore
	verification.RescreenStore
}

func portsOf(s verification.Store) ports {
	return ports{
		RunStore: s, WorkQueue: s, WorkflowStore: s, TenantStore: s, IdempotencyStore: s, DeliveryStore: s,
		ReviewQueue: s, ClaimStore: s, MeasureStore: s, RescreenStore: s,
	}
}

// clause tests one promise of a store.
type clause struct {
	name    string // the promise, as a sentence
	promise string // where it is made: the method, and words of its comment
	check   func(*trial)
}

// try runs the clause on an empty store. The error says what was seen and what
// was wanted.
func (c clause) try(ctx context.Context, store ports) error {
	t, done := &trial{ctx: ctx, store: store}, make(chan struct{})
	go func() {
		defer close(done)
		c.check(t)
	}()
	<-done
	return t.err
}

// trial is one run of a clause. Its methods call the store and end the clause at
// the first wrong result. Only the goroutine of the clause may call them.
type trial struct {
	ctx   context.Context
	store ports
	err   error
}

// failf ends the clause, as testing.T.Fatalf ends a test.
func (t *trial) failf(format string, args ...any) {
	t.err = fmt.Errorf(format, args...)
	runtime.Goexit()
}
