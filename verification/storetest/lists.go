// The clauses on List: filters, moments, order and pages.

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Lists are the clauses on the lists of runs.
func Lists() []Clause {
	const list = "RunStore.List: "
	return []Clause{
		clause("a summary comes back as it was saved",
			"RunStore.Append: replaces the summary; "+list+"returns summaries",
			summariesComeBack),
		clause("a run is listed once, as its newest append left it",
			"RunStore.Append: replaces the summary",
			summaryReplaced),
		clause("the newest run comes first, and of one moment the highest id",
			list+"newest first; verification.Newer: ties by id from the highest",
			newestFirst),
		clause("pages join to the whole list",
			list+"one page; verification.PageQuery: Limit, and Offset records to skip",
			pagesJoin),
		clause("a page past the end is empty and still has the total",
			list+"one page, and how many match in all",
			pastTheEnd),
		clause("the workflow filter gives the runs of that workflow",
			list+"the runs that match the query",
			func(t *trial) { t.filtered(byWorkflow, moment(0)) }),
		clause("the status filter gives the runs that read so at the moment",
			list+"the runs that match the query at its moment",
			func(t *trial) { t.filtered(byStatus) }),
		clause("the decision filter gives the runs that read so at the moment",
			list+"the runs that match the query at its moment",
			func(t *trial) { t.filtered(byDecision) }),
		clause("filters are and-ed, and every combination is legal",
			list+"the runs that match the query; verification.RunQuery: filters are AND-ed",
			func(t *trial) { t.filtered(byAll) }),
		clause("the six statuses part all runs at every moment",
			list+"the runs that match the query at its moment",
			statusesPart),
		clause("a run reads review if and only if the queue has it",
			list+"the runs that match the query at its moment",
			reviewQueue),
		clause("a run reads differently only after its moment",
			"verification.Summary: a live run reads abandoned, or expired, after it",
			strictlyAfter),
		clause("an earlier moment may be asked for after a later one",
			list+"the runs that match the query at its moment",
			backInTime),
		clause("a tenant lists its own runs alone",
			list+"the runs of the tenant",
			listsApart),
	}
}

func summariesComeBack(t *trial) {
	for _, s := range lives() {
		t.save(ours, s)
		t.holds(ours, s)
	}
}

func summaryReplaced(t *trial) {
	other := begin(2, moment(time.Minute), started())
	t.save(ours, other)
	s := begin(1, moment(0), limited(3600, 900))
	t.save(ours, s)
	for _, next := range []story{
		s.then(time.Second, consent()),
		s.then(time.Second, consent()).then(time.Minute, came()),
		s.then(time.Second, consent()).then(time.Minute, came(), verification.CustomerSubmitted{Node: "consent"}, asked("review")),
	} {
		t.extend(ours, next, len(s.events))
		s = next
		for _, now := range []time.Time{moment(time.Minute), moment(20 * time.Minute), moment(2 * time.Hour)} {
			t.matches(listed(s, other), everything(now))
			for _, q := range byAll(now) {
				t.matches(listed(s, other), q)
			}
		}
	}
}

// matches wants List to give what RunQuery.Matches picks out of all runs, which
// are in the order they are listed in.
func (t *trial) matches(all []verification.Summary, q verification.RunQuery) {
	if t.over() {
		return
	}
	var want, got []verification.RunID
	for _, s := range all {
		if q.Matches(s) {
			want = append(want, s.ID)
		}
	}
	p := t.list(ours, q)
	for _, s := range p.Data {
		got = append(got, s.ID)
	}
	what := fmt.Sprintf("List(workflow %q, status %q, decision %q, start+%s)", q.Workflow, q.Status, q.Decision, q.Now.Sub(moment(0)))
	same(t, what, got, want)
	same(t, "the total of "+what, p.Total, len(want))
}

// listed are the summaries of stories in the order they are listed in.
func listed(stories ...story) []verification.Summary {
	var all []verification.Summary
	for _, s := range stories {
		all = append(all, s.summary())
	}
	slices.SortFunc(all, func(a, b verification.Summary) int {
		if verification.Newer(a, b) {
			return -1
		}
		return 1
	})
	return all
}

func byWorkflow(now time.Time) []verification.RunQuery {
	var all []verification.RunQuery
	for _, w := range []verification.WorkflowID{onboarding, renewal, unknown} {
		q := everything(now)
		q.Workflow = w
		all = append(all, q)
	}
	return all
}

func byStatus(now time.Time) []verification.RunQuery {
	var all []verification.RunQuery
	for _, s := range verification.Statuses() {
		q := everything(now)
		q.Status = s
		all = append(all, q)
	}
	return all
}

func byDecision(now time.Time) []verification.RunQuery {
	var all []verification.RunQuery
	for _, d := range []verification.Decision{verification.DecisionReview, verification.DecisionApprove, verification.DecisionReject} {
		q := everything(now)
		q.Decision = d
		all = append(all, q)
	}
	return all
}

// byAll are the combinations of two and of three filters.
func byAll(now time.Time) []verification.RunQuery {
	var all []verification.RunQuery
	for _, s := range byStatus(now) {
		for _, d := range append(byDecision(now), everything(now)) {
			for _, w := range append(byWorkflow(now), everything(now)) {
				w.Status, w.Decision = s.Status, d.Decision
				all = append(all, w)
			}
		}
	}
	return all
}

// filtered tries queries on all lives, at the given moments or at every one.
func (t *trial) filtered(queries func(time.Time) []verification.RunQuery, at ...time.Time) {
	stories := lives()
	t.save(ours, stories...)
	if len(at) == 0 {
		at = moments(stories)
	}
	all := listed(stories...)
	for _, now := range at {
		t.matches(all, everything(now))
		for _, q := range queries(now) {
			t.matches(all, q)
		}
	}
}

func statusesPart(t *trial) {
	stories := lives()
	t.save(ours, stories...)
	for _, now := range moments(stories) {
		seen, total := map[verification.RunID]verification.Status{}, 0
		for _, q := range byStatus(now) {
			p := t.list(ours, q)
			total += p.Total
			for _, s := range p.Data {
				if other, twice := seen[s.ID]; twice {
					t.faultf("at start+%s run %s is listed as %s and as %s", now.Sub(moment(0)), s.ID, other, q.Status)
				}
				seen[s.ID] = q.Status
			}
		}
		same(t, fmt.Sprintf("the number of runs that the six filters list at start+%s", now.Sub(moment(0))), len(seen), len(stories))
		same(t, fmt.Sprintf("the sum of the six totals at start+%s", now.Sub(moment(0))), total, len(stories))
	}
}

func reviewQueue(t *trial) {
	stories := lives()
	t.save(ours, stories...)
	for _, now := range moments(stories) {
		q := everything(now)
		q.Decision = verification.DecisionReview
		queue := map[verification.RunID]bool{}
		for _, s := range t.list(ours, q).Data {
			queue[s.ID] = true
		}
		for _, s := range stories {
			reads := verification.Fold(s.id, t.load(ours, s.id, 0)).AsOf(now).Decision() == verification.DecisionReview
			if reads != queue[s.id] && !t.over() {
				t.faultf("at start+%s run %s reads review: %t, the queue has it: %t", now.Sub(moment(0)), s.id, reads, queue[s.id])
			}
		}
	}
}
