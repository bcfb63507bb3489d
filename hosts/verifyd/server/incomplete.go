// Removing uploads that were never completed, while the host runs.

package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// incompleteEvery is how often a host looks for them. They are removed an hour after their
// last write.
const incompleteEvery = 10 * time.Minute

// removeIncomplete removes them until ctx ends.
func removeIncomplete(ctx context.Context, from verification.IncompleteRemover, log *slog.Logger) {
	tick := time.NewTicker(incompleteEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch removed, err := from.RemoveIncomplete(ctx); {
		case err != nil && ctx.Err() == nil:
			log.Warn("incomplete documents were not removed", "error", err)
		case removed > 0:
			log.Info("incomplete documents were removed", "documents", removed)
		}
	}
}
