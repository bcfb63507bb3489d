// Package memory keeps everything in the memory of one process: a real store
// and work queue for a host without a database, and for tests.
//
// Nothing in it grows slow with the number of runs: a page, a filter and a
// count cost a walk down a tree, at any moment that is asked for. What it
// hands out is shared and must not be written into.
package memory

import (
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// Store is a verification.RunStore, WorkQueue, WorkflowStore, TenantStore,
// IdempotencyStore and DeliveryStore. It is safe for concurrent use.
//
// Locks are taken in the order books, one book, deadlines, queue; the rest
// stand alone.
type Store struct {
	booksMu sync.RWMutex
	books   map[verification.TenantID]*book

	deadlines deadlines
	queue     queue
	catalogs  catalogs
	accounts  accounts
	claims    claims
	ledgers   ledgers
}

var (
	_ verification.RunStore         = (*Store)(nil)
	_ verification.WorkQueue        = (*Store)(nil)
	_ verification.WorkflowStore    = (*Store)(nil)
	_ verification.TenantStore      = (*Store)(nil)
	_ verification.IdempotencyStore = (*Store)(nil)
	_ verification.DeliveryStore    = (*Store)(nil)
)

// New makes an empty store.
func New() *Store {
	return &Store{
		books:     map[verification.TenantID]*book{},
		deadlines: newDeadlines(),
		queue:     newQueue(),
		catalogs:  newCatalogs(),
		accounts:  newAccounts(),
		claims:    newClaims(),
		ledgers:   newLedgers(),
	}
}

func notFound(subject string) error {
	return &verification.Error{Kind: verification.ErrNotFound, Subject: subject}
}

func conflict(subject, message string) error {
	return &verification.Error{Kind: verification.ErrConflict, Subject: subject, Message: message}
}
