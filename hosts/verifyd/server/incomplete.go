// Removing uploads that were never completed, while the host runs.

package server

import (
	"context"
	"log/slog"
	"time"
)

// incompleteEvery is how often a host looks for them. They are removed an hour after their
// last write.
const incompleteEvery = 10 * time.Minute

// incompleteRemover is a document store that processes can die in the middle of a write to,
// such as a folder. An object store stores an object as a whole, or not at all.
type incompleteRemover interface {
	RemoveIncomplete(ctx context.Context) (removed int, err error)
}

// removeIncomplete removes them until ctx ends.
func removeIncomplete(ctx context.Context, from incompleteRemover, log *slog.Logger) {
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
