package engine

import (
	"context"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/fair"
)

func TestARunTakenForAReservationIsReleasedWhenTheHostStops(t *testing.T) {
	queue := &mock.WorkQueueMock{
		RenewFunc:   func(context.Context, []verification.RunRef, time.Time) error { return nil },
		ReleaseFunc: func(context.Context, []verification.Work, time.Time) error { return nil },
	}
	clock := &mock.ClockMock{NowFunc: func() time.Time { return time.Unix(0, 0) }}
	e := &Engine{activity: noop{}, opt: Options{Workers: 1, Calls: 4, Lease: time.Minute}}
	e.ports.Clock = clock
	e.ports.Store = struct {
		verification.RunStore
		verification.WorkQueue
		verification.WorkflowStore
		verification.TenantStore
		verification.IdempotencyStore
		verification.DeliveryStore
		verification.ReviewQueue
		verification.ClaimStore
		verification.MeasureStore
		verification.RescreenStore
	}{WorkQueue: queue}
	e.heavy = fair.NewLimiter(1, 1)
	r := newRunner(e)
	ref := verification.RunRef{Tenant: "t", Run: "r"}
	reserved := r.reserve(ref)
	if err := r.accept(t.Context(), []verification.Work{{RunRef: ref}}); err != nil {
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
