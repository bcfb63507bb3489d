// Re-screening: hits of a later version of a list.

package engine

import (
	"context"

	"github.com/verifyd/verifyd/verification"
)

// RecordHits records hits of a later version of a list. The step of the check is then
// flagged, and the run needs a verdict again, also if it had one; its status and the time
// of its end do not change, and no client is notified. It reports whether there was a hit
// that the run did not know. ErrConflict is returned unless the run is completed, and
// ErrInvalid if it has made no check at the node.
func (e *Engine) RecordHits(ctx context.Context, t verification.TenantID, id verification.RunID, c verification.RecordHits) (recorded bool, err error) {
	s := &session{ref: verification.RunRef{Tenant: t, Run: id}}
	before, err := e.command(ctx, s, c)
	return err == nil && s.run.Seq > before.Seq, err
}
