// Tests of runs whose hosts stopped: who is driven alone, and who is ended.

package engine_test

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// suspect returns a run of a workflow that has lost two leases, and an engine with leases of 20 s: its
// window is 0.1 s, and it begins trials when it has run for 6 to 12 s.
func suspect(t *testing.T, o engine.Observer, replies ...enginetest.Reply) (*enginetest.Kit, workflow.Workflow, verification.RunID) {
	t.Helper()
	k := enginetest.New(t, func(_ *engine.Ports, opt *engine.Options) {
		opt.Observer, opt.Log = o, slog.New(slog.NewTextHandler(t.Output(), nil))
	})
	k.Provider.On("a", replies...)
	w := k.Apply(chain("a"))
	v, err := operator(t, k, otherIDs).Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	loseLeases(t, k, 2, 0)
	k.Engine.Wake()
	return k, w, v.ID
}

func TestASuspectWaitsForAQuietHost(t *testing.T) {
	var seen poison
	k, w, id := suspect(t, &seen)
	k.Advance(3 * time.Second) // 5 s after the start of the host
	if n := len(k.Provider.Calls("a")); n != 0 || seen.tried != 0 {
		t.Fatalf("%d calls and %d trials on a host that has just started, want none", n, seen.tried)
	}
	wantStatus(t, k.Start(w.ID, engine.StartRequest{ReferenceID: "y"}), rules.StatusCompleted)
	work, _, err := k.Store.Take(t.Context(), store.TakeRequest{Kind: store.WorkAdvance, Now: k.Clock.Now().Add(time.Minute), Max: 1, MaxPerTenant: 1})
	if err != nil || len(work) != 1 || work[0].Lost != 2 { // it is not leased
		t.Fatalf("the work of the suspect = %+v, %v; want 2 lost leases: it lost none while it waited", work, err)
	}
	if err := k.Store.Release(t.Context(), work, k.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	k.Engine.Wake()
	k.Advance(32 * time.Second)
	wantStatus(t, k.Run(id), rules.StatusCompleted)
	if seen.tried != 1 || seen.runs != 0 {
		t.Errorf("%d trials and %d runs ended, want one trial", seen.tried, seen.runs)
	}
}

// A host that is killed at random times may hit the trial of a run once, but hardly twice.
func TestASecondTrialWaitsForAQuieterHost(t *testing.T) {
	var seen poison
	k := enginetest.New(t, func(_ *engine.Ports, opt *engine.Options) { opt.Observer = &seen })
	w := k.Apply(chain("a"))
	v, err := operator(t, k, otherIDs).Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	loseLeases(t, k, 3, 1)
	k.Engine.Wake()
	k.Advance(90 * time.Second) // the window is 0.2 s: a first trial would come after 12 to 24 s
	if seen.tried != 0 {
		t.Errorf("%d second trials on a host that has run for 93 s, want none within 96 s", seen.tried)
	}
	k.Advance(2 * time.Minute)
	wantStatus(t, k.Run(v.ID), rules.StatusCompleted)
	if seen.tried != 1 || seen.runs != 0 {
		t.Errorf("%d trials and %d runs ended, want one trial", seen.tried, seen.runs)
	}
}

func TestNothingElseIsDrivenDuringATrial(t *testing.T) {
	var seen poison
	k, w, id := suspect(t, &seen, enginetest.Slow(8*time.Second, enginetest.Pass(nil)), enginetest.Pass(nil))
	for seen.tried == 0 {
		k.Advance(100 * time.Millisecond)
		if k.Clock.Now().Sub(enginetest.Began()) > time.Minute {
			t.Fatal("there was no trial within a minute")
		}
	}
	other := startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "y"})
	k.Settle()
	if n := len(k.Provider.Calls("a")); n != 1 {
		t.Errorf("%d calls during the trial, want the one of the suspect", n)
	}
	k.Advance(600 * time.Millisecond) // the window has passed
	wantStatus(t, k.Run(other), rules.StatusCompleted)
	wantStatus(t, k.Run(id), rules.StatusInProgress)
	work, _, err := k.Store.Take(t.Context(), store.TakeRequest{Kind: store.WorkAdvance, Now: k.Clock.Now().Add(21 * time.Second), Max: 1, MaxPerTenant: 1})
	if err != nil || len(work) != 1 || work[0].Alone != 0 {
		t.Errorf("the work of the suspect = %+v, %v; want no trial: its host survived", work, err)
	}
	k.Advance(8 * time.Second)
	wantStatus(t, k.Run(id), rules.StatusCompleted)
}

func TestSuspectsAreTriedOneAfterTheOther(t *testing.T) {
	var seen poison
	k, w, _ := suspect(t, &seen, enginetest.Slow(8*time.Second, enginetest.Pass(nil)))
	front := operator(t, k, func(p *engine.Ports) { p.NewID = enginetest.SeededIDs(8) })
	for range 9 {
		if _, err := front.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, _, err := k.Store.Take(t.Context(), store.TakeRequest{Kind: store.WorkAdvance, Now: k.Clock.Now(), Max: 9, MaxPerTenant: 9}); err != nil {
			t.Fatal(err)
		}
	}
	k.Engine.Wake()
	k.Advance(5 * time.Minute)
	if seen.tried != 10 || seen.runs != 0 {
		t.Errorf("%d trials of ten suspects, %d ended; want one trial of each", seen.tried, seen.runs)
	}
	if n := len(k.Provider.Calls("a")); n != 10 {
		t.Errorf("%d calls, want 10", n)
	}
	page, err := k.Store.List(t.Context(), enginetest.Tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 20}, Now: k.Clock.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Data {
		wantStatus(t, k.Run(r.ID), rules.StatusCompleted)
	}
}

func TestARunThatOnlyFailsIsNotEnded(t *testing.T) {
	var seen poison
	k, runs := withRuns(t, func(_ *engine.Ports, o *engine.Options) { o.Observer = &seen })
	w := k.Apply(chain("a"))
	v, err := operator(t, k, otherIDs).Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var fails atomic.Bool
	fails.Store(true)
	onAppend(runs, func(verification.RunID, store.Commit) error {
		if fails.Load() {
			return errors.New("not saved")
		}
		return nil
	})
	k.Engine.Wake()
	k.Advance(20 * time.Minute)
	wantStatus(t, k.Run(v.ID), rules.StatusInProgress)
	if seen.tried < 3 || seen.runs != 0 {
		t.Errorf("%d trials, %d runs ended; want some trials and no end: no host stopped", seen.tried, seen.runs)
	}
	fails.Store(false)
	k.Advance(10 * time.Minute)
	wantStatus(t, k.Run(v.ID), rules.StatusCompleted)
}

func TestARunThatStopsItsHostsAloneIsEnded(t *testing.T) {
	var poisoned poison
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Lease, o.Observer = 10*time.Second, &poisoned })
	front := operator(t, k, otherIDs)
	w := k.Apply(chain("a"))
	v, err := front.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	loseLeases(t, k, 3, 2)
	k.Engine.Wake()
	run := k.Run(v.ID)
	wantStatus(t, run, rules.StatusFailed)
	if run.Error.Code != rules.CodeInternalError {
		t.Errorf("error = %+v, want an internal error", run.Error)
	}
	if n := len(k.Provider.Calls("a")); n != 0 {
		t.Errorf("the provider was called %d times, want never: the call may stop hosts", n)
	}
	if poisoned.runs != 1 {
		t.Errorf("RunPoisoned was called %d times, want once", poisoned.runs)
	}
}

// loseLeases takes the one run that is due n times, as hosts that stop at once do, and lets some of
// them drive it alone. The first lease is not lost until the second is taken.
func loseLeases(t *testing.T, k *enginetest.Kit, n, alone int) {
	t.Helper()
	for i := range n {
		at := k.Clock.Now().Add(time.Duration(i) * time.Second)
		work, _, err := k.Store.Take(t.Context(), store.TakeRequest{Kind: store.WorkAdvance, Now: at, Max: 1, MaxPerTenant: 1})
		if err == nil && i < alone {
			err = k.Store.Renew(t.Context(), []verification.RunRef{work[0].RunRef}, at, true)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	k.Advance(time.Duration(n) * time.Second)
}

// poison counts runs that were driven alone, and runs that were ended.
type poison struct {
	engine.Observer
	tried, runs int
}

func (*poison) Counted([]store.Measure)                      {}
func (*poison) ProviderCalled(string, string, time.Duration) {}
func (p *poison) RunDrivenAlone()                            { p.tried++ }
func (p *poison) RunPoisoned()                               { p.runs++ }

func TestAPoisonedRunIsEndedOnceAnHourAtMost(t *testing.T) {
	k, runs := withRuns(t, func(_ *engine.Ports, o *engine.Options) { o.Lease = 10 * time.Second })
	front := operator(t, k, otherIDs)
	w := k.Apply(chain("a"))
	v, err := front.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	loseLeases(t, k, 11, 2)
	var attempts atomic.Int32
	onAppend(runs, func(verification.RunID, store.Commit) error {
		if attempts.Add(1) <= 2 {
			return errors.New("not saved")
		}
		return nil
	})
	for n, want := range []rules.Status{rules.StatusInProgress, rules.StatusInProgress, rules.StatusFailed} {
		k.Engine.Wake()
		k.Advance(59 * time.Minute)
		if got := attempts.Load(); got != int32(n)+1 {
			t.Errorf("%d attempts to end the run in %d hours, want one in each", got, n+1)
		}
		wantStatus(t, k.Run(v.ID), want)
		k.Advance(time.Minute)
	}
	if n := len(k.Provider.Calls("a")); n != 0 {
		t.Errorf("the provider was called %d times, want never", n)
	}
}

// otherIDs gives an engine IDs that no kit gives.
func otherIDs(p *engine.Ports) { p.NewID = enginetest.SeededIDs(7) }
