// One call of a provider: its request, and the command that its result becomes.

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// call calls the provider of the check that the run waits for, and turns the result
// into a command. A call that was interrupted before it began has no command. late and
// here are as in runner.CallHere.
func (s *session) call(ctx context.Context, kind rules.TaskKind, late func(callResult)) (o callResult, here bool) {
	w := s.run.Wait
	n, _ := s.program.Node(w.Node)
	request, cleared, err := s.request(ctx)
	if ctx.Err() != nil {
		return callResult{}, true
	}
	if err != nil {
		return callResult{command: rules.Abort{Node: w.Node, Cause: "with: " + err.Error()}}, true
	}
	failed := func(err error) rules.RecordFailure {
		p, ok := errors.AsType[verification.PermanentError](err)
		f := rules.RecordFailure{Node: w.Node, Dispatch: w.Dispatch, Permanent: ok && p.Permanent()}
		if retry, ok := errors.AsType[*verification.RetryError](err); ok {
			f.RetryAt, err = retry.At, retry.Cause
		}
		f.Cause = err.Error()
		return f
	}
	p, _ := s.provider(s.ref.Tenant, w.Provider)
	call := providerCall(p, w, kind, request)
	began := s.ports.Clock.Now()
	command := func(r runner.Response[verification.CheckResult]) callResult {
		data, err := verification.NewData(r.Result.Data)
		if err != nil {
			err = verification.Permanent(fmt.Errorf("the provider's data cannot be saved: %w", err))
		}
		_, polled := p.(verification.Poller)
		if err == nil && !polled && r.Result.Outcome == verification.OutcomePending {
			err = verification.Permanent(fmt.Errorf("the provider %q returned a pending result and cannot be polled", w.Provider))
		}
		err = cmp.Or(r.Err, err)
		lacking := verification.LackingOf(err)
		if lacking != nil {
			err = verification.Permanent(err)
		}
		s.opt.Observer.ProviderCalled(w.Provider, observedOutcome(r.Result.Outcome, err), s.ports.Clock.Now().Sub(began))
		if err != nil {
			return callResult{command: failed(err), entered: entered(r.Entered), lacking: lacking}
		}
		asked := ""
		if r.Result.Screening != nil {
			asked = rules.AskedDigest(request.With)
		}
		return callResult{command: rules.RecordResult{
			Node: w.Node, Dispatch: w.Dispatch, Outcome: r.Result.Outcome, Data: data, Screening: r.Result.Screening, Cleared: cleared, Asked: asked,
			Handle: r.Result.Handle, PollAfter: r.Result.PollAfter, Redirect: r.Result.Redirect, Polled: polled,
		}, entered: entered(r.Entered)}
	}
	r, here := runner.CallHere(ctx, s.timing(n), call, func(r runner.Response[verification.CheckResult]) { late(command(r)) })
	if !here {
		return callResult{}, false
	}
	return command(r), true
}

// entered returns how often Enter was called for a response.
func entered(timeout bool) int {
	if timeout {
		return 1
	}
	return 0
}

// observedOutcome returns the outcome of a call for the Observer. An outcome that does not
// exist is an error, as it is for the run.
func observedOutcome(o verification.CheckOutcome, err error) string {
	if err == nil {
		switch o {
		case verification.OutcomePassed, verification.OutcomeFailed, verification.OutcomePending, verification.OutcomeNoCoverage,
			verification.OutcomeInconclusive, verification.OutcomeRedirect:
			return string(o)
		}
	}
	return "error"
}

// request renders the request to the provider, and returns the decisions by which its hits are
// cleared. Templates over a large run wait for a slot, as in decide.
func (s *session) request(ctx context.Context) (r verification.CheckRequest, cleared []rules.Clearance, err error) {
	release, err := s.admit(ctx, s.run.Size() > largeRun)
	if err != nil {
		return r, nil, err
	}
	defer release()
	if r, err = s.run.Request(s.program, s.ref.Tenant); err != nil {
		return r, nil, err
	}
	cleared = s.clear(ctx, &r)
	if r.CallbackURL, err = s.callbackURL(); err == nil {
		r.ReturnURL, err = s.returnURL()
	}
	return r, cleared, err
}

// providerCall returns the call of a provider that a task needs. A provider that is polled
// is a Poller: see lacks.
func providerCall(
	p verification.Provider, w rules.Wait, kind rules.TaskKind, r verification.CheckRequest,
) func(context.Context) (verification.CheckResult, error) {
	return func(ctx context.Context) (verification.CheckResult, error) {
		if poller, ok := p.(verification.Poller); ok && kind == rules.TaskPoll {
			return poller.Poll(ctx, verification.PollRequest{CheckRequest: r, Handle: w.Handle})
		}
		return p.Check(ctx, r)
	}
}

// timing limits a call of a provider to the timeout of its node.
func (e *Engine) timing(n workflow.Node) runner.Timing {
	return runner.Timing{Clock: e.ports.Clock, Activity: e.activity, Timeout: n.Timeout()}
}
