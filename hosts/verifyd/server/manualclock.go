// What a host does by itself on a manual clock, when an advance reaches its time.

package server

import (
	"context"
	"sync"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
)

// maxPasses bounds the passes of retention that follow each other at once.
const maxPasses = 100_000

// manualWork is the work of a host on its manual clock.
type manualWork struct {
	*host

	clock *clock.Manual
	ctx   context.Context //nolint:containedctx // of the host, for the timers of the clock

	mu   sync.Mutex
	stop func() bool // cancels the next pass
}

// begin begins the work, which ends with ctx.
func (w *manualWork) begin(ctx context.Context) {
	w.mu.Lock()
	w.ctx = ctx
	w.mu.Unlock()
	w.retain()
	w.clock.AfterFunc(w.every(), w.replace)
}

// retain makes passes of retention until nothing is due, and again when something is. An advance begins with it, because a
// policy or a run may have changed since the last one.
func (w *manualWork) retain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil || w.ctx.Err() != nil {
		return
	}
	if w.stop != nil {
		w.stop()
	}
	more, err := w.pass(w.ctx)
	for n := 1; n < maxPasses && more && err == nil; n++ {
		more, err = w.pass(w.ctx)
	}
	wait := retentionEvery
	if err == nil {
		if next, err := w.engine.RetentionNext(w.ctx); err == nil {
			wait = next.Sub(w.clock.Now())
		}
	}
	w.stop = w.clock.AfterFunc(max(wait, retentionPause), w.retain)
}

// maintainEvery is the real time between two rounds of maintenance, which other hosts do together.
const maintainEvery = 5 * time.Second

// maintain keeps the lists and numbers of a database up to date until ctx ends.
func (w *manualWork) maintain(ctx context.Context) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := w.storage.database.Maintain(ctx, w.clock.Now()); err != nil && ctx.Err() == nil {
			w.metrics.maintenanceFailed.Inc()
			w.log.Error("the maintenance of the database failed", "error", err)
		}
	}
}

// every is the time between two calls of replace.
func (w *manualWork) every() time.Duration {
	if w.storage.database != nil {
		return w.settings.EraseWithin / 4
	}
	return w.settings.EraseWithin
}

// replace removes what old files and dead rows have of erased runs.
func (w *manualWork) replace() {
	if w.ctx.Err() != nil {
		return
	}
	var err error
	switch {
	case w.storage.folder != nil:
		var mark int64
		var gone bool
		if mark, _, err = w.storage.folder.journal.Removed(w.ctx, 0); err == nil {
			_, gone, err = w.storage.folder.journal.Removed(w.ctx, mark)
		}
		if err == nil && !gone {
			err = w.storage.folder.journal.Snapshot(w.ctx)
		}
	case w.storage.database != nil:
		if n, _ := w.engine.PendingRedactions(); n > 0 {
			err = w.storage.database.Vacuum(w.ctx, w.clock.Now())
		}
	default:
		return
	}
	if err != nil && w.ctx.Err() == nil {
		w.log.Warn("what erased runs left in old files or dead rows is not removed yet; the next attempt is when the clock advances", "error", err)
	}
	w.clock.AfterFunc(w.every(), w.replace)
}
