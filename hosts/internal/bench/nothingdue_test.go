// The cost of a pass of retention that finds nothing due.

package bench_test

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/bench"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// BenchmarkNothingDue makes passes over ten workflows of a tenant whose policy asks for nothing yet, and over those of
// one without a policy. VERIFYD_BENCH_DATABASE is a database that command fill has filled.
func BenchmarkNothingDue(b *testing.B) {
	url := os.Getenv(envDatabase)
	if url == "" {
		url = newDatabase(b).url
	}
	s, err := postgres.Open(b.Context(), url, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	if os.Getenv(envDatabase) == "" {
		runs, err := strconv.Atoi(cmp.Or(os.Getenv(envRuns), "100000"))
		if err != nil {
			b.Fatalf("%s: %v", envRuns, err)
		}
		if err := bench.Fill(b.Context(), s, bench.FillOptions{Tenant: filledTenant, Runs: runs}); err != nil {
			b.Fatal(err)
		}
	}
	e, err := engine.New(engine.Ports{
		Store: s, Expressions: expression.New(), Links: enginetest.Links(), Clock: clock.System{}, NewID: uuid.NewString,
	}, engine.Options{Passive: true})
	if err != nil {
		b.Fatal(err)
	}
	t, err := s.Tenant(b.Context(), filledTenant)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		policy verification.Retention
	}{{"no-policy", verification.Retention{}}, {"policy", verification.Retention{RedactAfterDays: 3650, DeleteAfterDays: 3660}}} {
		b.Run(c.name, func(b *testing.B) {
			t.Retention = c.policy
			if err := s.SaveTenant(b.Context(), t); err != nil {
				b.Fatal(err)
			}
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if more, err := e.Retain(b.Context()); err != nil || more {
					b.Fatalf("something is due: %t, %v", more, err)
				}
				took = append(took, time.Since(began))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(median(took)), "ms")
			b.ReportMetric(ms(slices.Min(took)), "min-ms")
		})
	}
}
