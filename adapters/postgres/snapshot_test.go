// Tests of reading all records while the store changes.

package postgres_test

import (
	"context"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// TestASnapshotIsOfOneMoment adds runs of two tenants before the first reading, whose measures are only in the log then, and after it.
func TestASnapshotIsOfOneMoment(t *testing.T) {
	s := openAt(t, pgtest.Database(t), postgres.Options{SingleHost: true})
	const theirs verification.TenantID = "00000000-0000-7000-8000-0000000000ff"
	n := 0
	start := func() {
		t.Helper()
		n++
		for _, tenant := range []verification.TenantID{ours, theirs} {
			c := started(n, noon(), false)
			c.Summary.Workflow = flow
			c.Measures = []store.Measure{{MeasureKey: store.MeasureKey{Name: store.MeasureStarted}, Day: today(), Count: 1}}
			must(t, s.Append(t.Context(), tenant, runNumber(n), 0, c))
		}
	}
	must(t, s.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
	start()
	runs, counts := map[verification.RunRef]int{}, map[verification.TenantID]int{}
	must(t, s.Snapshot(t.Context(), func(records func(context.Context, store.RecordKind) iter.Seq2[store.Record, error]) error {
		start()
		for _, kind := range []store.RecordKind{store.RecordTenant, store.RecordMeasure, store.RecordRun} {
			for r, err := range records(t.Context(), kind) {
				must(t, err)
				switch r := r.(type) {
				case store.RunRecord:
					runs[r.Run] = len(r.Events)
				case store.MeasureRecord:
					counts[r.Tenant] += r.Count
				}
			}
			start()
		}
		return nil
	}))
	want := map[verification.RunRef]int{}
	for i := 1; i <= 2; i++ {
		for _, tenant := range []verification.TenantID{ours, theirs} {
			want[verification.RunRef{Tenant: tenant, Run: runNumber(i)}] = 1
		}
	}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Errorf("the events of runs (-want +got): %s", diff)
	}
	if diff := cmp.Diff(map[verification.TenantID]int{ours: 2, theirs: 2}, counts); diff != "" {
		t.Errorf("the starts (-want +got): %s", diff)
	}
}
