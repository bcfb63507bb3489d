// Package memstore is the store in memory with what a journal needs beside the ports: the state of each piece of work,
// whole runs, and dumps. A caller of these functions can corrupt a store.
package memstore

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Store is a store.Store. It is safe for concurrent use.
type Store struct {
	store.Tables // over the Store itself

	// The lock of a tenantData is taken before those of queue, rescreens, deliveries, audit and ledger; the
	// others are taken alone.

	runs       table[verification.TenantID, *tenantData]
	queue      queue
	rescreens  rescreens
	workflows  workflows
	keys       idempotencyKeys
	deliveries deliveries
	rows       table[rowKey, store.Record]
	audit      audit
	ledger     ledger
	dumping    sync.Mutex // held while a dump is open
	kept       counts
	limits     atomic.Pointer[Limits] // nil for none
	pressure   atomic.Int32           // a Pressure
	refused    atomic.Int64           // because of the limits or the pressure
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	s := &Store{}
	s.Tables = store.Tables{RowStore: s}
	s.queue = newQueue(s.kept.add)
	return s
}

// table is a map with a lock.
type table[K comparable, V any] struct {
	mu   sync.RWMutex
	rows map[K]V
}

// get returns the row of a key, or ErrNotFound about the subject.
func (t *table[K, V]) get(ctx context.Context, key K, subject string) (row V, err error) {
	err = t.read(ctx, func() error {
		var ok bool
		if row, ok = t.rows[key]; !ok {
			return verification.NotFound(subject)
		}
		return nil
	})
	return row, err
}

// read calls f under the lock for reading, unless ctx has ended.
func (t *table[K, V]) read(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return f()
}

// change calls f with the rows under the lock, unless ctx has ended.
func (t *table[K, V]) change(ctx context.Context, f func(rows map[K]V) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil {
		t.rows = map[K]V{}
	}
	return f(t.rows)
}

// trees are sorted lists by key.
type trees[K comparable, T any] map[K]*btree.BTreeG[T]

// at returns the tree of a key, which is added if there is none.
func (ts *trees[K, T]) at(key K, before func(a, b T) bool) *btree.BTreeG[T] {
	t := (*ts)[key]
	if t == nil {
		t = newTree(before)
		if *ts == nil {
			*ts = trees[K, T]{}
		}
		(*ts)[key] = t
	}
	return t
}

// newTree returns a tree without locks of its own.
func newTree[T any](before func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})
}

// readPage reads one page of a tree, which may be nil, and its length.
func readPage[T, R any](tree *btree.BTreeG[T], q store.PageQuery, convert func(T) R) store.Page[R] {
	p := store.Page[R]{PageQuery: q}
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
