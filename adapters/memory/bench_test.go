package memory_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The benchmarks show that a page costs the same among a thousand runs and
// among a million.

const (
	benchTenant    = verification.TenantID("00000000-0000-7000-8000-0000000000aa")
	benchWorkflows = 10
)

// benchEvery is the time between two starts.
const benchEvery = 100 * time.Millisecond

func benchStart() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func benchWorkflow(i int) verification.WorkflowID {
	return verification.WorkflowID(fmt.Sprintf("00000000-0000-7000-8000-%012d", i%benchWorkflows))
}

func benchRun(i int) verification.RunID {
	return verification.RunID(fmt.Sprintf("01000000-0000-7000-8000-%012d", i))
}

// benchLife is the history of run number i: one of ten lives.
func benchLife(i int) []rules.Event {
	at := benchStart().Add(time.Duration(i) * benchEvery)
	started := rules.Started{
		Workflow: benchWorkflow(i / 10), WorkflowName: "Onboarding", Version: 1, VersionHash: "hash",
		ReferenceID: "customer", RunTTLSeconds: 86400, AbandonTimeoutSeconds: 900,
	}
	facts := []rules.Fact{started}
	switch i % 10 {
	case 0:
		facts = append(facts, rules.CustomerAwaited{Node: "consent", Type: workflow.NodeConsent, Signal: "consent_submitted"})
	case 1:
		facts = append(facts, rules.ReviewAsked{Node: "review"})
	case 2:
		facts = append(facts, rules.Failed{Node: "pan", Error: rules.RunError{Code: rules.CodeCheckFailed}})
	case 3:
		facts = append(facts, rules.Cancelled{})
	case 4:
		facts = append(facts, rules.ReviewAsked{Node: "review"},
			rules.VerdictRecorded{Node: "review", Decision: rules.DecisionApprove}, rules.Completed{Node: "done"})
	case 5:
		facts = append(facts, rules.ReviewAsked{Node: "review"},
			rules.VerdictRecorded{Node: "review", Decision: rules.DecisionReject}, rules.Completed{Node: "done"})
	case 6:
		facts = append(facts, rules.Dispatched{Node: "pan", Key: "pan", Provider: "sandbox", Dispatch: 1, Visit: 1})
	case 7:
		facts = append(facts, rules.Dispatched{Node: "pan", Key: "pan", Provider: "sandbox", Dispatch: 1, Visit: 1},
			rules.ResultRecorded{Node: "pan", Data: verification.Data(`{"source_ok":false}`)}, rules.Completed{Node: "done"})
	default:
		facts = append(facts, rules.Completed{Node: "done"})
	}
	history := make([]rules.Event, len(facts))
	for j, f := range facts {
		history[j] = rules.Event{At: at.Add(time.Duration(j) * time.Second), Fact: f}
	}
	return history
}

func appendLife(tb testing.TB, s *memory.Store, i int) {
	tb.Helper()
	history, id := benchLife(i), benchRun(i)
	a := store.Commit{Events: history, Summary: rules.Fold(id, history).Summary()}
	if err := s.Append(context.Background(), benchTenant, id, 0, a); err != nil {
		tb.Fatal(err)
	}
}

// stocked has the stores of the benchmarks, each built at its first use.
var stocked = map[int]func(testing.TB) *memory.Store{1_000: stock(1_000), 1_000_000: stock(1_000_000)}

func stock(n int) func(testing.TB) *memory.Store {
	var once sync.Once
	s := memory.New()
	return func(tb testing.TB) *memory.Store {
		once.Do(func() {
			for i := range n {
				appendLife(tb, s, i)
			}
		})
		return s
	}
}

func BenchmarkList(b *testing.B) {
	w, st, d := benchWorkflow(3), rules.StatusCompleted, rules.DecisionReview
	queries := []struct {
		name string
		q    store.RunQuery
	}{
		{"none", store.RunQuery{}},
		{"workflow", store.RunQuery{Workflow: w}},
		{"status", store.RunQuery{Status: st}},
		{"decision", store.RunQuery{Decision: d}},
		{"workflow+status", store.RunQuery{Workflow: w, Status: st}},
		{"workflow+decision", store.RunQuery{Workflow: w, Decision: d}},
		{"status+decision", store.RunQuery{Status: st, Decision: d}},
		{"workflow+status+decision", store.RunQuery{Workflow: w, Status: st, Decision: d}},
		{"abandoned", store.RunQuery{Status: rules.StatusAbandoned}},
		{"expired", store.RunQuery{Status: rules.StatusExpired}},
	}
	for _, n := range []int{1_000, 1_000_000} {
		for _, query := range queries {
			b.Run(fmt.Sprintf("%s/%d", query.name, n), func(b *testing.B) {
				benchList(b, n, query.q)
			})
		}
		b.Run(fmt.Sprintf("deep/%d", n), func(b *testing.B) {
			benchList(b, n, store.RunQuery{PageQuery: store.PageQuery{Offset: n / 2}})
		})
	}
}

// BenchmarkListAtChangingTimes lists at another time in each iteration, a second from
// the last, so that the status of some runs differs.
func BenchmarkListAtChangingTimes(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, end := stocked[n](b), benchStart().Add(time.Duration(n)*benchEvery)
			q := store.RunQuery{PageQuery: store.PageQuery{Limit: store.DefaultLimit}}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				away := i % 1000
				if i/1000%2 == 1 {
					away = 1000 - away
				}
				q.Now = end.Add(-time.Duration(away) * time.Second)
				if _, err := s.List(b.Context(), benchTenant, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchList(b *testing.B, n int, q store.RunQuery) {
	b.Helper()
	s := stocked[n](b)
	q.Limit = store.DefaultLimit
	q.Now = benchStart().Add(time.Duration(n) * benchEvery)
	if p, err := s.List(b.Context(), benchTenant, q); err != nil || len(p.Data) == 0 && n > 1_000 {
		b.Fatalf("List(%+v) = %d runs, %v", q, len(p.Data), err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.List(b.Context(), benchTenant, q); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend starts runs beside many, and moves runs between two statuses.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("move/%d", n), func(b *testing.B) {
			s := stocked[n](b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				// A run of the life that is parked on review, anywhere.
				k := i*7_919*10%n + 1
				history := benchLife(k)
				a := store.Commit{Summary: rules.Fold(benchRun(k), history).Summary()}
				if i/n%2 == 0 {
					a.Summary.Ended = rules.StatusCancelled
				}
				if err := s.Append(b.Context(), benchTenant, benchRun(k), len(history), a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("start", func(b *testing.B) {
		s, i := memory.New(), 0
		b.ReportAllocs()
		for b.Loop() {
			appendLife(b, s, i)
			i++
		}
	})
}
