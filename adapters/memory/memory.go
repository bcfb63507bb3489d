// Package memory stores everything in the memory of one process, for a host without a database and for tests. Store is a
// complete store and work queue; Open returns one that keeps its data in a folder, too.
//
// Pages, filters and totals cost O(log n) in the number of runs, whatever the query's
// Now is; searches by reference id or start time cost O(n). Callers must not
// modify returned values.
package memory

import (
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification/store"
)

// Store is a store.Store. It is safe for concurrent use.
type Store struct{ *memstore.Store }

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return &Store{memstore.New()} }

// The bounds of a store, and what each tenant uses of them.
type (
	Limits    = memstore.Limits
	TenantUse = memstore.TenantUse
)
