// Package memory stores everything in the memory of one process. It is a complete
// store and work queue, for a host without a database and for tests.
//
// Pages, filters and totals cost O(log n) in the number of runs, whatever the query's
// Now is; searches by reference id or start time cost O(n). Callers must not
// modify returned values.
package memory

import (
	"github.com/verifyd/verifyd/adapters/memory/internal/memstore"
	"github.com/verifyd/verifyd/verification/store"
)

// Store is a store.Store. It is safe for concurrent use.
type Store struct{ *memstore.Store }

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return &Store{memstore.New()} }

// The bounds of a store, what each tenant uses of them, how short the memory is, and the work that waits.
type (
	Limits    = memstore.Limits
	TenantUse = memstore.TenantUse
	Pressure  = memstore.Pressure
	Backlog   = memstore.Backlog
)

// The pressures.
const (
	NoPressure    = memstore.NoPressure
	RefuseRuns    = memstore.RefuseRuns
	RefuseAnswers = memstore.RefuseAnswers
	LeaveWork     = memstore.LeaveWork
)
