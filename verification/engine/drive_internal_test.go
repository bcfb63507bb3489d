package engine

import (
	"context"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// idleEngine returns an engine without a store, whose loop does not run.
func idleEngine() *Engine {
	e := &Engine{activity: noop{}, opt: Options{Workers: 1, Calls: 4, Lease: time.Minute}, rescreening: newRescreening(nil, nil)}
	e.ports.Clock = &mock.ClockMock{NowFunc: func() time.Time { return time.Unix(0, 0) }}
	e.heavy, e.lanes = fair.NewLimiter(1, 1), newLanes()
	e.runner = newRunner(e)
	return e
}

func TestASlotRestsAfterTheFirstReadOfALargeRun(t *testing.T) {
	now, free := time.Unix(0, 0), func() {}
	var rest time.Duration
	e := idleEngine()
	e.ports.Clock = &mock.ClockMock{
		NowFunc: func() time.Time { return now },
		AfterFuncFunc: func(d time.Duration, f func()) func() bool {
			rest, free = d, f
			return nil
		},
	}
	e.loads, e.runs = fair.NewLimiter(2, 1), newRunCache(1<<20, e.lanes)
	ref := verification.RunRef{Tenant: "t", Run: "r"}
	run := rules.Run{ID: ref.Run, Started: rules.Started{Input: make(verification.Data, largeRun)}}
	for _, large := range []bool{false, true} {
		release, err := (&session{Engine: e, ref: ref}).admitRead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if now = now.Add(10 * time.Millisecond); large {
			e.runs.remember(ref, run)
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
	if want := 150 * time.Millisecond; rest != want {
		t.Errorf("the slot rests for %s after a read of 10 ms, want %s", rest, want)
	}
	free()
	next, ok := e.loads.TryAcquireN("t", 1)
	if !ok {
		t.Fatal("the slot is not free after its rest")
	}
	next()
	e.runs.Delete(ref)
	release, err := (&session{Engine: e, ref: ref}).admitRead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(10 * time.Second) // the store did not respond for some time
	e.runs.remember(ref, run)
	release()
	if rest != maxLoadRest {
		t.Errorf("the slot rests for %s after a read of 10 s, want %s", rest, maxLoadRest)
	}
}

func TestALargeRunIsWorkedOnWithoutAWorkerSlot(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ref := verification.RunRef{Tenant: "t", Run: "r"}
	started := rules.Started{VersionHash: "v", Input: make(verification.Data, largeRun)}
	e := idleEngine()
	e.runs = newRunCache(1<<20, e.lanes)
	runs := &mock.RunStoreMock{
		LoadFunc: func(context.Context, verification.TenantID, verification.RunID, int) ([]rules.Event, error) {
			return []rules.Event{{Fact: started}}, nil
		},
	}
	e.store = struct {
		store.RunStore
		store.WorkflowStore
		store.Tables
	}{RunStore: runs}
	for _, name := range []string{"unknown", "known"} {
		j := &job{session: session{Engine: e, ref: ref, waitless: true}}
		j.program.Version.Hash = started.VersionHash
		release, err := j.acquireWork(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.heavy.TryAcquireN("t", 1); ok {
			t.Errorf("a run whose size is %s holds no slot for expensive work", name)
		}
		if j.run.Seq > 0 {
			t.Errorf("a run whose size is %s was in memory while it waited", name)
		}
		free, err := e.runner.AcquireWorker(ctx, "t")
		if err != nil {
			t.Fatalf("a run whose size is %s holds a worker slot: %v", name, err)
		}
		free()
		release()
	}
	if n := len(runs.LoadCalls()); n != 1 {
		t.Errorf("the run was read %d times before the slots were granted, want once: its size was known then", n)
	}
}

func TestARunThatWaitsHasNoLease(t *testing.T) {
	e := idleEngine()
	e.store = struct {
		store.RunStore
		store.WorkflowStore
		store.Tables
	}{RunStore: &mock.RunStoreMock{
		AppendFunc: func(context.Context, verification.TenantID, verification.RunID, int, store.Commit) error {
			return nil
		},
	}}
	ref := verification.RunRef{Tenant: "t", Run: "r"}
	j := &job{Job: e.runner.Reserve(ref), session: session{Engine: e, ref: ref}}
	j.LeaseBegan(time.Unix(0, 1))
	if err := j.waitUntil(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if j.HasLease() {
		t.Error("the run has a lease, whose renewal would delay it")
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
