package pgadmin_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestHealthOfAnEmptyDatabase(t *testing.T) {
	s := fresh(t)
	h, err := pgadmin.Of(s).Health(t.Context(), time.Now)
	must(t, err)
	if h.ServerVersion == "" || h.Connections < 1 || h.MaxConnections < h.Connections || h.BypassesRLS {
		t.Errorf("Health() = %+v, want a server with connections and an ordinary role", h)
	}
	if h.ClockSkew.Abs() > 5*time.Second {
		t.Errorf("ClockSkew = %s on one machine", h.ClockSkew)
	}
	if h.LateWork != 0 || !h.OldestDue.IsZero() || h.OverdueRuns != 0 || h.PendingDeliveries != 0 || h.FailedDeliveries != 0 {
		t.Errorf("Health() = %+v, want nothing overdue", h)
	}
}

func TestHealthTellsOfMeasuresThatAreNotAddedUp(t *testing.T) {
	s := fresh(t)
	for _, row := range []string{"now() - interval '10 minutes', false", "now() - interval '1 minute', false", "now() - interval '1 hour', true", "now(), true"} {
		must(t, named(t, s, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO verifyd.measure_log (tenant_id, measures, logged_at, broken) SELECT $1::uuid, '[]', "+row, string(tenantNumber(1)))
			return err
		}))
	}
	h, err := pgadmin.Of(s).Health(t.Context(), time.Now)
	must(t, err)
	if h.BrokenMeasures != 2 || h.MeasuresWait < 10*time.Minute || h.MeasuresWait > 15*time.Minute {
		t.Errorf("Health() = %+v, want 2 broken measures, and others that wait for 10 minutes", h)
	}
}

func TestHealthCountsLateWorkOfEveryTenant(t *testing.T) {
	s := fresh(t)
	begin(t, s, tenantNumber(1), runNumber(1), rules.Summary{ExpiresAt: noon().Add(time.Minute)})
	begin(t, s, tenantNumber(2), runNumber(2), rules.Summary{ExpiresAt: noon().Add(time.Hour)})
	begin(t, s, tenantNumber(2), runNumber(3), rules.Summary{
		ExpiresAt: noon().Add(time.Minute), Ended: rules.StatusCancelled, CompletedAt: noon(),
	})
	for n, after := range map[int]time.Duration{1: time.Minute, 2: time.Hour} {
		at := noon().Add(after)
		must(t, s.Append(t.Context(), tenantNumber(n), runNumber(n), 1, store.Commit{
			Summary: rules.Summary{ID: runNumber(n), Workflow: flow, StartedAt: noon(), ExpiresAt: at}, Work: store.DueWork{{Kind: store.WorkExpire}: at},
		}))
	}
	for n, state := range []rules.DeliveryState{
		rules.DeliveryFailed, rules.DeliveryDelivered, rules.DeliveryFailed,
		rules.DeliveryPending, rules.DeliveryFailed,
	} {
		must(t, s.SaveDelivery(t.Context(), tenantNumber(n/2), rules.Delivery{Run: runNumber(n), State: state, LastAt: noon()}))
	}
	for _, c := range []struct {
		after            time.Duration
		overdue, expired int64
	}{
		{0, 0, 0},
		{pgadmin.LateAfter, 0, 0},
		{pgadmin.LateAfter + time.Microsecond, 3, 0},
		{pgadmin.LateAfter + time.Minute, 3, 0},
		{pgadmin.LateAfter + time.Minute + time.Microsecond, 3, 1},
		{pgadmin.LateAfter + 2*time.Hour, 3, 2},
	} {
		h, err := pgadmin.Of(s).Health(t.Context(), func() time.Time { return noon().Add(c.after) })
		must(t, err)
		if h.LateWork != c.overdue || h.OverdueRuns != c.expired || h.OldestDue.IsZero() != (c.overdue == 0) {
			t.Errorf("Health(start+%s): overdue %d since %s, expired %d, want %d and %d",
				c.after, h.LateWork, h.OldestDue, h.OverdueRuns, c.overdue, c.expired)
		}
		if c.overdue > 0 && !h.OldestDue.Equal(noon()) {
			t.Errorf("OldestDue = %s, want %s", h.OldestDue, noon())
		}
		if h.PendingDeliveries != 1 || h.FailedDeliveries != 3 {
			t.Errorf("deliveries: %d pending, %d dead, want 1 and 3", h.PendingDeliveries, h.FailedDeliveries)
		}
	}
}

func TestHealthMeasuresTheClockSkew(t *testing.T) {
	s := fresh(t)
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		h, err := pgadmin.Of(s).Health(t.Context(), func() time.Time { return time.Now().Add(-ahead) })
		must(t, err)
		if (h.ClockSkew - ahead).Abs() > 5*time.Second {
			t.Errorf("ClockSkew = %s with a clock that is %s behind", h.ClockSkew, ahead)
		}
	}
}

func TestHealthReportsARoleThatBypassesRowLevelSecurity(t *testing.T) {
	s, err := postgres.Open(t.Context(), pgtest.Admin(t, pgtest.Database(t)), postgres.Options{})
	must(t, err)
	defer s.Close()
	h, err := pgadmin.Of(s).Health(t.Context(), time.Now)
	if err != nil || !h.BypassesRLS {
		t.Errorf("Health() of a superuser = %+v, %v", h, err)
	}
}

func TestHealthUnderACancelledContext(t *testing.T) {
	s := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if h, err := pgadmin.Of(s).Health(ctx, time.Now); err == nil || h != (pgadmin.Health{}) {
		t.Errorf("Health() = %+v, %v, want an error alone", h, err)
	}
	if _, err := pgadmin.Of(s).CheckCounts(ctx); err == nil {
		t.Error("CheckCounts() succeeded, want an error")
	}
}

func TestHealthCountsWorkThatKeepsLosingItsLeases(t *testing.T) {
	s := fresh(t)
	begin(t, s, tenantNumber(1), runNumber(1), rules.Summary{})
	for n := range 4 {
		_, _, err := s.Take(t.Context(), store.TakeRequest{
			Kind: store.WorkAdvance, Now: noon().Add(time.Duration(n) * time.Minute), Lease: time.Second, Max: 1, MaxPerTenant: 1,
		})
		must(t, err)
		h, err := pgadmin.Of(s).Health(t.Context(), noon)
		must(t, err)
		if (h.RepeatedlyLost == 1) != (n >= 2) {
			t.Errorf("after %d lost leases, RepeatedlyLost = %d, want 1 from the second on", n, h.RepeatedlyLost)
		}
	}
}

func TestGaugesTellHowLateTheOldestWorkIs(t *testing.T) {
	s := fresh(t)
	for _, want := range []time.Duration{0, time.Minute} {
		g, err := pgadmin.Of(s).Gauges(t.Context(), noon().Add(time.Minute))
		must(t, err)
		if g.Lateness != want || g.Waiting != 0 || g.Connections < 1 || g.MaxConnections < g.Connections {
			t.Errorf("Gauges() = %+v, want a lateness of %s", g, want)
		}
		if want == 0 {
			begin(t, s, tenantNumber(1), runNumber(1), rules.Summary{})
		}
	}
}

func TestGaugesOfAHostOutliveItsDatabase(t *testing.T) {
	s := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if g, err := pgadmin.Of(s).Gauges(ctx, noon()); err == nil || g.MaxConnections == 0 {
		t.Errorf("Gauges() = %+v, %v, want the state of the host and an error", g, err)
	}
}
