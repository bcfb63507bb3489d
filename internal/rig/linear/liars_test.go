package linear_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/rig/linear"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Trials with lying hosts and broken stores, which the check must detect.

// maxTrials bounds the trials until a lie occurs or is detected.
const maxTrials = 500

// stale returns old reads after a cancel has returned.
type stale struct {
	linear.Host

	mu        sync.Mutex
	before    linear.Output
	cancelled bool
	lies      int
}

func (s *stale) Do(ctx context.Context, in linear.Input) (linear.Output, error) {
	out, err := s.Host.Do(ctx, in)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case in.Op == linear.OpCancel && out.Answer == linear.Done:
		s.cancelled = true
	case in.Op == linear.OpRead && s.cancelled && s.before.Answer != "":
		s.lies++
		return s.before, err
	case in.Op == linear.OpRead && out.View.Status == "in_progress":
		s.before = out
	}
	return out, err
}

func TestAReadFromBeforeACancelIsDetected(t *testing.T) {
	h := twoInMemory(t, nil)
	eachLie(t, h, func(linear.Trial) bool { return true }, func(honest []linear.Host) ([]linear.Host, func() int) {
		s := &stale{Host: honest[0]}
		return []linear.Host{s, honest[1]}, func() int { return s.lies }
	})
}

// boast tells a second client, too, that its verdict continued the run. All hosts
// share it.
type boast struct {
	linear.Host

	shared *boasting
}

type boasting struct {
	mu        sync.Mutex
	delivered bool
	lies      int
}

func (b boast) Do(ctx context.Context, in linear.Input) (linear.Output, error) {
	out, err := b.Host.Do(ctx, in)
	b.shared.mu.Lock()
	defer b.shared.mu.Unlock()
	switch {
	case in.Op != linear.OpVerdict:
	case out.Answer == linear.Delivered:
		b.shared.delivered = true
	case out.Answer == linear.Recorded && b.shared.delivered:
		b.shared.lies++
		out.Answer = linear.Delivered
	}
	return out, err
}

func TestAVerdictThatIsDeliveredTwiceIsDetected(t *testing.T) {
	h := twoInMemory(t, nil)
	oneReview := func(trial linear.Trial) bool {
		return len(slices.DeleteFunc(slices.Clone(trial.Plan.Path), func(s linear.Step) bool { return s.Kind != linear.Review })) == 1
	}
	eachLie(t, h, oneReview, func(honest []linear.Host) ([]linear.Host, func() int) {
		s := &boasting{}
		return []linear.Host{boast{honest[0], s}, boast{honest[1], s}}, func() int { return s.lies }
	})
}

// eachLie runs trials until some had lies, each of which must be detected.
func eachLie(t *testing.T, h hosts, fit func(linear.Trial) bool, lying func([]linear.Host) (hosts []linear.Host, lies func() int)) {
	t.Helper()
	const enough = 5
	lied, from := 0, seed(t)
	for i := uint64(0); i < maxTrials && lied < enough; i++ {
		trial := h.draw(from, i)
		if !fit(trial) {
			continue
		}
		honest := h.prepare(t, trial.Plan)
		running, lies := lying(honest)
		history, err := h.stage(honest[0], running...).Play(t.Context(), trial)
		if err != nil {
			t.Fatalf("trial %d: %v\n%s", i, err, history)
		}
		if lies() == 0 {
			hold(t, i, history)
			continue
		}
		lied++
		if result, _ := history.Check(checkTimeout); result != porcupine.Illegal {
			t.Errorf("a history with %d lies is %s, want Illegal:\n%s", lies(), result, history)
		}
	}
	if lied < enough {
		t.Errorf("there were lies in %d of %d trials, want %d", lied, maxTrials, enough)
	}
}

// careless appends to the history even when it has grown.
type careless struct{ *memory.Store }

func (s careless) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a store.Commit) error {
	err := s.Store.Append(ctx, t, id, seq, a)
	for range maxTrials {
		if !errors.Is(err, verification.ErrConflict) {
			return err
		}
		history, loaded := s.Load(ctx, t, id, 0)
		if loaded != nil {
			return loaded
		}
		err = s.Store.Append(ctx, t, id, len(history), a)
	}
	return err
}

// lagging loads the history as of its previous load.
type lagging struct {
	*memory.Store

	mu   sync.Mutex
	seen map[verification.RunID]int
}

func (s *lagging) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
	history, err := s.Store.Load(ctx, t, id, 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	upto := max(s.seen[id], min(1, len(history)))
	s.seen[id] = len(history)
	if err != nil || upto <= after {
		return nil, err
	}
	return history[after:upto], nil
}

func TestABrokenStoreIsDetected(t *testing.T) {
	for name, broken := range map[string]func(*memory.Store) store.Store{
		"appends to a history that has grown": func(s *memory.Store) store.Store { return careless{s} },
		"loads an older history": func(s *memory.Store) store.Store {
			return &lagging{Store: s, seen: map[verification.RunID]int{}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, from := twoInMemory(t, broken), seed(t)
			for i := range uint64(maxTrials) {
				trial := h.draw(from, i)
				running := h.prepare(t, trial.Plan)
				history, err := h.stage(running[0], running...).Play(t.Context(), trial)
				if errors.Is(err, linear.ErrStuck) {
					t.Fatalf("trial %d: %v\n%s", i, err, history)
				}
				if err != nil {
					return // detected even earlier
				}
				if result, _ := history.Check(checkTimeout); result == porcupine.Illegal {
					t.Logf("detected in trial %d", i)
					return
				}
			}
			t.Errorf("not detected in %d trials", maxTrials)
		})
	}
}

// twoInMemory returns two hosts on one store in memory; the second may use it
// through a broken store.
func twoInMemory(t *testing.T, broken func(*memory.Store) store.Store) hosts {
	s := memory.New()
	other := store.Store(s)
	if broken != nil {
		other = broken(s)
	}
	return share(t, linear.NewClock(), s, other)
}
