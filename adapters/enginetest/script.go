// A provider whose replies are set by the test.

package enginetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Reply is one reply of a Script.
type Reply struct {
	Result verification.CheckResult
	Err    error
	// After is how long the reply takes, on the clock of the Script.
	After time.Duration
	// Panic, if not nil, is the value that the provider panics with.
	Panic any
}

// Pass returns a reply that the check passed.
func Pass(data map[string]any) Reply {
	return Reply{Result: verification.CheckResult{Outcome: verification.OutcomePassed, Data: data}}
}

// Fail returns a reply that the check failed.
func Fail(data map[string]any) Reply {
	return Reply{Result: verification.CheckResult{Outcome: verification.OutcomeFailed, Data: data}}
}

// Pend returns a reply that the result is pending and may be polled after a time.
func Pend(handle string, after time.Duration) Reply {
	return Reply{Result: verification.CheckResult{
		Outcome: verification.OutcomePending, Handle: handle, PollAfter: after,
	}}
}

// Lead returns a reply that leads the customer to a URL.
func Lead(url, handle string, after time.Duration) Reply {
	return Reply{Result: verification.CheckResult{
		Outcome: verification.OutcomeRedirect, Redirect: url, Handle: handle, PollAfter: after,
	}}
}

// Flake returns a reply that is a transient error.
func Flake() Reply { return Reply{Err: errors.New("the source did not answer")} }

// Refuse returns a reply that is a permanent error.
func Refuse() Reply {
	return Reply{Err: verification.Permanent(errors.New("the source refuses to answer"))}
}

// Slow returns r as a reply that takes a time.
func Slow(d time.Duration, r Reply) Reply {
	r.After = d
	return r
}

// Call is one call that a Script received.
type Call struct {
	verification.CheckRequest
	Handle string // of a poll; empty for a check
}

// Script is a provider that returns the replies set by On, in order, and repeats the
// last one. A check without replies passes.
type Script struct {
	sleep func(context.Context, time.Duration) error

	mu      sync.Mutex
	replies map[string][]Reply
	calls   []Call
}

// NewScript returns a provider whose slow replies call sleep.
func NewScript(sleep func(context.Context, time.Duration) error) *Script {
	return &Script{sleep: sleep, replies: map[string][]Reply{}}
}

// On sets the replies to the check with a key.
func (s *Script) On(key string, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[key] = replies
}

// Calls returns the calls for a key so far, in order.
func (s *Script) Calls(key string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []Call
	for _, c := range s.calls {
		if c.Key == key {
			calls = append(calls, c)
		}
	}
	return calls
}

// Check returns the next reply.
func (s *Script) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	return s.reply(ctx, Call{CheckRequest: r})
}

// Poll returns the next reply.
func (s *Script) Poll(ctx context.Context, r verification.PollRequest) (verification.CheckResult, error) {
	return s.reply(ctx, Call{CheckRequest: r.CheckRequest, Handle: r.Handle})
}

func (s *Script) reply(ctx context.Context, c Call) (verification.CheckResult, error) {
	r := s.next(c)
	if r.After > 0 {
		if err := s.sleep(ctx, r.After); err != nil {
			return verification.CheckResult{}, err
		}
	}
	if r.Panic != nil {
		panic(r.Panic)
	}
	return r.Result, r.Err
}

func (s *Script) next(c Call) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	replies := s.replies[c.Key]
	switch len(replies) {
	case 0:
		return Pass(nil)
	case 1:
		return replies[0]
	}
	s.replies[c.Key] = replies[1:]
	return replies[0]
}
