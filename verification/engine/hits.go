// Re-screening: hits of a later version of a list.

package engine

import (
	"context"

	"github.com/verifyd/verifyd/verification"
)

// HitsRequest are the hits that a later version of a list has for a check of a completed
// run.
type HitsRequest struct {
	Node        verification.NodeID // of the check
	List        string
	ListVersion string
	Hits        []verification.Hit // at most 10 of those that the run does not know are recorded
}

// RecordHits records hits of a later version of a list. The step of the check is then
// flagged, and the run needs a verdict again, also if it had one; its status and the time
// of its end do not change, and no client is notified. It reports whether there was a hit
// that the run did not know. ErrConflict is returned unless the run is completed, and
// ErrInvalid if it has made no check at the node.
func (e *Engine) RecordHits(ctx context.Context, t verification.TenantID, id verification.RunID, r HitsRequest) (recorded bool, err error) {
	s := &session{ref: verification.RunRef{Tenant: t, Run: id}}
	before, err := e.command(ctx, s, verification.RecordHits{
		Node: r.Node, List: r.List, ListVersion: r.ListVersion, Hits: r.Hits,
	})
	return err == nil && s.run.Seq > before.Seq, err
}
