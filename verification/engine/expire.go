// Expiries and reminders: times that come are recorded for runs that nobody reads, so that
// clients are notified.

package engine

import (
	"context"

	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// expireRun records an expiry or a reminder, which replaces or removes the work. If that fails,
// it is repeated when the lease of the work ends.
func (e *Engine) expireRun(ctx context.Context, w store.Work) error {
	// A large run does not wait for a slot of its tenant, whose other decisions may take longer
	// than the lease: to record this takes no expression.
	s := &session{Engine: e, ref: w.RunRef, waitless: true}
	before, err := s.command(ctx, rules.Remind{}) // which records an expiry first
	if err != nil || s.run.Seq > before.Seq {
		return err
	}
	return e.ports.Store.Finish(ctx, w) // unless the work was replaced: nothing is due any more
}
