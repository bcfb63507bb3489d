package rules_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestPageHasBounds(t *testing.T) {
	for _, c := range []struct {
		page store.PageQuery
		want string
	}{
		{store.PageQuery{Limit: 1}, ""},
		{store.PageQuery{Limit: 200, Offset: 1 << 40}, ""},
		{store.PageQuery{Limit: store.DefaultLimit}, ""},
		{store.PageQuery{}, "limit: limit must be 1 to 200"},
		{store.PageQuery{Limit: -1}, "limit: limit must be 1 to 200"},
		{store.PageQuery{Limit: 201}, "limit: limit must be 1 to 200"},
		{store.PageQuery{Limit: 50, Offset: -1}, "offset: offset must be at least 0"},
		{store.PageQuery{Limit: 0, Offset: -1}, "limit: limit must be 1 to 200"},
	} {
		err := c.page.Validate()
		if c.want == "" && err != nil || c.want != "" && (flows.Outcome(nil, err) != "invalid" || err.Error() != c.want) {
			t.Errorf("Validate(%+v) = %v, want %q", c.page, err, c.want)
		}
	}
}

// The runs have every combination of status and decision.
func TestFiltersAreJoinedByAnd(t *testing.T) {
	statuses := append([]rules.Status{""}, rules.Statuses()...)
	decisions := []rules.Decision{"", rules.DecisionReview, rules.DecisionApprove, rules.DecisionReject}
	for _, s := range situations()[1:] {
		j := s.reach(t)
		d := j.detail()
		for _, workflow := range []verification.WorkflowID{"", flows.WorkflowID, "other"} {
			for _, status := range statuses {
				for _, decision := range decisions {
					q := store.RunQuery{Workflow: workflow, Status: status, Decision: decision, Now: j.now}
					want := workflow != "other" && (status == "" || status == d.Status) && (decision == "" || decision == d.Decision)
					if got := q.Matches(j.run.Summary()); got != want {
						t.Errorf("%s: Matches(%q, %q, %q) = %v, want %v", s.name, workflow, status, decision, got, want)
					}
				}
			}
		}
	}
}

func TestFailedFilterDoesNotFindExpiredRuns(t *testing.T) {
	j := checked(t).after(2 * time.Hour)
	for _, c := range []struct {
		status rules.Status
		want   bool
	}{{rules.StatusFailed, false}, {rules.StatusExpired, true}} {
		if got := (store.RunQuery{Status: c.status, Now: j.now}).Matches(j.run.Summary()); got != c.want {
			t.Errorf("%s finds an expired run: %v, want %v", c.status, got, c.want)
		}
	}
}

func TestRunsComeNewestFirstTiesByID(t *testing.T) {
	at := func(id verification.RunID, seconds int) rules.Summary {
		return rules.Summary{ID: id, StartedAt: flows.Noon().Add(time.Duration(seconds) * time.Second)}
	}
	runs := []rules.Summary{at("b", 0), at("a", 1), at("c", 0), at("d", 2)}
	slices.SortFunc(runs, func(a, b rules.Summary) int {
		if store.Newer(a, b) {
			return -1
		}
		return 1
	})
	var got []verification.RunID
	for _, r := range runs {
		got = append(got, r.ID)
	}
	if diff := cmp.Diff([]verification.RunID{"d", "a", "c", "b"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if store.Newer(runs[0], runs[0]) {
		t.Error("a run is newer than itself")
	}
}
