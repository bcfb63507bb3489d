package linear_test

import (
	"context"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/rig/linear"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// slow delays the append of a cancel until resume is closed, and reports starts.
type slow struct {
	*memory.Store

	started      chan struct{} // may be nil
	held, resume chan struct{}
}

func (s slow) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a store.Commit) error {
	for _, e := range a.Events {
		if _, ok := e.Fact.(rules.Cancelled); ok {
			s.held <- struct{}{}
			<-s.resume
		}
	}
	err := s.Store.Append(ctx, t, id, seq, a)
	if seq == 0 && s.started != nil {
		s.started <- struct{}{}
	}
	return err
}

func TestACancelDuringTheDeadlineIsTooLate(t *testing.T) {
	for _, look := range []linear.Input{
		{Op: linear.OpRead},
		{Op: linear.OpReport},
		{Op: linear.OpCancel},
		{Op: linear.OpList},
		{Op: linear.OpList, Status: "expired"},
	} {
		t.Run(look.String(), func(t *testing.T) {
			s := slow{held: make(chan struct{}), resume: make(chan struct{})}
			h := twoInMemory(t, func(m *memory.Store) store.Store {
				s.Store = m
				return s
			})
			plan := linear.Plan{Path: linear.Paths()[0], Script: "pass"}
			running := h.start(t, plan)
			answered := make(chan linear.Output, 1)
			go func() {
				out, err := running[1].Do(t.Context(), linear.Input{Op: linear.OpCancel})
				if err != nil {
					t.Error(err)
				}
				answered <- out
			}()
			<-s.held
			h.clock.Advance(linear.Past)
			seen := do(t, running[0], look)
			close(s.resume)
			late, after := <-answered, do(t, running[0], linear.Input{Op: linear.OpRead})
			if want := linear.Conflict + "expired"; late.Answer != want || after.View.Status != "expired" {
				t.Errorf("%s = %s; then the delayed cancel = %s and the run reads %s, want %s and expired",
					look, seen, late, after.View.Status, want)
			}
		})
	}
}

func TestAStartRecordsTheExpiryBeforeItReturnsExpired(t *testing.T) {
	s := slow{Store: memory.New(), started: make(chan struct{}, 1), held: make(chan struct{}), resume: make(chan struct{})}
	must(t, s.SaveTenant(t.Context(), verification.Tenant{ID: tenant, Name: "Test"}))
	c := linear.NewClock()
	// The host drives no run, so that only the start can record the expiry.
	h := hosts{clock: c, engines: []*engine.Engine{newEngine(t, s, c, engine.Options{Passive: true})}}
	running := h.prepare(t, linear.Plan{Path: linear.Paths()[4], Script: "pass"})
	answer := func(in linear.Input) <-chan linear.Output {
		answered := make(chan linear.Output, 1)
		go func() {
			out, err := running[0].Do(t.Context(), in)
			if err != nil {
				t.Error(err)
			}
			answered <- out
		}()
		return answered
	}
	start := answer(linear.Input{Op: linear.OpStart, Wait: 3 * time.Second})
	<-s.started
	cancel := answer(linear.Input{Op: linear.OpCancel})
	<-s.held
	h.clock.Advance(linear.Past)
	started := <-start
	close(s.resume)
	late := <-cancel
	if started.View.Status != "expired" || late.Answer != linear.Conflict+"expired" {
		t.Errorf("the start = %s, then the delayed cancel = %s, want expired and a conflict", started, late)
	}
}

func do(t *testing.T, h linear.Host, in linear.Input) linear.Output {
	t.Helper()
	out, err := h.Do(t.Context(), in)
	must(t, err)
	return out
}
