// Package sandbox is a provider whose results are scripted in the run's input, so
// that a client can test every path of a workflow.
//
// The script of a check is input.sandbox.<check key>: "pass" (the default),
// "fail", "no_coverage", "inconclusive", "unavailable", "flaky:N", "slow:500ms", "pending:N" or "redirect:URL", or an object
// {"outcome": ..., "data": {...}} with one of these and the step's data.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Provider returns the scripted results. It keeps no state between calls, so one
// host can continue where another stopped.
type Provider interface {
	verification.Poller
	verification.ReturnReceiver
}

type provider struct {
	sleep func(ctx context.Context, d time.Duration) error
}

// New returns a provider that uses sleep for slow results. sleep returns nil once
// d has passed, and an error if ctx is done first.
func New(sleep func(ctx context.Context, d time.Duration) error) Provider {
	return &provider{sleep: sleep}
}

// Check returns the scripted result of the check. For an invalid script it returns
// a permanent error that says what is wrong.
func (p *provider) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	s, err := readScript(r.Input, r.Key)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	switch s.kind {
	case kindFail:
		return verification.CheckResult{Outcome: verification.OutcomeFailed, Data: s.data}, nil
	case kindNoCoverage, kindInconclusive:
		return verification.CheckResult{Outcome: verification.CheckOutcome(s.kind), Data: s.data}, nil
	case kindUnavailable:
		return verification.CheckResult{}, verification.Permanent(fmt.Errorf("%s is unavailable, as its script says", r.Key))
	case kindFlaky:
		if r.Dispatch <= s.times {
			return verification.CheckResult{}, fmt.Errorf("dispatch %d of %s goes unanswered, as its script says", r.Dispatch, r.Key)
		}
	case kindSlow:
		if err := p.sleep(ctx, s.wait); err != nil {
			return verification.CheckResult{}, err
		}
	case kindPending:
		return s.pending(s.times), nil
	case kindRedirect:
		return s.leads(r.ReturnURL), nil
	case kindPass:
	}
	return s.passed(), nil
}

// Poll returns the result of a check whose script is "pending:N": poll number N
// passes. The customer of "redirect:URL" stays away until the return.
func (p *provider) Poll(_ context.Context, r verification.PollRequest) (verification.CheckResult, error) {
	s, err := readScript(r.Input, r.Key)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	if s.kind == kindRedirect {
		return s.leads(r.ReturnURL), nil
	}
	remaining, err := strconv.Atoi(r.Handle)
	if err != nil || s.kind != kindPending || remaining < 1 || remaining > s.times {
		return verification.CheckResult{}, verification.Permanent(errors.New(r.Key + " has no pending result with this handle"))
	}
	return s.pending(remaining - 1), nil
}

// ReceiveReturn returns a result that failed if there is a parameter error, and else one that passed.
func (p *provider) ReceiveReturn(_ context.Context, r verification.PollRequest, parameters map[string]string) (verification.CheckResult, error) {
	s, err := readScript(r.Input, r.Key)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	result := s.passed()
	if parameters["error"] != "" {
		result.Outcome = verification.OutcomeFailed
	}
	return result, nil
}

// leads returns a result that leads the customer to the URL of the script, with the return URL in its query.
func (s script) leads(back string) verification.CheckResult {
	to := *s.to
	q := to.Query()
	q.Set("return_url", back)
	to.RawQuery = q.Encode()
	return verification.CheckResult{Outcome: verification.OutcomeRedirect, Redirect: to.String(), PollAfter: time.Hour}
}

// pending returns a pending result while polls remain, then one that passed.
func (s script) pending(remaining int) verification.CheckResult {
	if remaining == 0 {
		return s.passed()
	}
	return verification.CheckResult{Outcome: verification.OutcomePending, Handle: strconv.Itoa(remaining)}
}

func (s script) passed() verification.CheckResult {
	return verification.CheckResult{Outcome: verification.OutcomePassed, Data: s.data}
}
