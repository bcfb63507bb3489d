// The cost of the engine's reads, relative to the shortest round trip.

package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// BenchmarkReads runs one client that reads, alternating with a prepared SELECT 1 as
// the floor.
func BenchmarkReads(b *testing.B) {
	p := newDatabase(b)
	h := newHost(b, p.url, postgres.Options{})
	account := verification.Account{ClientID: "bench", Tenant: tenant, Surfaces: verification.Surfaces()}
	if err := h.store.SaveAccount(b.Context(), account); err != nil {
		b.Fatal(err)
	}
	v, err := h.engine.Start(b.Context(), tenant, h.checks, engine.StartRequest{ReferenceID: "person"})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := h.store.rest(v.ID); err != nil {
		b.Fatal(err)
	}
	floor := newRoundTrip(b, p)
	for _, read := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"Load", func(ctx context.Context) error {
			_, err := h.store.Load(ctx, tenant, v.ID, 0)
			return err
		}},
		{"LoadNothingNew", func(ctx context.Context) error {
			_, err := h.store.Load(ctx, tenant, v.ID, 12)
			return err
		}},
		{"Workflow", func(ctx context.Context) error {
			_, err := h.store.Workflow(ctx, tenant, h.checks)
			return err
		}},
		{"Account", func(ctx context.Context) error {
			_, err := h.store.Account(ctx, "bench")
			return err
		}},
		{"TakeNothing", func(ctx context.Context) error {
			_, _, err := h.store.Take(ctx, store.TakeRequest{
				Kind: store.WorkAdvance, Now: time.Now(), Lease: time.Minute, Max: 64, MaxPerTenant: 64,
			})
			return err
		}},
	} {
		b.Run(read.name, func(b *testing.B) { besideFloor(b, read.do, floor) })
	}
}

func newRoundTrip(b *testing.B, p database) func(context.Context) error {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), p.url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(context.WithoutCancel(b.Context())) })
	if _, err := conn.Prepare(b.Context(), "floor", "SELECT 1"); err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context) error {
		var one int
		return conn.QueryRow(ctx, "floor").Scan(&one)
	}
}

func besideFloor(b *testing.B, do, floor func(context.Context) error) {
	b.Helper()
	const apiece = 20 // consecutive reads of one kind, so that caches are warm
	timed := func(all []time.Duration, f func(context.Context) error) []time.Duration {
		for range apiece {
			began := time.Now()
			if err := f(b.Context()); err != nil {
				b.Fatal(err)
			}
			all = append(all, time.Since(began))
		}
		return all
	}
	var reads, trips []time.Duration
	for b.Loop() {
		reads = timed(reads, do)
		trips = timed(trips, floor)
	}
	read, trip := median(reads), median(trips)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(read)/float64(trip), "ratio")
	b.ReportMetric(float64(read.Nanoseconds())/1000, "µs")
	b.ReportMetric(float64(trip.Nanoseconds())/1000, "floor-µs")
}
