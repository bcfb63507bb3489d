// Tests of offline.earlier_runs.

package offline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

const earlierRuns = "offline.earlier_runs"

func TestEarlierRunsAsksWhatItsWithSays(t *testing.T) {
	finder, ok := checks[earlierRuns].(verification.EarlierFinder)
	if !ok {
		t.Fatal("it finds nothing")
	}
	number := []verification.EarlierBy{verification.EarlierNumber}
	for _, tt := range []struct {
		with with
		want verification.EarlierQuery
	}{
		{with{"by": []any{"number"}}, verification.EarlierQuery{By: number, Rejected: true}},
		{with{"by": []any{"number"}, "within_days": 2.0}, verification.EarlierQuery{By: number, Within: 48 * time.Hour, Rejected: true}},
		{with{"by": []any{"number"}, "found": []any{"failed"}}, verification.EarlierQuery{By: number, Failed: true}},
		{with{"by": []any{"number"}, "found": []any{"outcome:refused", "reject"}}, verification.EarlierQuery{
			By: number, Outcomes: []string{"refused"}, Rejected: true,
		}},
	} {
		if got, err := finder.Earlier(tt.with); err != nil || cmp.Diff(tt.want, got) != "" {
			t.Errorf("%v: %v %s", tt.with, err, cmp.Diff(tt.want, got))
		}
	}
	for _, w := range []with{
		{},
		{"by": []any{}},
		{"by": []any{"phone"}},
		{"by": "number"},
		{"by": []any{"number", "number"}},
		{"by": []any{"number"}, "within_days": 0.0},
		{"by": []any{"number"}, "found": []any{"approve"}},
		{"by": []any{"number"}, "found": []any{"outcome:"}},
		{"by": []any{"number"}, "more": true},
	} {
		if _, err := finder.Earlier(w); err == nil || !strings.HasPrefix(err.Error(), earlierRuns+": with") {
			t.Errorf("%v: %v, want an error that names the key", w, err)
		}
	}
}

func TestEarlierRunsFailsIfARunIsFound(t *testing.T) {
	ended := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		found   verification.EarlierRuns
		outcome verification.CheckOutcome
		data    map[string]any
	}{
		{verification.EarlierRuns{}, verification.OutcomePassed, map[string]any{"total": 0}},
		{verification.EarlierRuns{Incomplete: true}, verification.OutcomePassed, map[string]any{"total": 0, "analysis_ok": false}},
		{
			verification.EarlierRuns{NotCompared: []verification.EarlierBy{verification.EarlierPerson}},
			verification.OutcomePassed,
			map[string]any{"total": 0, "analysis_ok": false, "not_compared": []any{"person"}},
		},
		{
			verification.EarlierRuns{Total: 12, Runs: []verification.EarlierRun{
				{
					Run: "r-1", By: []verification.EarlierBy{verification.EarlierReference, verification.EarlierNumber},
					Decision: "reject", Outcome: "refused", EndedAt: ended,
				},
				{Run: "r-2", By: []verification.EarlierBy{verification.EarlierNumber}},
			}},
			verification.OutcomeFailed,
			map[string]any{"total": 12, "runs": []any{
				map[string]any{"run_id": "r-1", "by": []any{"reference", "number"}, "decision": "reject", "outcome": "refused", "ended_at": "2026-03-01T09:30:00Z"},
				map[string]any{"run_id": "r-2", "by": []any{"number"}},
			}},
		},
	} {
		got, err := checks[earlierRuns].Check(t.Context(), verification.CheckRequest{Earlier: &tt.found, StartedAt: started()})
		if d := cmp.Diff(tt.data, got.Data); err != nil || got.Outcome != tt.outcome || d != "" {
			t.Errorf("%+v: %s %v %s", tt.found, got.Outcome, err, d)
		}
		validate(t, earlierRuns, got)
	}
}

func TestEarlierRunsNeedsTheRunsOfAHost(t *testing.T) {
	_, err := checks[earlierRuns].Check(t.Context(), verification.CheckRequest{With: with{"by": []any{"reference"}}})
	if err == nil || !strings.Contains(err.Error(), "only as a check of a run") {
		t.Errorf("error = %v", err)
	}
}
