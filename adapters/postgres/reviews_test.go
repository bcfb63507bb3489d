// Tests of the review queue and the measures: they agree with those of the memory store, and
// the queue with the list of runs.

package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// reviewHistory returns the beginning of a history of run number n, which may need a
// verdict. kind selects one of four histories, and length the number of its events; both wrap
// around.
func reviewHistory(n, kind, length int) []rules.Event {
	started := rules.Started{
		Workflow: verification.WorkflowID(fmt.Sprintf("c0000000-0000-7000-8000-%012x", n%3)), WorkflowName: "Onboarding",
		Version: 1 + n%2, VersionHash: "hash", ReferenceID: fmt.Sprintf("customer-%d", n), ReviewDueMinutes: int64(n % 4 * 10),
	}
	if n%2 == 0 {
		started.RunTTLSeconds = 3600
	}
	check := []rules.Fact{
		rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "sandbox", Dispatch: 1, Visit: 1},
		rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(`{"source_ok":false}`)},
	}
	asked := rules.ReviewAsked{Node: "review", Label: "Review", Reason: "The names differ."}
	assigned := rules.Assigned{To: rules.Assignee{Team: []string{"Seniors", "kyc"}[n%2]}, By: "asha", Identity: "asha"}
	verdict := func(node verification.NodeID) rules.Fact {
		return rules.VerdictRecorded{Node: node, Decision: rules.DecisionApprove}
	}
	histories := [][]rules.Fact{
		{started, asked, verdict("review"), rules.ReviewAsked{Node: "second", Label: "Second"}, rules.Cancelled{}},
		slices.Concat([]rules.Fact{started}, check, []rules.Fact{asked, verdict("review"), rules.Completed{Node: "done"}}),
		slices.Concat([]rules.Fact{started}, check, []rules.Fact{rules.Completed{Node: "done", Outcome: "approved"}, verdict("")}),
		{started, asked, assigned, rules.Assigned{}, assigned, rules.Expired{Error: rules.RunError{Code: rules.CodeRunExpired}}},
	}
	facts := histories[kind%len(histories)]
	facts = facts[:1+length%len(facts)]
	var history []rules.Event
	for i, f := range facts {
		history = append(history, rules.Event{At: noon().Add(time.Duration(n*7+i*5) * time.Minute), Fact: f})
	}
	return history
}

// anyQueueQuery draws a query with any filters.
func anyQueueQuery(rt *rapid.T, now time.Time) store.RunQuery {
	sometimes := func(name string) bool { return rapid.IntRange(0, 3).Draw(rt, name) == 0 }
	q := store.RunQuery{
		Now: now, PageQuery: store.PageQuery{Limit: rapid.IntRange(1, 8).Draw(rt, "limit"), Offset: rapid.IntRange(0, 4).Draw(rt, "offset")},
		Order: rapid.SampledFrom([]store.RunOrder{store.OldestFirst, store.DueFirst}).Draw(rt, "order"),
	}
	if sometimes("workflow") {
		q.Workflow = flow
	}
	if sometimes("cause") {
		q.Cause = rapid.SampledFrom([]rules.Cause{rules.CauseReviewStep, rules.CauseSource}).Draw(rt, "of")
	}
	if sometimes("age") {
		q.SinceBefore = noon().Add(time.Duration(rapid.IntRange(-300, 300).Draw(rt, "since")) * time.Minute)
	}
	if sometimes("due") {
		q.DueBefore = noon().Add(time.Duration(rapid.IntRange(-300, 300).Draw(rt, "before")) * time.Minute)
	}
	if sometimes("status") {
		q.Status = rapid.SampledFrom(rules.Statuses()).Draw(rt, "status of")
	}
	if sometimes("run") {
		q.Run = runNumber(rapid.IntRange(0, 19).Draw(rt, "number"))
	}
	if sometimes("prefix") {
		q.ReferencePrefix = rapid.SampledFrom([]string{"customer-1", "customer-", "d", "customer-7"}).Draw(rt, "reference")
	}
	if sometimes("mine") {
		q.ClaimedBy = "asha"
	}
	if sometimes("assigned") {
		q.AssignedTo = rapid.SampledFrom([][]string{{"team:seniors"}, {""}, {"team:kyc", "team:seniors"}, {}}).Draw(rt, "to")
	}
	q.Unclaimed = sometimes("unclaimed")
	return q
}

// Random appends, claims and reads at any times: the queue and the measures equal those
// of the memory store, and the queue has the runs that the list with decision=review has.
func TestTheQueueAgreesWithTheListAndTheMemoryStore(t *testing.T) {
	ctx, s, tenants := t.Context(), fresh(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		tenants++
		tenant := verification.TenantID(fmt.Sprintf("a1000000-0000-7000-8000-%012x", tenants))
		m := memory.New()
		stores := []store.Store{s, m}
		histories := map[int][]rules.Event{}
		anyTime := func(rt *rapid.T) time.Time {
			return noon().Add(time.Duration(rapid.IntRange(-30, 300).Draw(rt, "minutes")) * time.Minute)
		}
		claim := func(rt *rapid.T, n int, c rules.Claim) {
			got, err := s.Claim(ctx, tenant, runNumber(n), c)
			want, wantErr := m.Claim(ctx, tenant, runNumber(n), c)
			if got != want || errors.Is(err, verification.ErrConflict) != errors.Is(wantErr, verification.ErrConflict) ||
				errors.Is(err, verification.ErrNotFound) != errors.Is(wantErr, verification.ErrNotFound) {
				rt.Fatalf("Claim(%+v) = %v, %v; memory: %v, %v", c, got, err, want, wantErr)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				n := rapid.IntRange(0, 19).Draw(rt, "run")
				history, seq := reviewHistory(n, n, rapid.IntRange(0, 5).Draw(rt, "length")), len(histories[n])
				if len(history) <= seq {
					return
				}
				before := rules.Fold(runNumber(n), history[:seq])
				c := store.NewCommit(before, before.EvolveAll(history[seq:]), history[seq:], time.UTC)
				for _, to := range stores {
					if err := to.Append(ctx, tenant, runNumber(n), seq, c); err != nil {
						rt.Fatal(err)
					}
				}
				histories[n] = history
			},
			"claim": func(rt *rapid.T) {
				n, at := rapid.IntRange(0, 19).Draw(rt, "run"), anyTime(rt)
				c := rules.Claim{By: rapid.SampledFrom([]string{"asha", "ben"}).Draw(rt, "by"), Name: "A. Name", At: at, Until: at.Add(rules.ClaimTTL)}
				claim(rt, n, c)
			},
			"release": func(rt *rapid.T) {
				n, by := rapid.IntRange(0, 19).Draw(rt, "run"), rapid.SampledFrom([]string{"ben", "asha"}).Draw(rt, "by")
				at := anyTime(rt)
				claim(rt, n, rules.Claim{By: by, At: at, Until: at})
			},
			"maintenance": func(rt *rapid.T) {
				if err := s.Maintain(ctx, anyTime(rt)); err != nil {
					rt.Fatal(err)
				}
			},
			"read": func(rt *rapid.T) { sameQueue(rt, s, m, tenant, anyQueueQuery(rt, anyTime(rt))) },
			"list": func(rt *rapid.T) {
				now := anyTime(rt)
				whole := store.PageQuery{Limit: store.MaxLimit}
				list, err := s.List(ctx, tenant, store.RunQuery{PageQuery: whole, Now: now, Decision: rules.DecisionReview})
				if err != nil {
					rt.Fatal(err)
				}
				queue, err := s.List(ctx, tenant, store.RunQuery{PageQuery: whole, Now: now, Order: store.DueFirst})
				if err != nil {
					rt.Fatal(err)
				}
				listed, queued := idsOf(list), []verification.RunID(nil)
				for _, e := range queue.Data {
					queued = append(queued, e.ID)
				}
				slices.Sort(listed)
				slices.Sort(queued)
				if !slices.Equal(listed, queued) || list.Total != queue.Total {
					rt.Fatalf("at %s the queue has %d runs %v, and the list %d %v", now, queue.Total, queued, list.Total, listed)
				}
			},
			"measures": func(rt *rapid.T) {
				q := store.MeasureQuery{First: today() + store.Day(rapid.IntRange(-5, 5).Draw(rt, "first"))}
				q.Last = q.First + store.Day(rapid.IntRange(-1, 9).Draw(rt, "days"))
				q.Names = []store.MeasureName{store.MeasureStarted, store.MeasureEnded, store.MeasureTransition}
				q.Totals = []store.MeasureName{store.MeasureVerdictTime, store.MeasureStopped}
				if rapid.Bool().Draw(rt, "workflow") {
					q.Workflow, q.Version = flow, rapid.IntRange(0, 2).Draw(rt, "version")
				}
				got, err := s.Measures(ctx, tenant, q)
				if err != nil {
					rt.Fatal(err)
				}
				want, err := m.Measures(ctx, tenant, q)
				if err != nil {
					rt.Fatal(err)
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					rt.Fatalf("Measures(%+v) (-memory +postgres):\n%s", q, diff)
				}
			},
		})
	})
}

// sameQueue checks that both stores return the same page.
func sameQueue(rt *rapid.T, s *postgres.Store, m *memory.Store, tenant verification.TenantID, q store.RunQuery) {
	ctx := rt.Context()
	for range 2 { // first from the beginning, then after the first entry of that page
		got, err := s.List(ctx, tenant, q)
		if err != nil {
			rt.Fatal(err)
		}
		want, err := m.List(ctx, tenant, q)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("List(%+v) (-memory +postgres):\n%s", q, diff)
		}
		if len(got.Data) == 0 {
			break
		}
		at := store.PositionOf(got.Data[0].ID, *got.Data[0].Review)
		q.After = &at
	}
}
