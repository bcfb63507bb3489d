// The ledger of erasures, which a host looks at before it is ready.

package server

import (
	"context"
	"fmt"
)

// applyErasures redacts and deletes again the runs that a store has which was restored from before.
func (h *host) applyErasures(ctx context.Context) error {
	applied, err := h.engine.ApplyErasures(ctx)
	if err != nil {
		return fmt.Errorf("the ledger of erasures cannot be applied to the store, which may have data again that was removed: %w", err)
	}
	h.erased = applied
	switch {
	case applied.Failed > 0:
		h.log.Error("the store was restored from before, and has runs that were erased and cannot be erased now: redact them by hand",
			"redacted", applied.Redacted, "deleted", applied.Deleted, "failed", applied.Failed)
	case applied.Redacted+applied.Deleted > 0:
		h.log.Warn("the store was restored from before; what was erased since was erased again",
			"redacted", applied.Redacted, "deleted", applied.Deleted)
	}
	return nil
}
