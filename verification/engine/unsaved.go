// Unsaved answers: the answer of a provider that cannot be saved now waits in this host.

package engine

import (
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// saveAgain is the wait before the answer of a provider is saved again, after a failure of the
// store.
const saveAgain = time.Second

// savesLater waits after a failure of the store, and reports whether the answer of a provider is to be
// saved again: for as long as a lease lasts after the first failure, because the provider would
// be called again otherwise. The lease of the run is renewed meanwhile.
func (j *job) savesLater(o *callResult, err error) bool {
	ctx := j.runner.Context()
	if o.command == nil || !errors.Is(err, verification.ErrUnavailable) || ctx.Err() != nil {
		return false
	}
	cause := err
	if expected, ok := errors.AsType[*verification.Error](err); ok && expected.Cause != nil {
		cause = errors.Join(err, expected.Cause)
	}
	log := j.log.With("run", j.ref.Run, "tenant", j.ref.Tenant, "provider", j.run.Wait().Provider, "cause", cause)
	now := j.now()
	switch {
	case o.unsaved.IsZero():
		o.unsaved = now
		log.Warn("the answer of a provider cannot be saved now; this host keeps it and saves it later", "at_most", j.opt.Lease)
	case now.Sub(o.unsaved) >= j.opt.Lease:
		log.Error("the answer of a provider could not be saved; the provider is called again", "since", o.unsaved)
		return false
	}
	over := make(chan struct{})
	stop := j.ports.Clock.AfterFunc(saveAgain, func() {
		j.activity.Enter()
		close(over)
	})
	j.activity.Leave()
	select {
	case <-over:
	case <-ctx.Done():
		if stop() {
			j.activity.Enter()
		} else {
			<-over
		}
	}
	return true
}
