// The timers of a manual clock, in the order in which they fire.

package clock

import (
	"cmp"
	"context"
	"time"

	"github.com/tidwall/btree"
)

// timer is a function to call or a sleeper to wake at a given time.
type timer struct {
	at    time.Time
	order uint64 // of registration, for timers of the same time

	call     func() // nil for a sleeper
	starting bool   // it was due when it was set, and its goroutine has not begun

	ctx   context.Context // of a sleeper; once it is done, the sleeper counts as awake
	woken chan struct{}   // of a sleeper; closed when the timer fires
}

// newTimers returns an empty set ordered by time, then by registration.
func newTimers() *btree.BTreeG[*timer] {
	return btree.NewBTreeGOptions(func(a, b *timer) bool {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.order, b.order)) < 0
	}, btree.Options{NoLocks: true}) // Manual has a lock
}
