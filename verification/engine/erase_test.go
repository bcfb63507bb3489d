// Tests of erasures: when a redaction is complete, and the ledger of a store that was restored.

package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// remains is a store.Removals whose removals are gone when the test says so.
type remains struct {
	marks, gone int64
	failure     error
}

func (r *remains) Removed(_ context.Context, before int64) (int64, bool, error) {
	if before == 0 {
		r.marks++
	}
	return r.marks, before <= r.gone, r.failure
}

func noted(t *testing.T, l verification.ErasureLedger) (all []verification.Erasure) {
	t.Helper()
	if err := l.EachErasure(t.Context(), func(e verification.Erasure) bool {
		all = append(all, e)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestARedactionIsCompleteOnceAllIsGone(t *testing.T) {
	ledger, left := blob.MemoryLedger(), &remains{failure: errors.New("away")}
	k := enginetest.New(t, holding, func(p *engine.Ports, _ *engine.Options) { p.Ledger, p.Removals = ledger, left })
	run := lived(t, k, "Asha")
	redacted := redact(t, k, run)
	erased := func() time.Time { return k.Run(run).ErasedAt }
	if n, oldest := k.Engine.PendingRedactions(); n != 1 || !oldest.Equal(redacted.RedactedAt) {
		t.Errorf("%d redactions are pending, since %v", n, oldest)
	}
	left.failure = nil
	k.Advance(10 * time.Minute)
	if !erased().IsZero() {
		t.Error("the redaction is complete while caches of other hosts may have the run")
	}
	k.Advance(time.Hour)
	if !erased().IsZero() {
		t.Error("the redaction is complete while the store has something of it")
	}
	left.gone = left.marks
	k.Advance(2 * time.Minute)
	if at := erased(); at.IsZero() {
		t.Error("the redaction is not complete although everything is gone")
	}
	if n, _ := k.Engine.PendingRedactions(); n != 0 {
		t.Errorf("%d redactions are pending afterwards", n)
	}
	for _, e := range noted(t, ledger)[1:] {
		want := verification.Erasure{
			Ledger: e.Ledger, Number: 2, Tenant: enginetest.Tenant, Run: run, Kind: verification.ErasureRedacted, At: redacted.RedactedAt, StartedAt: redacted.StartedAt,
		}
		if e != want {
			t.Errorf("the ledger has %+v, want %+v", e, want)
		}
	}
	again := redact(t, k, run)
	k.Advance(time.Hour)
	if all := noted(t, ledger); len(all) != 2 || all[0].Kind != verification.ErasureOpened {
		t.Errorf("the ledger has %+v, want its beginning and one redaction, since the second request removed nothing", all)
	}
	if after := k.Run(run); after.Seq != again.Seq || !after.RedactedAt.Equal(redacted.RedactedAt) {
		t.Errorf("asked again: %+v, before %+v", after, again)
	}
}

// A change of the run meanwhile has it read again at once. A conflict that stays is logged, and is tried again in a minute.
func TestARemovalThatMeetsAChangeIsTriedAgain(t *testing.T) {
	for _, row := range []struct{ conflicts, attempts int }{{1, 2}, {9, 10}, {10, 11}} {
		var log bytes.Buffer
		k, runs := withRuns(t, holding, func(_ *engine.Ports, o *engine.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		run := lived(t, k, "Asha")
		redacted := redact(t, k, run)
		save, attempts := runs.AppendFunc, 0
		runs.AppendFunc = func(ctx context.Context, tenant verification.TenantID, id verification.RunID, after int, c store.Commit) error {
			if len(c.Events) > 0 && c.Events[0].Kind() == "erased" {
				if attempts++; attempts <= row.conflicts {
					return store.HistoryChanged()
				}
			}
			return save(ctx, tenant, id, after, c)
		}
		k.Advance(11 * time.Minute)
		waits := row.attempts > 10
		if at := k.Run(run).ErasedAt; at.IsZero() != waits || strings.Contains(log.String(), "it is later") != waits {
			t.Errorf("%d conflicts: complete at %v, and the log has %s", row.conflicts, at, log.String())
		}
		k.Advance(time.Minute)
		if at := k.Run(run).ErasedAt; !at.After(redacted.RedactedAt) || attempts != row.attempts {
			t.Errorf("%d conflicts: complete at %v after %d attempts, want %d", row.conflicts, at, attempts, row.attempts)
		}
	}
}

// backup copies a store as it is.
func backup(t *testing.T, from *memory.Store) *memory.Store {
	t.Helper()
	to := memory.New()
	for _, kind := range store.RecordKinds() {
		for r, err := range from.Records(t.Context(), kind) {
			if err == nil {
				err = to.SaveRecords(t.Context(), []store.Record{r})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return to
}

// restored returns a host on a backup, which has not looked at the ledger yet. It drives nothing until then.
func restored(t *testing.T, k *enginetest.Kit, from *memory.Store, ledger verification.ErasureLedger) *engine.Engine {
	t.Helper()
	host := enginetest.New(t, holding, func(p *engine.Ports, o *engine.Options) {
		p.Store, p.Clock, p.Ledger, o.Passive = from, k.Clock, ledger, true
	})
	return host.Engine
}

// TestARestoredRunIsRedactedInEveryState makes a backup in each state of a run that is redacted later.
func TestARestoredRunIsRedactedInEveryState(t *testing.T) {
	hold := rules.HoldRun{Reason: "Asha is in dispute", By: "Ravi", Identity: "ravi"}
	approve := rules.GiveVerdict{Decision: rules.DecisionApprove, Notes: "Asha is fine", By: "asha", Identity: "asha"}
	for _, row := range []struct {
		name string
		to   func(k *enginetest.Kit) verification.RunID // brings a run to the state
		end  func(k *enginetest.Kit, run verification.RunID) error
		want rules.Status
		owed bool
	}{
		{"completed", func(k *enginetest.Kit) verification.RunID { return lived(t, k, "Asha") }, nil, rules.StatusCompleted, false},
		{"live", func(k *enginetest.Kit) verification.RunID {
			return k.Start(k.Apply(kept()).ID, engine.StartRequest{ReferenceID: "Asha", Input: verification.Data(`{"name":"Asha"}`)}).ID
		}, func(k *enginetest.Kit, run verification.RunID) error {
			_, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run)
			k.Settle()
			return err
		}, rules.StatusCancelled, false},
		{"held", func(k *enginetest.Kit) verification.RunID {
			run := lived(t, k, "Asha")
			if err := k.Engine.HoldRun(t.Context(), enginetest.Tenant, run, hold); err != nil {
				t.Fatal(err)
			}
			return run
		}, func(k *enginetest.Kit, run verification.RunID) error {
			return k.Engine.EndHold(t.Context(), enginetest.Tenant, run, rules.EndHold{By: "Ravi", Identity: "ravi"})
		}, rules.StatusCompleted, false},
		{"notice pending", func(k *enginetest.Kit) verification.RunID {
			k.Notices.FailWith(errors.New("away"))
			return lived(t, k, "Asha")
		}, func(k *enginetest.Kit, _ verification.RunID) error {
			k.Advance(time.Hour)
			return nil
		}, rules.StatusCompleted, false},
		{"verdict owed", func(k *enginetest.Kit) verification.RunID {
			d := kept()
			d.Start, d.LifecycleWebhookURL, d.Nodes = "photo", "", map[verification.NodeID]workflow.Node{"done": d.Nodes["done"]}
			d.Nodes["photo"] = workflow.Node{Type: workflow.NodeConsent, Label: "Consent", Text: "We will check you.", OnDeclined: "next", Next: "done"}
			run := k.Start(k.Apply(d).ID, engine.StartRequest{ReferenceID: "Asha", Input: verification.Data(`{"name":"Asha"}`)})
			k.Submit(run.ID, "photo_submitted", map[string]any{"consent_status": "declined"})
			return run.ID
		}, func(k *enginetest.Kit, run verification.RunID) error {
			_, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, approve, "")
			return err
		}, rules.StatusCompleted, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			ledger := blob.MemoryLedger()
			k := enginetest.New(t, holding, func(p *engine.Ports, _ *engine.Options) { p.Ledger = ledger })
			run := row.to(k)
			before := backup(t, k.Store)
			k.Advance(time.Second)
			if row.end != nil {
				if err := row.end(k, run); err != nil {
					t.Fatal(err)
				}
			}
			redact(t, k, run)
			host := restored(t, k, before, ledger)
			got, err := host.ApplyErasures(t.Context(), "")
			want := engine.AppliedErasures{Redacted: 1}
			if row.name == "held" { // the end of the hold comes first
				want.Kept = 1
			}
			if err != nil || got != want {
				t.Fatalf("ApplyErasures = %+v, %v; want %+v", got, err, want)
			}
			h, err := host.History(t.Context(), enginetest.Tenant, run)
			if raw, _ := json.Marshal([]any{h.Events, h.Run}); err != nil || strings.Contains(string(raw), "Asha") || h.Run.RedactedAt.IsZero() {
				t.Errorf("the run is %s, %v", raw, err)
			}
			if h.Report.Run.Status != row.want || (h.Report.Decision == rules.DecisionReview) != row.owed {
				t.Errorf("the run is %s, and its decision %q", h.Report.Run.Status, h.Report.Decision)
			}
			if row.owed {
				if _, err := host.GiveVerdict(t.Context(), enginetest.Tenant, run, approve, ""); err != nil {
					t.Errorf("the verdict = %v", err)
				}
			}
			if work, _, err := before.Take(t.Context(), store.TakeRequest{Kind: store.WorkAnnounce, Now: k.Clock.Now().Add(time.Hour), Lease: time.Second, Max: 9, MaxPerTenant: 9}); err != nil || len(work) != 0 {
				t.Errorf("notices are left: %v, %v", work, err)
			}
			if again, err := host.ApplyErasures(t.Context(), ""); err != nil || again != (engine.AppliedErasures{}) {
				t.Errorf("again: %+v, %v", again, err)
			}
		})
	}
}

func TestOnlyWhatIsNewInTheLedgerIsApplied(t *testing.T) {
	ledger := blob.MemoryLedger()
	k := enginetest.New(t, holding, func(p *engine.Ports, _ *engine.Options) { p.Ledger = ledger })
	if _, err := k.Engine.ApplyErasures(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	var before *memory.Store
	for n := range 40 {
		if n == 20 {
			before = backup(t, k.Store)
		}
		k.Advance(time.Second)
		redact(t, k, lived(t, k, fmt.Sprintf("Asha-%d", n)))
	}
	for _, row := range []struct {
		on   *memory.Store
		want int
	}{{k.Store, 0}, {before, 20}, {before, 0}} {
		loads := 0
		counted := replace(row.on, func(s *ports) { s.RunStore = countingLoads{row.on, &loads} })
		host := enginetest.New(t, holding, func(p *engine.Ports, o *engine.Options) {
			p.Store, p.Clock, p.Ledger, o.Passive = counted, k.Clock, ledger, true
		}).Engine
		got, err := host.ApplyErasures(t.Context(), "")
		if err != nil || got != (engine.AppliedErasures{}) || loads != row.want {
			t.Errorf("ApplyErasures = %+v, %v after %d reads of runs; want nothing after %d, since the runs began after the backup", got, err, loads, row.want)
		}
	}
}

// countingLoads counts the runs that are read.
type countingLoads struct {
	store.RunStore
	loads *int
}

func (c countingLoads) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
	*c.loads++
	return c.RunStore.Load(ctx, t, id, after)
}

func TestADeletionIsAppliedAgain(t *testing.T) {
	ledger := blob.MemoryLedger()
	k := enginetest.New(t, holding)
	run := lived(t, k, "Asha")
	live := k.Start(k.Apply(kept()).ID, engine.StartRequest{ReferenceID: "Asha", Input: verification.Data(`{"name":"Asha"}`)})
	for _, r := range []rules.RunDetail{k.Run(run), live} {
		if err := ledger.NoteErasures(t.Context(), verification.Erasure{
			Tenant: enginetest.Tenant, Run: r.ID, Kind: verification.ErasureDeleted, At: k.Clock.Now(), StartedAt: r.StartedAt,
		}); err != nil {
			t.Fatal(err)
		}
	}
	at := backup(t, k.Store)
	host := restored(t, k, at, ledger)
	if got, err := host.ApplyErasures(t.Context(), ""); err != nil || got != (engine.AppliedErasures{Deleted: 2}) {
		t.Fatalf("ApplyErasures = %+v, %v; want two deletions", got, err)
	}
	for _, id := range []verification.RunID{run, live.ID} {
		q := store.AuditQuery{Run: id, Action: store.AuditRunDeleted, Limit: 9}
		if entries, err := at.AuditEntries(t.Context(), enginetest.Tenant, q); err != nil || len(entries) != 1 || entries[0].Actor.Kind != verification.ActorSystem {
			t.Errorf("the trail says of the deletion of run %s: %+v, %v", id, entries, err)
		}
		if _, err := host.Run(t.Context(), enginetest.Tenant, id); !errors.Is(err, verification.ErrNotFound) {
			t.Errorf("run %s: %v, want ErrNotFound", id, err)
		}
	}
}
