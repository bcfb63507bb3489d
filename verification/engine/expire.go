// Expiries: the deadlines of runs that nobody reads are recorded, so that clients are notified.

package engine

import (
	"context"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// expireRun records an expiry, which removes the work. If that fails, it is repeated when the
// lease of the work ends.
func (e *Engine) expireRun(ctx context.Context, w store.Work) error {
	// A large run does not wait for a slot of its tenant, whose other decisions may take longer
	// than the lease: to record an expiry takes no expression.
	s := &session{ref: w.RunRef, admitted: true}
	before, err := e.command(ctx, s, verification.Expire{})
	if err != nil || s.run.Seq > before.Seq {
		return err
	}
	return e.ports.Store.Finish(ctx, w) // the run had ended, or its deadline has not passed
}
