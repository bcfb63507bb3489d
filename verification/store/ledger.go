// The port of the ledger of erasures, and the values that cross it.

package store

import (
	"context"

	"github.com/verifyd/verifyd/verification"
)

// LedgerStore keeps what the store knows of the ledger of erasures: see verification.ErasureLedger. Commit.Erasure
// gives the numbers.
type LedgerStore interface {
	// LedgerMark returns the mark; the zero value until one was saved.
	LedgerMark(ctx context.Context) (LedgerMark, error)
	// SaveLedgerMark replaces the mark was by another one, and adds entries to those that the ledger is owed, all or
	// nothing. It returns ErrConflict if the stored mark is not was.
	SaveLedgerMark(ctx context.Context, was, mark LedgerMark, owed []verification.Erasure) error
	// OwedErasures returns the entries that the ledger is owed, in the order of their numbers; at most limit.
	OwedErasures(ctx context.Context, limit int) ([]verification.Erasure, error)
	// ErasuresNoted says that the ledger has the entries with these numbers: it is owed them no more.
	ErasuresNoted(ctx context.Context, numbers []int64) error
}

// LedgerMark says how far the store and the ledger of erasures have come with each other.
type LedgerMark struct {
	// ID is the id of the ledger; empty while no host with a ledger has used the store.
	ID string
	// Last is the highest number of an entry that the store gave or has found in the ledger.
	Last int64
	// Applied is the number up to which the store has what the ledger says. It grows with Last if both are equal.
	Applied int64
}

// LedgerChanged returns the ErrConflict of a LedgerStore whose mark is not the one that was given.
func LedgerChanged() error {
	return verification.Conflict("ledger of erasures", "another host has changed the mark of the ledger")
}
