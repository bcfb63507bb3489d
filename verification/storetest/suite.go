// Package storetest tests that an implementation of the store ports of package
// verification keeps their promises:
//
//	func TestStore(t *testing.T) {
//		storetest.All(t, func(t *testing.T) store.Store { return openEmpty(t) })
//	}
//
// There is one suite for each port. [All] calls every suite except [Documents], whose port is not part of store.Store;
// [Some] calls the suites of the given ports.
//
// A suite consists of clauses. Each clause tests one promise of ports.go or rows.go on a store of its own. Pass each suite
// a function that returns an empty store and cleans up with t.Cleanup. All times that clauses save are in UTC, with a
// precision of microseconds.
package storetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// All tests every port of a store.Store, and the CopyStore if it is one.
func All(t *testing.T, fresh func(t *testing.T) store.Store) {
	t.Helper()
	Some(t, func(t *testing.T) Ports { return portsOf(fresh(t)) })
}

// Documents tests a DocumentStore, which needs a capacity of 100 MiB.
func Documents(t *testing.T, fresh func(t *testing.T) verification.DocumentStore) {
	t.Helper()
	run(t, documents(), func(t *testing.T) Ports { return Ports{DocumentStore: fresh(t)} })
}

// Some tests the given ports: it calls each suite whose ports are all given. The suites of
// the work queue, deliveries, the audit trail, measures, re-screening and the ledger of erasures also need the RunStore,
// whose appends fill them; the suite of re-screening also needs the WorkQueue and the RowStore, and the suite
// of the RunStore a WorkQueue and a WorkflowStore. The RowStore has the suites of tenants, idempotency keys and deliveries. The suite of the SetupStore
// needs the ports of what it saves. The suites of the RetentionStore and the CopyStore need all ports.
func Some(t *testing.T, fresh func(t *testing.T) Ports) {
	t.Helper()
	given := fresh(t)
	runnable := given.RunStore != nil
	ran := 0
	for _, suite := range []struct {
		name    string
		given   bool
		clauses []clause
	}{
		{"runs", runnable && given.WorkQueue != nil && given.WorkflowStore != nil, runs()},
		{"work", runnable && given.WorkQueue != nil, work()},
		{"workflows", given.WorkflowStore != nil, workflows()},
		{"tenants", given.RowStore != nil, tenants()},
		{"setups", given.SetupStore != nil && given.RowStore != nil && given.WorkflowStore != nil && given.AuditStore != nil, setups()},
		{"idempotency keys", given.RowStore != nil, idempotency()},
		{"documents", given.DocumentStore != nil, documents()},
		{"deliveries", runnable && given.RowStore != nil, deliveries()},
		{"audit trail", runnable && given.AuditStore != nil, audits()},
		{"measures", runnable && given.MeasureStore != nil, measures()},
		{"re-screening", runnable && given.WorkQueue != nil && given.RescreenStore != nil && given.RowStore != nil, rescreens()},
		{"retention", runnable && given.RetentionStore != nil && given.MeasureStore != nil && given.RowStore != nil, retention()},
		{"ledger of erasures", runnable && given.RowStore != nil, ledgers()},
		{"copies", given.CopyStore != nil, copies()},
	} {
		if suite.given {
			ran++
			t.Run(suite.name, func(t *testing.T) { run(t, suite.clauses, fresh) })
		}
	}
	if ran == 0 {
		t.Error("no suite has all the ports that it needs")
	}
}

// run runs each clause as a subtest.
func run(t *testing.T, clauses []clause, fresh func(t *testing.T) Ports) {
	t.Helper()
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(t.Context(), fresh(t)); err != nil {
				t.Errorf("%v\npromised by %s", err, c.promise)
			}
		})
	}
}

func runs() []clause {
	return slices.Concat(histories(), appends(), lists(), reviews(), searches(), rewrites(), deletions())
}

func work() []clause { return slices.Concat(queue(), turns(), leases()) }

// Ports are the ports that the clauses of a suite call; the others are nil.
type Ports struct {
	store.RunStore
	store.WorkQueue
	store.WorkflowStore
	store.SetupStore
	store.AuditStore
	verification.DocumentStore
	store.MeasureStore
	store.RescreenStore
	store.RetentionStore
	store.RowStore
	store.CopyStore
}

func portsOf(s store.Store) Ports {
	copied, _ := s.(store.CopyStore)
	return Ports{
		RunStore: s, WorkQueue: s, WorkflowStore: s, SetupStore: s, AuditStore: s,
		MeasureStore: s, RescreenStore: s, RetentionStore: s, RowStore: s, CopyStore: copied,
	}
}

// clause tests one promise of a store.
type clause struct {
	name    string // the promise, as a sentence
	promise string // where it is made: the method, and words of its comment
	check   func(*trial)
}

// run runs the clause on an empty store. The error says what was seen and what
// was wanted.
func (c clause) run(ctx context.Context, p Ports) error {
	t, done := &trial{ctx: ctx, store: p, tables: store.Tables{RowStore: p}}, make(chan struct{})
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
	ctx    context.Context
	store  Ports
	tables store.Tables // of store
	err    error
}

// failf ends the clause, as testing.T.Fatalf ends a test.
func (t *trial) failf(format string, args ...any) {
	t.err = fmt.Errorf(format, args...)
	runtime.Goexit()
}
