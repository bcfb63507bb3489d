// Package sandbox is a provider that does what the run's input says, so that
// every path of a workflow can be driven from outside.
//
// It reads input.sandbox.<check key>: one of "pass" (also when nothing is
// there), "fail", "unavailable", "flaky:N", "slow:500ms" and "pending:N", or an
// object {"outcome": ..., "data": {...}} with one of these and the step's data.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Provider plays the scripts. It keeps nothing between calls, so any host may
// go on where another stopped. It implements verification.Poller.
type Provider struct {
	sleep func(ctx context.Context, d time.Duration) error
}

// New returns a provider that waits by sleep, which returns nil once the time
// has passed and an error when the context ended first.
func New(sleep func(ctx context.Context, d time.Duration) error) *Provider {
	return &Provider{sleep: sleep}
}

// Check plays the script of the check. A script that cannot be read is a
// permanent error that says what is wrong with it.
func (p *Provider) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	s, err := readScript(r.Input, r.Key)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	switch s.play {
	case playFail:
		return verification.CheckResult{Outcome: verification.OutcomeFailed, Data: s.data}, nil
	case playUnavailable:
		return verification.CheckResult{}, verification.Permanent(fmt.Errorf("%s is unavailable, as its script says", r.Key))
	case playFlaky:
		if r.Dispatch <= s.times {
			return verification.CheckResult{}, fmt.Errorf("dispatch %d of %s goes unanswered, as its script says", r.Dispatch, r.Key)
		}
	case playSlow:
		if err := p.sleep(ctx, s.wait); err != nil {
			return verification.CheckResult{}, err
		}
	case playPending:
		return s.pending(s.times), nil
	case playPass:
	}
	return s.passed(), nil
}

// Poll answers a check whose script is "pending:N": the poll number N passes.
func (p *Provider) Poll(_ context.Context, r verification.PollRequest) (verification.CheckResult, error) {
	s, err := readScript(r.Input, r.Key)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	left, err := strconv.Atoi(r.Handle)
	if err != nil || s.play != playPending || left < 1 || left > s.times {
		return verification.CheckResult{}, verification.Permanent(errors.New(r.Key + " has no answer pending under this handle"))
	}
	return s.pending(left - 1), nil
}

// pending answers that a number of polls are left, and passes at none.
func (s script) pending(left int) verification.CheckResult {
	if left == 0 {
		return s.passed()
	}
	return verification.CheckResult{Outcome: verification.OutcomePending, Handle: strconv.Itoa(left)}
}

func (s script) passed() verification.CheckResult {
	return verification.CheckResult{Outcome: verification.OutcomePassed, Data: s.data}
}
