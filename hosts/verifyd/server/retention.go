// Retention: a host removes what is due, in small batches.

package server

import (
	"context"
	"time"
)

const (
	retentionEvery = 10 * time.Minute // between passes that left nothing to do
	retentionPause = time.Second      // before the next batch
)

// retain carries out retention until ctx ends.
func (h *host) retain(ctx context.Context) {
	for {
		wait := retentionEvery
		if more, err := h.pass(ctx); more && err == nil {
			wait = retentionPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// pass makes one pass of retention, and logs an error. more reports whether it left something to do.
func (h *host) pass(ctx context.Context) (more bool, err error) {
	more, err = h.engine.Retain(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		h.metrics.retentionFailed.Inc()
		h.log.Error("retention: not all that is due was removed; it is tried again", "after", retentionEvery, "error", err)
	}
	if since, err := h.engine.RetentionDue(ctx); err == nil {
		h.unretained.Store(&since)
	} else if ctx.Err() == nil {
		h.metrics.retentionFailed.Inc()
		h.log.Error("retention: it is not known how late it is", "error", err)
	}
	return more, err
}

// retentionLate returns how long something is due that retention has not reached, as of the last pass.
func (h *host) retentionLate() time.Duration {
	since := h.unretained.Load()
	if since == nil || since.IsZero() {
		return 0
	}
	return max(0, h.now().Sub(*since))
}
