// What the runner calls: driving, expiries, rechecks, notices and re-screening.

package engine

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/store"
)

// handler is the runner.Handler of an engine.
type handler struct{ e *Engine }

// newRunner returns a runner that carries out the work of e.
func newRunner(e *Engine) *runner.Runner {
	return runner.New(runner.Config{
		Handler: handler{e}, Queue: e.ports.Store, Clock: e.ports.Clock, Activity: e.activity, Log: e.log,
		Deferred:  func() { e.opt.Observer.NoticeSent("deferred") },
		Tried:     func() { e.opt.Observer.RunDrivenAlone() },
		Providers: e.ports.Providers, TenantProviders: e.ports.TenantProviders,
		Workers: e.opt.Workers, Calls: e.opt.Calls, Lease: e.opt.Lease, QueueInterval: e.opt.QueueInterval,
		Rescreens: len(e.rescreening.lists) > 0,
	})
}

func (h handler) Drive(j *runner.Job) {
	(&job{Job: j, session: session{Engine: h.e, ref: j.Ref}, work: j.Work}).drive(callResult{})
}

func (h handler) Do(ctx context.Context, w store.Work) error {
	switch w.Kind {
	case store.WorkRecheck:
		return h.e.rescreening.recheckRuns(ctx, w)
	case store.WorkErase:
		return eraser{h.e}.eraseRun(ctx, w)
	case store.WorkAdvance, store.WorkAnnounce, store.WorkExpire, store.WorkRescreen, store.WorkRetain: // which Retain takes
	}
	return h.e.expireRun(ctx, w)
}

func (h handler) Webhook(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (string, error) {
	workflow, err := h.e.store.Workflow(ctx, t, id)
	return workflow.LifecycleWebhookURL, err
}

func (h handler) Notify(ctx context.Context, w store.Work, url string) error {
	return notices{h.e}.notify(ctx, w, url)
}

func (h handler) Rescreen(began time.Time) (next time.Time) {
	return h.e.rescreening.rescreenBatches(began)
}
