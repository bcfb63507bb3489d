package runner

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// idleRunner returns a runner whose loop does not run, and its queue.
func idleRunner() (*Runner, *mock.WorkQueueMock) {
	queue := &mock.WorkQueueMock{
		RenewFunc:   func(context.Context, []verification.RunRef, time.Time, bool) error { return nil },
		ReleaseFunc: func(context.Context, []store.Work, time.Time) error { return nil },
	}
	clock := &mock.ClockMock{NowFunc: func() time.Time { return time.Unix(0, 0) }}
	return New(Config{
		Queue: queue, Clock: clock, Activity: noActivity{}, Log: slog.New(slog.DiscardHandler),
		Workers: 1, Calls: 4, Lease: time.Minute,
	}), queue
}

type noActivity struct{}

func (noActivity) Enter() {}
func (noActivity) Leave() {}

func TestAReservedRunIsReleasedWhenTheHostStops(t *testing.T) {
	r, queue := idleRunner()
	ref := verification.RunRef{Tenant: "t", Run: "r"}
	reserved := r.Reserve(ref)
	if err := r.accept(t.Context(), []store.Work{{RunRef: ref}}); err != nil {
		t.Fatal(err)
	}
	r.closing = true
	r.CancelReservation(reserved)
	if _, err := r.Close(t.Context()); err != nil {
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
	r.jobs[ref("called")] = &Job{Ref: ref("called")}
	halt := r.halt
	r.halt = func() { // the call of the run ends now
		r.handover = append(r.handover, ref("late"))
		halt()
	}
	if _, err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	advance := store.WorkKey{Kind: store.WorkAdvance}
	want := []store.Work{{WorkKey: advance, RunRef: ref("ended")}, {WorkKey: advance, RunRef: ref("called")}}
	if diff := cmp.Diff(want, queue.ReleaseCalls()[0].Work); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

func TestAReservationForARunThatIsDrivenKeepsItsJob(t *testing.T) {
	r, _ := idleRunner()
	driven := r.Reserve(verification.RunRef{Tenant: "t", Run: "r"})
	driven.active = true
	r.CancelReservation(r.Reserve(driven.Ref))
	if r.jobs[driven.Ref] != driven {
		t.Error("the job of the run is gone")
	}
}

func TestARunSubmittedDuringAJobGetsAnotherPass(t *testing.T) {
	r, _ := idleRunner()
	old := r.Reserve(verification.RunRef{Tenant: "t", Run: "r"})
	r.dropLocked(old)
	driven := r.Reserve(old.Ref)
	driven.active = true
	r.Submit(old, func(*Job) {})
	if !driven.changed || old.active {
		t.Errorf("the driving job makes another pass: %t, and the old one drives the run, too: %t", driven.changed, old.active)
	}
}

func TestACallThatComesWhenTheHostStopsIsHandedOver(t *testing.T) {
	r, _ := idleRunner()
	j := r.Reserve(verification.RunRef{Tenant: "t", Run: "r"})
	j.ctx = t.Context()
	r.closing = true
	if release, err := r.AcquireCall(j, "script", 1, func() {}); !errors.Is(err, ErrHandOver) {
		t.Errorf("AcquireCall = %t, %v; want the run handed over", release != nil, err)
	}
}

func TestALeaseThatEndedIsNotRenewed(t *testing.T) {
	r, queue := idleRunner()
	j := r.Reserve(verification.RunRef{Tenant: "t", Run: "r"})
	j.LeaseBegan(time.Unix(0, 1))
	now := time.Unix(0, 1).Add(r.cfg.Lease)
	if _, err := r.renewLeases(t.Context(), now); err != nil || len(queue.RenewCalls()) != 1 {
		t.Fatalf("%d renewals while the run is driven, %v; want 1", len(queue.RenewCalls()), err)
	}
	j.LeaseEnded()
	if _, err := r.renewLeases(t.Context(), now.Add(r.cfg.Lease)); err != nil || len(queue.RenewCalls()) != 1 {
		t.Errorf("%d renewals, %v; want none once the lease has ended", len(queue.RenewCalls()), err)
	}
}
