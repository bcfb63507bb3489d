// What a store knows of the ledger of erasures.

package store

import "github.com/verifyd/verifyd/verification"

// LedgerMark says how far the store and the ledger of erasures have come with each other.
type LedgerMark struct {
	// ID is the id of the ledger; empty while no host with a ledger has used the store.
	ID string
	// Last is the highest number of an entry that the store gave or has found in the ledger.
	Last int64
	// Applied is the number up to which the store has what the ledger says. It grows with Last if both are equal.
	Applied int64
}

// LedgerChanged returns the ErrConflict of a store whose mark is not the one that was given.
func LedgerChanged() error {
	return verification.Conflict("ledger of erasures", "another host has changed the mark of the ledger")
}
