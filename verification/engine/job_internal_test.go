package engine

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/internal/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// idleRunner returns a runner whose loop does not run, and the queue of its store.
func idleRunner() (*runner, *mock.WorkQueueMock) {
	queue := &mock.WorkQueueMock{
		RenewFunc:   func(context.Context, []verification.RunRef, time.Time) error { return nil },
		ReleaseFunc: func(context.Context, []store.Work, time.Time) error { return nil },
	}
	clock := &mock.ClockMock{NowFunc: func() time.Time { return time.Unix(0, 0) }}
	e := &Engine{activity: noop{}, opt: Options{Workers: 1, Calls: 4, Lease: time.Minute}}
	e.ports.Clock = clock
	e.ports.Store = struct {
		store.RunStore
		store.WorkQueue
		store.WorkflowStore
		store.TenantStore
		store.TenantLister
		store.IdempotencyStore
		store.DeliveryStore
		store.MeasureStore
		store.RescreenStore
	}{WorkQueue: queue}
	e.heavy = fair.NewLimiter(1, 1)
	return newRunner(e), queue
}

func TestASlotRestsAfterTheFirstReadOfALargeRun(t *testing.T) {
	now, free := time.Unix(0, 0), func() {}
	var rest time.Duration
	r, _ := idleRunner()
	e := r.e
	e.ports.Clock = &mock.ClockMock{
		NowFunc: func() time.Time { return now },
		AfterFuncFunc: func(d time.Duration, f func()) func() bool {
			rest, free = d, f
			return nil
		},
	}
	e.rests, e.loads, e.runs = true, fair.NewLimiter(2, 1), newRunCache(1<<20)
	e.large = lru.New[verification.RunRef](8, 1, func(bool) int { return 1 })
	ref := verification.RunRef{Tenant: "t", Run: "r"}
	for _, large := range []bool{false, true} {
		release, err := e.acquireLoad(t.Context(), ref, false)
		if err != nil {
			t.Fatal(err)
		}
		if now = now.Add(10 * time.Millisecond); large {
			e.large.Put(ref, true)
		}
		release()
		next, ok := e.loads.TryAcquireN("t", 1)
		if ok == large {
			t.Errorf("after the read of a run (large: %t), the slot is free: %t", large, ok)
		}
		if ok {
			next()
		}
	}
	if want := 30 * time.Millisecond; rest != want {
		t.Errorf("the slot rests for %s after a read of 10 ms, want %s", rest, want)
	}
	free()
	next, ok := e.loads.TryAcquireN("t", 1)
	if !ok {
		t.Fatal("the slot is not free after its rest")
	}
	next()
	e.large.Delete(ref)
	release, err := e.acquireLoad(t.Context(), ref, false)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(10 * time.Second) // the store did not respond for some time
	e.large.Put(ref, true)
	release()
	if rest != maxLoadRest {
		t.Errorf("the slot rests for %s after a read of 10 s, want %s", rest, maxLoadRest)
	}
}

func TestAReservedRunIsReleasedWhenTheHostStops(t *testing.T) {
	r, queue := idleRunner()
	ref := verification.RunRef{Tenant: "t", Run: "r"}
	reserved := r.reserve(ref)
	if err := r.accept(t.Context(), []store.Work{{RunRef: ref}}); err != nil {
		t.Fatal(err)
	}
	r.closing = true
	r.cancelReservation(reserved)
	if err := r.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls := queue.ReleaseCalls()
	if len(calls) != 1 || len(calls[0].Work) != 1 || calls[0].Work[0].RunRef != ref {
		t.Errorf("Release = %+v, want one call with the run", calls)
	}
}

func TestARunThatEndsDuringAStopTakesNoPlace(t *testing.T) {
	r, queue := idleRunner()
	ref := func(id verification.RunID) verification.RunRef { return verification.RunRef{Tenant: "t", Run: id} }
	r.handover = append(make([]verification.RunRef, 0, 8), ref("ended"))
	r.jobs[ref("called")] = &job{session: session{ref: ref("called")}}
	halt := r.halt
	r.halt = func() { // the call of the run ends now
		r.handover = append(r.handover, ref("late"))
		halt()
	}
	if err := r.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []store.Work{
		{Kind: store.WorkAdvance, RunRef: ref("ended")}, {Kind: store.WorkAdvance, RunRef: ref("called")},
	}
	if diff := cmp.Diff(want, queue.ReleaseCalls()[0].Work); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

func TestAReservationForARunThatIsDrivenKeepsItsJob(t *testing.T) {
	r, _ := idleRunner()
	driven := r.reserve(verification.RunRef{Tenant: "t", Run: "r"})
	driven.active = true
	r.cancelReservation(r.reserve(driven.ref))
	if r.jobs[driven.ref] != driven {
		t.Error("the job of the run is gone")
	}
}

func TestARunSubmittedDuringAJobGetsAnotherPass(t *testing.T) {
	r, _ := idleRunner()
	old := r.reserve(verification.RunRef{Tenant: "t", Run: "r"})
	r.drop(old)
	driven := r.reserve(old.ref)
	driven.active = true
	r.submit(old, verification.Run{}, verification.Program{})
	if !driven.changed || old.active {
		t.Errorf("the driving job makes another pass: %t, and the old one drives the run, too: %t", driven.changed, old.active)
	}
}

func TestACallThatComesWhenTheHostStopsIsHandedOver(t *testing.T) {
	r, _ := idleRunner()
	j := r.reserve(verification.RunRef{Tenant: "t", Run: "r"})
	j.ctx = t.Context()
	r.closing = true
	if release, err := r.acquireCall(j, "script", 1); !errors.Is(err, errHandOver) {
		t.Errorf("acquireCall = %t, %v; want the run handed over", release != nil, err)
	}
}

func TestTheLeaseOfARunThatWaitsIsNotRenewed(t *testing.T) {
	r, queue := idleRunner()
	r.e.store = struct {
		store.RunStore
		store.WorkflowStore
		store.TenantStore
		store.TenantLister
	}{RunStore: &mock.RunStoreMock{
		AppendFunc: func(context.Context, verification.TenantID, verification.RunID, int, store.Commit) error {
			return nil
		},
	}}
	j := r.reserve(verification.RunRef{Tenant: "t", Run: "r"})
	j.leased.Store(1)
	now := time.Unix(0, 1).Add(r.e.opt.Lease)
	if _, err := r.renewLeases(t.Context(), now); err != nil || len(queue.RenewCalls()) != 1 {
		t.Fatalf("%d renewals while the run is driven, %v; want 1", len(queue.RenewCalls()), err)
	}
	if err := r.wait(j, now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.renewLeases(t.Context(), now.Add(r.e.opt.Lease)); err != nil || len(queue.RenewCalls()) != 1 {
		t.Errorf("%d renewals, %v; want none once it waits", len(queue.RenewCalls()), err)
	}
}

type timeoutError struct{ error }

func (timeoutError) Class() string { return verification.ClassTimeout }

func TestReceiversThatAreNotPausedAreForgotten(t *testing.T) {
	rs, now := receivers{}, time.Unix(0, 0)
	timeOut := func(address string, times int) {
		for range times {
			if !rs.admit(address, "t", now) {
				t.Fatalf("a notice to %s is not admitted", address)
			}
			rs.ended(address, "t", timeoutError{}, now)
		}
	}
	timeOut("paused", maxTimeouts)
	rs.admit("busy", "t", now)
	for n := range 3 * maxReceivers {
		timeOut(strconv.Itoa(n), 1)
	}
	if len(rs) > maxReceivers {
		t.Errorf("%d receivers are known, want at most %d", len(rs), maxReceivers)
	}
	if rs["paused"] == nil || rs["busy"] == nil {
		t.Error("a paused or a busy receiver was forgotten")
	}
	now = now.Add(firstPause)
	for n := range maxReceivers {
		timeOut(strconv.Itoa(-n), 1)
	}
	if rs["paused"] != nil {
		t.Error("a receiver is known although its pause is over")
	}
}

func TestAWatchThatEndedLeavesNothing(t *testing.T) {
	var w watchers
	ref := verification.RunRef{Tenant: "t", Run: "r"}
	_, endFirst := w.add(ref)
	second, endSecond := w.add(ref)
	endFirst()
	w.wake(ref)
	if len(second) != 1 {
		t.Error("the second watch was not woken")
	}
	if endSecond(); len(w.runs) != 0 {
		t.Errorf("watched = %v, want none", w.runs)
	}
}
