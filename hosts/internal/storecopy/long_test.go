package storecopy_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Some histories are several records of the journal, and several rows of the database although
// they are copied at once.
func TestLongHistoriesAreCopiedThereAndBack(t *testing.T) {
	const runs, verdicts, notes = 3, 60, 200_000
	ctx, source := t.Context(), memory.New()
	storereads.Fill(t, source, 20)
	tenants, err := source.Tenants(ctx)
	if err != nil {
		t.Fatal(err)
	}
	page, err := source.List(ctx, tenants[0].ID, store.RunQuery{PageQuery: store.PageQuery{Limit: runs}, Now: storereads.Start()})
	if err != nil {
		t.Fatal(err)
	}
	for _, summary := range page.Data {
		history, err := source.Load(ctx, tenants[0].ID, summary.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		run, seq := rules.Fold(summary.ID, history), len(history)
		for i := range verdicts {
			event := rules.Event{At: storereads.Start().Add(time.Hour), Fact: rules.VerdictRecorded{
				Decision: rules.DecisionApprove, Notes: strings.Repeat(fmt.Sprint(i%10), notes),
			}}
			after := run.Evolve(event)
			if err := source.Append(ctx, tenants[0].ID, summary.ID, seq, store.NewCommit(run, after, []rules.Event{event}, time.UTC)); err != nil {
				t.Fatal(err)
			}
			run, seq = after, seq+1
		}
	}
	d, back := openDatabase(t), openJournal(t, t.TempDir())
	copied(t, source, d.Store)
	var row int
	if err := d.admin.QueryRow(ctx, "SELECT max(octet_length(events)) FROM verifyd.run_events").Scan(&row); err != nil || row > 4<<20 {
		t.Errorf("a row has %d bytes of events, want at most 4 MiB (%v)", row, err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	read, most := 0, uint64(0)
	for _, err := range d.Records(ctx, store.RecordRun) {
		if err != nil {
			t.Fatal(err)
		}
		read++
		runtime.GC()
		runtime.ReadMemStats(&after)
		most = max(most, after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc))
	}
	if limit := uint64(2.5 * verdicts * notes); read != 20 || most > limit {
		t.Errorf("%d runs needed %d MiB at once, want at most %d MiB, and not all large ones at once", read, most>>20, limit>>20)
	}
	copied(t, d.Store, back)
	if err := back.Close(); err != nil {
		t.Fatal(err)
	}
}
