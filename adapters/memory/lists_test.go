package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

const tenant = verification.TenantID("00000000-0000-7000-8000-000000000001")

// instants draws one of few times, so that starts and deadlines often coincide.
func instants() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "instant")) * time.Second)
	})
}

func maybe(g *rapid.Generator[time.Time]) *rapid.Generator[time.Time] {
	return rapid.OneOf(rapid.Just(time.Time{}), g)
}

func workflows() *rapid.Generator[verification.WorkflowID] {
	return rapid.SampledFrom([]verification.WorkflowID{"w1", "w2", "w3"})
}

// summaries draws any summary, also one that no history leads to.
func summaries(id verification.RunID) *rapid.Generator[rules.Summary] {
	return rapid.Custom(func(t *rapid.T) rules.Summary {
		return rules.Summary{
			ID: id, Workflow: workflows().Draw(t, "workflow"), StartedAt: instants().Draw(t, "start"),
			ExpiresAt: maybe(instants()).Draw(t, "deadline"), AbandonAt: maybe(instants()).Draw(t, "abandon"),
			Waiting: rapid.SampledFrom([]rules.ActionType{"", rules.ActionCustomerInput, rules.ActionReview}).Draw(t, "waiting"),
			Ended: rapid.SampledFrom([]rules.Status{
				"", "", "", "", rules.StatusCompleted, rules.StatusFailed, rules.StatusExpired, rules.StatusCancelled,
			}).Draw(t, "ended"),
			Verdict:     rapid.SampledFrom([]rules.Decision{"", "", rules.DecisionApprove, rules.DecisionReject}).Draw(t, "verdict"),
			Flagged:     rapid.Bool().Draw(t, "flagged"),
			ReferenceID: rapid.SampledFrom([]string{"x", "xy", "y"}).Draw(t, "reference"),
		}
	})
}

// histories draws a history of a start and any events after it.
func histories() *rapid.Generator[[]rules.Event] {
	facts := rapid.SampledFrom([]rules.Fact{
		rules.CustomerAwaited{Node: "consent", Type: workflow.NodeConsent, Signal: "consent_submitted"},
		rules.JourneyOpened{Node: "consent"},
		rules.CustomerSubmitted{Node: "consent", Data: verification.Data(`{"consent_status":"declined"}`)},
		rules.Dispatched{Node: "pan", Key: "pan", Dispatch: 1, Visit: 1},
		rules.ResultRecorded{Node: "pan", Passed: true},
		rules.ReviewAsked{Node: "review"},
		rules.VerdictRecorded{Node: "review", Decision: rules.DecisionApprove},
		rules.VerdictRecorded{Decision: rules.DecisionReject},
		rules.Completed{Node: "done"},
		rules.Failed{Node: "pan"},
		rules.Expired{},
		rules.Cancelled{},
	})
	return rapid.Custom(func(t *rapid.T) []rules.Event {
		history := []rules.Event{{At: instants().Draw(t, "start"), Fact: rules.Started{
			Workflow:              workflows().Draw(t, "workflow"),
			RunTTLSeconds:         rapid.Int64Range(0, 5).Draw(t, "ttl"),
			AbandonTimeoutSeconds: rapid.Int64Range(0, 5).Draw(t, "abandon"),
		}}}
		for _, f := range rapid.SliceOfN(facts, 0, 6).Draw(t, "facts") {
			at := history[len(history)-1].At.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "pause")) * time.Second)
			history = append(history, rules.Event{At: at, Fact: f})
		}
		return history
	})
}

// times draws a time at which a run may change, one shortly before or after, or one
// years away.
func times() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		at := instants().Draw(t, "now")
		switch rapid.IntRange(0, 5).Draw(t, "nudge") {
		case 0:
			return at.Add(time.Microsecond)
		case 1:
			return at.Add(-time.Microsecond)
		case 2:
			return at.AddDate(rapid.IntRange(-1, 1).Draw(t, "years"), 0, 0)
		}
		return at
	})
}

func queries() *rapid.Generator[store.RunQuery] {
	return rapid.Custom(func(t *rapid.T) store.RunQuery {
		return store.RunQuery{
			PageQuery: store.PageQuery{
				Limit:  rapid.SampledFrom([]int{1, 3, store.MaxLimit}).Draw(t, "limit"),
				Offset: rapid.SampledFrom([]int{0, 0, 1, 3, 100}).Draw(t, "offset"),
			},
			Workflow: rapid.SampledFrom([]verification.WorkflowID{"", "w1", "w2", "none"}).Draw(t, "workflow"),
			Status:   rapid.SampledFrom(append(rules.Statuses(), "")).Draw(t, "status"),
			Decision: rapid.SampledFrom([]rules.Decision{
				"", rules.DecisionReview, rules.DecisionApprove, rules.DecisionReject,
			}).Draw(t, "decision"),
			ReferenceID:     rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "reference"),
			ReferencePrefix: rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "prefix"),
			StartedAfter:    maybe(maybe(instants())).Draw(t, "after"),
			StartedBefore:   maybe(maybe(instants())).Draw(t, "before"),
			Now:             times().Draw(t, "now"),
		}
	})
}

// scanned returns the expected result of List, from a scan of all runs.
func scanned(all map[verification.RunID]rules.Summary, q store.RunQuery) store.Page[rules.Summary] {
	p := store.Page[rules.Summary]{PageQuery: q.PageQuery}
	for _, s := range all {
		if q.Matches(s) {
			p.Data = append(p.Data, s)
		}
	}
	slices.SortFunc(p.Data, func(a, b rules.Summary) int {
		if store.Newer(a, b) {
			return -1
		}
		return 1
	})
	p.Total = len(p.Data)
	p.Data = p.Data[min(q.Offset, p.Total):min(q.Offset+q.Limit, p.Total)]
	if len(p.Data) == 0 {
		p.Data = nil
	}
	return p
}

func TestListEqualsTheMatchingRunsAtAnyTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := memory.New()
		all, lengths := map[verification.RunID]rules.Summary{}, map[verification.RunID]int{}
		save := func(id verification.RunID, events []rules.Event, summary rules.Summary) {
			a := store.Commit{Events: events, Summary: summary, Work: store.DueWork{}}
			if err := s.Append(t.Context(), tenant, id, lengths[id], a); err != nil {
				t.Fatalf("Append: %v", err)
			}
			lengths[id] += len(events)
			summary.Review = nil // lists show it only in the review queue
			all[id] = summary
		}
		list := func(q store.RunQuery) {
			got, err := s.List(t.Context(), tenant, q)
			if err != nil {
				t.Fatalf("List: %v", err)
			}
			if diff := cmp.Diff(scanned(all, q), got); diff != "" {
				t.Fatalf("List(%+v) (-want +got):\n%s", q, diff)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"start or replace a run": func(t *rapid.T) {
				id := verification.RunID(fmt.Sprint("run-", rapid.IntRange(1, 12).Draw(t, "run")))
				event := rules.Event{At: times().Draw(t, "at"), Fact: rules.JourneyOpened{}}
				save(id, []rules.Event{event}, summaries(id).Draw(t, "summary"))
			},
			"append to a run": func(t *rapid.T) {
				id := verification.RunID(fmt.Sprint("given-", len(all)))
				history := histories().Draw(t, "history")
				for n := range history {
					save(id, history[n:n+1], rules.Fold(id, history[:n+1]).Summary())
					list(queries().Draw(t, "query"))
				}
			},
			"list": func(t *rapid.T) { list(queries().Draw(t, "query")) },
			"list each status": func(t *rapid.T) {
				q := store.RunQuery{PageQuery: store.PageQuery{Limit: store.MaxLimit}, Now: times().Draw(t, "now")}
				for _, q.Status = range append(rules.Statuses(), "") {
					list(q)
				}
			},
		})
	})
}
