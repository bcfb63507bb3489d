// Package memory stores everything in the memory of one process. It is a complete
// store and work queue, for a host without a database and for tests.
//
// No operation becomes slow with the number of runs: pages, filters and totals, at
// any time, cost a walk down a tree. Callers must not modify returned values.
package memory

import (
	"sync"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// Store is a verification.RunStore, WorkQueue, WorkflowStore, TenantStore,
// IdempotencyStore and DeliveryStore. It is safe for concurrent use.
//
// Locks are taken in the order tenantsMu, tenantData, deadlines, queue. The others
// are taken alone.
type Store struct {
	tenantsMu sync.RWMutex
	tenants   map[verification.TenantID]*tenantData

	deadlines  deadlines
	queue      queue
	workflows  workflows
	accounts   accounts
	keys       idempotencyKeys
	deliveries deliveries
}

var (
	_ verification.RunStore         = (*Store)(nil)
	_ verification.WorkQueue        = (*Store)(nil)
	_ verification.WorkflowStore    = (*Store)(nil)
	_ verification.TenantStore      = (*Store)(nil)
	_ verification.IdempotencyStore = (*Store)(nil)
	_ verification.DeliveryStore    = (*Store)(nil)
)

// New returns an empty store.
func New() *Store {
	return &Store{
		tenants:    map[verification.TenantID]*tenantData{},
		deadlines:  newDeadlines(),
		queue:      newQueue(),
		workflows:  workflows{tenants: map[verification.TenantID]*tenantWorkflows{}},
		accounts:   newAccounts(),
		keys:       newIdempotencyKeys(),
		deliveries: deliveries{tenants: map[verification.TenantID]*tenantDeliveries{}},
	}
}

// newTree returns a tree without locks of its own.
func newTree[T any](before func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})
}

// readPage reads one page of a tree, which may be nil, and its length.
func readPage[T, R any](tree *btree.BTreeG[T], q verification.PageQuery, convert func(T) R) verification.Page[R] {
	p := verification.Page[R]{PageQuery: q}
	if tree == nil {
		return p
	}
	p.Total = tree.Len()
	first, ok := tree.GetAt(q.Offset)
	if !ok || q.Limit < 1 {
		return p
	}
	p.Data = make([]R, 0, min(q.Limit, p.Total-q.Offset))
	tree.Ascend(first, func(item T) bool {
		p.Data = append(p.Data, convert(item))
		return len(p.Data) < cap(p.Data)
	})
	return p
}
