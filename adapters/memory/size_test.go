package memory_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// appendTo appends facts to a run.
func appendTo(t *testing.T, s store.Store, n int, facts ...verification.Fact) error {
	t.Helper()
	const tenant = verification.TenantID("a0000000-0000-7000-8000-000000000001")
	id := verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n))
	history, err := s.Load(t.Context(), tenant, id, 0)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		t.Fatal(err)
	}
	var events []verification.Event
	for _, f := range facts {
		events = append(events, verification.Event{At: time.Date(2026, 3, 1, 9, 0, n, 0, time.UTC), Fact: f})
	}
	before := verification.Fold(id, history)
	after := verification.Fold(id, append(history[:len(history):len(history)], events...))
	return s.Append(t.Context(), tenant, id, len(history), store.NewCommit(before, after, events, time.UTC))
}

func started(n int) verification.Fact {
	return verification.Started{
		Workflow: "c0000000-0000-7000-8000-000000000001", WorkflowName: "Onboarding", Version: 1, VersionHash: "first",
		ReferenceID: fmt.Sprint("customer-", n),
	}
}

func TestKeptIsAboutWhatTheHeapHas(t *testing.T) {
	const many = 5000
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for name, answers := range map[string]int{"small": 10, "large": 5000} {
		before, s := heap(), memory.New()
		for n := range many {
			data := verification.DataOf(map[string]any{"text": strings.Repeat("a", answers)})
			err := errors.Join(appendTo(t, s, n, started(n)),
				appendTo(t, s, n, verification.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "sandbox", Dispatch: 1, Visit: 1}),
				appendTo(t, s, n, verification.ResultRecorded{Node: "pan", Passed: true, Data: data}, verification.Completed{Node: "done"}))
			if err != nil {
				t.Fatal(err)
			}
		}
		needed := heap() - before
		if share := float64(s.Kept()) / float64(needed); share < 0.6 || share > 1.6 {
			t.Errorf("%s runs: Kept is %d, and the heap has grown by %d", name, s.Kept()/many, needed/many)
		}
	}
}

// A store that is full takes no new run, and runs that exist go on.
func TestAFullStoreTakesNoNewRuns(t *testing.T) {
	s := memory.New()
	s.Limit(20_000)
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
	if err := appendTo(t, s, 0, verification.Completed{Node: "done"}); err != nil {
		t.Errorf("Append to a run that exists: %v", err)
	}
	if got := s.Runs(); got != n {
		t.Errorf("%d runs, want %d", got, n)
	}
	s.Limit(0)
	if err := appendTo(t, s, n, started(n)); err != nil {
		t.Errorf("Append without a limit: %v", err)
	}
}
