package memory_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// appendTo appends facts to a run.
func appendTo(t *testing.T, s store.Store, n int, facts ...rules.Fact) error {
	t.Helper()
	return appendKeyed(t, s, n, nil, facts...)
}

// sizedTenant is the tenant of the runs.
const sizedTenant = verification.TenantID("a0000000-0000-7000-8000-000000000001")

// appendKeyed also replaces the search keys of the run, unless keys is nil.
func appendKeyed(t *testing.T, s store.Store, n int, keys []store.SearchKey, facts ...rules.Fact) error {
	t.Helper()
	id := verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n))
	history, err := s.Load(t.Context(), sizedTenant, id, 0)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		t.Fatal(err)
	}
	var events []rules.Event
	for _, f := range facts {
		events = append(events, rules.Event{At: time.Date(2026, 3, 1, 9, 0, n, 0, time.UTC), Fact: f})
	}
	before := rules.Fold(id, history)
	after := rules.Fold(id, append(history[:len(history):len(history)], events...))
	c := store.NewCommit(before, after, events, time.UTC)
	c.Keys = keys
	return s.Append(t.Context(), sizedTenant, id, len(history), c)
}

func started(n int) rules.Fact {
	return rules.Started{
		Workflow: "c0000000-0000-7000-8000-000000000001", WorkflowName: "Onboarding", Version: 1, VersionHash: "first",
		ReferenceID: fmt.Sprint("customer-", n),
	}
}

// heap returns the size of the live objects, which the runtime knows after a collection.
func heap() int64 {
	live := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	runtime.GC()
	runtime.GC() // the first one may leave what it began without
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}

// newKeys returns search keys that no other run has.
func newKeys(n, many int) []store.SearchKey {
	keys := make([]store.SearchKey, many)
	for i := range keys {
		sum := sha256.Sum256(fmt.Append(nil, n, "/", i))
		keys[i] = store.SearchKey(sum[:16])
	}
	return keys
}

func TestKeptIsAboutWhatTheHeapHas(t *testing.T) {
	waits := func(n int) rules.Fact {
		return rules.CustomerAwaited{Node: verification.NodeID(fmt.Sprint("step-", n%7)), Type: workflow.NodeConsent, Label: fmt.Sprint("Consent ", n), Signal: fmt.Sprint("consent-", n)}
	}
	dispatched := rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "sandbox", Dispatch: 1, Visit: 1}
	text := func(n, length int) string { return fmt.Sprint(n) + strings.Repeat("a", length) }
	result := func(n, length int) rules.Fact {
		return rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.DataOf(map[string]any{"text": text(n, length)})}
	}
	for name, load := range map[string]struct {
		many int
		add  func(s *memory.Store, n int) error
	}{
		"small runs": {5000, func(s *memory.Store, n int) error {
			return errors.Join(appendTo(t, s, n, started(n)), appendTo(t, s, n, dispatched), appendTo(t, s, n, result(n, 10), rules.Completed{Node: "done"}))
		}},
		"results": {5000, func(s *memory.Store, n int) error {
			return errors.Join(appendTo(t, s, n, started(n)), appendTo(t, s, n, dispatched), appendTo(t, s, n, result(n, 5000), rules.Completed{Node: "done"}))
		}},
		"search words": {3000, func(s *memory.Store, n int) error {
			return appendKeyed(t, s, n, newKeys(n, 64), started(n))
		}},
		"a few search words": {5000, func(s *memory.Store, n int) error {
			return appendKeyed(t, s, n, append(newKeys(n, 4), newKeys(n%50, 2)...), started(n))
		}},
		"waiting runs": {5000, func(s *memory.Store, n int) error { return appendTo(t, s, n, started(n), waits(n)) }},
		"waiting runs with deadlines": {5000, func(s *memory.Store, n int) error {
			begun := started(n).(rules.Started) //nolint:errcheck,forcetypeassert // it is one
			begun.RunTTLSeconds, begun.AbandonTimeoutSeconds, begun.Zone = 86400, 900, "Asia/Kolkata"
			return appendTo(t, s, n, begun, waits(n))
		}},
		"runs that a vendor has": {5000, func(s *memory.Store, n int) error {
			if err := appendTo(t, s, n, started(n), dispatched, rules.ResultPending{Node: "pan", Handle: text(n, 30)}); err != nil {
				return err
			}
			return queueAdvance(t, s, n)
		}},
		"answers": {3000, func(s *memory.Store, n int) error {
			err := appendTo(t, s, n, started(n), waits(n))
			for i := range 4 {
				data := verification.DataOf(map[string]any{"name": text(n, 100), "city": text(i, 40)})
				err = errors.Join(err, appendTo(t, s, n, rules.JourneyOpened{Node: "consent"}),
					appendTo(t, s, n, rules.CustomerSubmitted{Node: "consent", Data: data, Language: "en", Request: text(n, 36)}, waits(i)))
			}
			return err
		}},
		"uploads": {2000, func(s *memory.Store, n int) error {
			err := appendTo(t, s, n, started(n), waits(n))
			for i := range 10 {
				err = errors.Join(err, appendTo(t, s, n, rules.DocumentUploaded{
					Node: "consent", Document: text(n, 32), Field: "front", MediaType: "image/jpeg", Size: int64(i), SHA256: text(i, 62),
				}))
			}
			return err
		}},
		"notes of verdicts": {2000, func(s *memory.Store, n int) error {
			err := appendTo(t, s, n, started(n), rules.Completed{Node: "done"})
			for range 5 {
				err = errors.Join(err, appendTo(t, s, n, rules.VerdictRecorded{Decision: rules.DecisionReject, Notes: text(n, 1000), By: text(n, 20), Identity: text(n, 36)}))
			}
			return err
		}},
		"reviews": {4000, func(s *memory.Store, n int) error {
			return appendTo(t, s, n, started(n), rules.ReviewAsked{Node: "review"})
		}},
		"idempotency keys": {10000, func(s *memory.Store, n int) error {
			_, err := s.ClaimIdempotencyKey(t.Context(), sizedTenant, store.IdempotencyRecord{
				IdempotencyKey: store.IdempotencyKey{Scope: store.ScopeStart, Key: text(n, 36)}, Fingerprint: text(n, 60), ID: text(n, 32), At: time.Date(2026, 3, 1, 9, 0, n, 0, time.UTC),
			})
			return err
		}},
		"audit trail": {10000, func(s *memory.Store, n int) error {
			at := time.Date(2026, 3, 1, 9, 0, n, 0, time.UTC)
			return s.AppendAudit(t.Context(), []store.AuditEntry{{
				Tenant: sizedTenant, ID: store.AuditID(at, text(n, 36)), At: at, Action: store.AuditRunRead, Run: verification.RunID(text(n, 36)),
				Actor: verification.Actor{Kind: verification.ActorReviewer, ID: text(n, 30), Name: text(n, 12)},
			}})
		}},
		"deliveries": {10000, func(s *memory.Store, n int) error {
			return s.SaveDelivery(t.Context(), sizedTenant, rules.Delivery{
				Run: verification.RunID(text(n, 32)), Event: workflow.NoticeReviewed, URL: text(n, 40), State: rules.DeliveryDelivered, Attempts: 1, FirstAt: time.Date(2026, 3, 1, 9, 0, n, 0, time.UTC), Class: text(n, 6),
			})
		}},
	} {
		before, s := heap(), memory.New()
		for n := range load.many {
			if err := load.add(s, n); err != nil {
				t.Fatal(err)
			}
		}
		needed := heap() - before
		share := float64(s.Kept()) / float64(needed)
		t.Logf("%s: %d counted, %d needed: %.2f", name, s.Kept()/int64(load.many), needed/int64(load.many), share)
		if share < 0.8 || share > 1.3 {
			t.Errorf("%s: Kept is %d, and the heap has grown by %d", name, s.Kept()/int64(load.many), needed/int64(load.many))
		}
	}
}

// queueAdvance queues that a run is driven.
func queueAdvance(t *testing.T, s *memory.Store, n int) error {
	t.Helper()
	id := verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n))
	history, err := s.Load(t.Context(), sizedTenant, id, 0)
	if err != nil {
		return err
	}
	return s.Append(t.Context(), sizedTenant, id, len(history), store.Commit{
		Summary: rules.Fold(id, history).Summary(), Work: store.AdvanceAt(time.Date(2026, 3, 1, 9, 0, n, 0, time.UTC)),
	})
}

// A store that is full takes no new run, and runs that exist go on.
func TestAFullStoreTakesNoNewRuns(t *testing.T) {
	s := memory.New()
	s.Limit(memory.Limits{Runs: 20_000})
	n := 0
	for ; n < 1000; n++ {
		err := appendTo(t, s, n, started(n))
		if err == nil {
			continue
		}
		if !errors.Is(err, verification.ErrUnavailable) {
			t.Fatalf("Append = %v, want ErrUnavailable", err)
		}
		break
	}
	if kept := s.Kept(); n < 5 || n > 40 || kept < 20_000 || kept > 25_000 {
		t.Errorf("%d runs and %d bytes fit in 20,000 bytes", n, kept)
	}
	if got := s.Refused(); got != 1 {
		t.Errorf("Refused = %d, want 1", got)
	}
	if err := appendTo(t, s, 0, rules.Completed{Node: "done"}); err != nil {
		t.Errorf("Append to a run that exists: %v", err)
	}
	if got := s.Runs(); got != n {
		t.Errorf("%d runs, want %d", got, n)
	}
	s.Limit(memory.Limits{})
	if err := appendTo(t, s, n, started(n)); err != nil {
		t.Errorf("Append without a limit: %v", err)
	}
}

func TestAWorkflowInPartsCountsAsAWhole(t *testing.T) {
	const versions, firstPart = 20, 8
	all := make([]workflow.Version, versions)
	for i := range all {
		all[i] = workflow.Version{Number: i + 1, Hash: fmt.Sprint(i), Definition: workflow.Definition{Name: strings.Repeat("n", 1000+i)}}
	}
	w := store.WorkflowRecord{Tenant: sizedTenant, Workflow: workflow.Workflow{ID: "c0000000-0000-7000-8000-000000000001", Versions: versions}}
	kept := func(first []workflow.Version, rest []workflow.Version) int64 {
		s, r := memory.New(), w
		r.Versions = first
		if err := s.SaveRecords(t.Context(), []store.Record{r}); err != nil {
			t.Fatal(err)
		}
		if len(rest) > 0 {
			if err := memstore.ExtendWorkflow(t.Context(), s.Store, sizedTenant, w.Workflow.ID, len(first), rest); err != nil {
				t.Fatal(err)
			}
		}
		return s.Kept()
	}
	whole, parts := kept(all, nil), kept(all[:firstPart], all[firstPart:])
	if difference := parts - whole; difference < -100 || difference > 100 { // the slices have their headers
		t.Errorf("a workflow in parts counts as %d bytes, want about the %d of the whole", parts, whole)
	}
}
