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

// call calls the provider of a check that the run waits for, and turns the result
// into a command. A call that was interrupted before it began has no command. late and
// here are as in runner.CallHere.
func (s *session) call(ctx context.Context, w *rules.Wait, late func(callResult)) (o callResult, here bool) {
	n, _ := s.program.Node(w.Node)
	request, cleared, err := s.request(ctx, *w)
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
	call := s.providerCall(p, *w, request)
	began := s.ports.Clock.Now()
	ctx, end := s.opt.begin(ctx, Span{Run: s.ref, Step: w.Node, Provider: w.Provider})
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
		outcome := observedOutcome(r.Result.Outcome, err)
		s.opt.Observer.ProviderCalled(w.Provider, outcome, s.ports.Clock.Now().Sub(began))
		end(outcome)
		if err != nil {
			return callResult{command: failed(err), entry: r.Entry, lacking: lacking}
		}
		asked := ""
		if r.Result.Screening != nil {
			asked = rules.AskedDigest(request.With)
		}
		return callResult{command: rules.RecordResult{
			Node: w.Node, Dispatch: w.Dispatch, Outcome: r.Result.Outcome, Data: data, Screening: r.Result.Screening, Cleared: cleared, Asked: asked,
			Handle: r.Result.Handle, PollAfter: r.Result.PollAfter, Redirect: r.Result.Redirect, Polled: polled,
		}, entry: r.Entry}
	}
	r, here := runner.CallHere(ctx, s.timing(n), call, func(r runner.Response[verification.CheckResult]) { late(command(r)) })
	if !here {
		return callResult{}, false
	}
	return command(r), true
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
func (s *session) request(ctx context.Context, w rules.Wait) (r verification.CheckRequest, cleared []rules.Clearance, err error) {
	release, err := s.admit(ctx, s.run.Size() > largeRun)
	if err != nil {
		return r, nil, err
	}
	defer release()
	if r, err = s.run.Request(s.program, s.ref.Tenant, w); err != nil {
		return r, nil, err
	}
	cleared = s.clear(ctx, &r)
	if r.CallbackURL, err = s.callbackURL(w); err == nil {
		r.ReturnURL, err = s.returnURL(w)
	}
	return r, cleared, err
}

// providerCall returns the call of a provider that a wait needs. A provider that is polled
// is a Poller: see lacks.
func (s *session) providerCall(
	p verification.Provider, w rules.Wait, r verification.CheckRequest,
) func(context.Context) (verification.CheckResult, error) {
	run, program := s.run, s.program // s may go on to another run meanwhile
	return func(ctx context.Context) (verification.CheckResult, error) {
		if finder, ok := p.(verification.EarlierFinder); ok {
			q, err := finder.Earlier(r.With)
			if err != nil {
				return verification.CheckResult{}, err
			}
			found, err := earlierRuns(ctx, s.Engine, r.Tenant, program, run, q)
			if err != nil {
				return verification.CheckResult{}, err
			}
			r.Earlier = &found
		}
		if poller, ok := p.(verification.Poller); ok && w.Kind != rules.WaitResult {
			return poller.Poll(ctx, verification.PollRequest{CheckRequest: r, Handle: w.Handle})
		}
		return p.Check(ctx, r)
	}
}

// timing limits a call of a provider to the timeout of its node.
func (e *Engine) timing(n workflow.Node) runner.Timing {
	return runner.Timing{Clock: e.ports.Clock, Activity: e.activity, Timeout: n.Timeout()}
}
