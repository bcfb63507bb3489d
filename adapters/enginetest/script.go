// A provider that answers what the test says.

package enginetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Reply is one answer of a Script.
type Reply struct {
	Result verification.CheckResult
	Err    error
	// After is how long the answer takes, on the clock of the Script.
	After time.Duration
	// Panic makes the provider panic with this value, when it is not nil.
	Panic any
}

// Pass answers that the check passed.
func Pass(data map[string]any) Reply {
	return Reply{Result: verification.CheckResult{Outcome: verification.OutcomePassed, Data: data}}
}

// Fail answers that the check did not pass.
func Fail(data map[string]any) Reply {
	return Reply{Result: verification.CheckResult{Outcome: verification.OutcomeFailed, Data: data}}
}

// Pend answers that the result is to be polled for.
func Pend(handle string, after time.Duration) Reply {
	return Reply{Result: verification.CheckResult{
		Outcome: verification.OutcomePending, Handle: handle, PollAfter: after,
	}}
}

// Flake brings no answer, this time.
func Flake() Reply { return Reply{Err: errors.New("the source did not answer")} }

// Refuse brings no answer, and never will.
func Refuse() Reply {
	return Reply{Err: verification.Permanent(errors.New("the source refuses to answer"))}
}

// Slow takes its time over a reply.
func Slow(d time.Duration, r Reply) Reply {
	r.After = d
	return r
}

// Call is one call that a Script received.
type Call struct {
	verification.CheckRequest
	Handle string // of a poll; empty for a check
}

// Script is a provider that gives the replies it was told, in their order, the
// last one again and again. A check that it was told nothing of passes.
type Script struct {
	sleep func(context.Context, time.Duration) error

	mu      sync.Mutex
	replies map[string][]Reply
	calls   []Call
}

// NewScript makes a provider whose slow replies sleep by the given function.
func NewScript(sleep func(context.Context, time.Duration) error) *Script {
	return &Script{sleep: sleep, replies: map[string][]Reply{}}
}

// On tells what to reply to the check of a key, from now on.
func (s *Script) On(key string, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[key] = replies
}

// Calls lists the calls for a key so far, in their order.
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

// Check gives the next reply.
func (s *Script) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	return s.reply(ctx, Call{CheckRequest: r})
}

// Poll gives the next reply.
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
