// The clauses on List: filters, times, order and pages.

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func lists() []clause {
	const list = "RunStore.List: "
	const atTime = list + "the runs that match the query at its time"
	return []clause{
		{"a summary is listed as it was saved", "RunStore.Append: replaces the summary; " + list + "returns summaries", summariesAreListed},
		{"a run is listed once, with its newest summary", "RunStore.Append: replaces the summary", summaryReplaced},
		{"runs are listed newest first, then by id from the highest", list + "newest first; store.Newer: ties by id from the highest", newestFirst},
		{"the pages of runs add up to the whole list", list + "one page; store.PageQuery: Limit, and Offset records to skip", pagesOfRuns},
		{"a page past the end is empty and has the total", list + "one page, and the number of all matches", pastTheEnd},
		{"the workflow filter selects the runs of a workflow", list + "the runs that match the query", func(t *trial) { t.filtered(byWorkflow, instant(0)) }},
		{"the status filter selects by the status at the time of the query", atTime, func(t *trial) { t.filtered(byStatus) }},
		{"the decision filter selects by the decision at the time of the query", atTime, func(t *trial) { t.filtered(byDecision) }},
		{"the reference filters select by the reference id and its beginning", list + "the runs that match the query", func(t *trial) { t.filtered(byReference, instant(0)) }},
		{"the start filters select the runs that began between two times", list + "the runs that match the query", func(t *trial) { t.filtered(byStart, instant(0)) }},
		{"filters are combined with AND", list + "the runs that match the query; store.RunQuery: filters are AND-ed", filtersCombined},
		{"every run has exactly one of the six statuses at any time", atTime, exactlyOneStatus},
		{"the review filter selects exactly the runs whose decision is review", atTime, reviewFilter},
		{"a run is abandoned or expired only after its deadline, not at it", "rules.Summary: a live run is reported as abandoned, or as expired, after it", strictlyAfter},
		{"a query may have an earlier time than the one before it", atTime, earlierTime},
		{"a tenant lists only its own runs", list + "the runs of the tenant", listsOfTwoTenants},
	}
}

func summariesAreListed(t *trial) {
	for _, s := range sampleRuns() {
		t.save(ours, s)
		t.holds(ours, s)
	}
}

func summaryReplaced(t *trial) {
	other := begin(2, instant(time.Minute), started())
	t.save(ours, other)
	s := begin(1, instant(0), limited(3600, 900))
	t.save(ours, s)
	part := 0
	for _, next := range []history{
		s.then(time.Second, consent()),
		s.then(time.Second, consent()).then(time.Minute, came()),
		s.then(time.Second, consent()).then(time.Minute, came(), rules.CustomerSubmitted{Node: "consent"}, asked("review")),
	} {
		t.extend(ours, next, len(s.events))
		s = next
		for _, now := range []time.Time{instant(time.Minute), instant(20 * time.Minute), instant(2 * time.Hour)} {
			t.matches(listed(s, other), everything(now))
			for _, q := range slices.Concat(byStatus(now), byDecision(now), partOfAll(now, part)) {
				t.matches(listed(s, other), q)
			}
			part++
		}
	}
}

// matches fails unless List returns the summaries of all that RunQuery.Matches selects.
// all is in the order of lists.
func (t *trial) matches(all []rules.Summary, q store.RunQuery) {
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
	what := fmt.Sprintf("List(workflow %q, status %q, decision %q, start+%s)", q.Workflow, q.Status, q.Decision, q.Now.Sub(instant(0)))
	same(t, what, got, want)
	same(t, "the total of "+what, p.Total, len(want))
}

// listed returns the summaries of histories in the order of the list.
func listed(histories ...history) []rules.Summary {
	var all []rules.Summary
	for _, s := range histories {
		all = append(all, s.summary())
	}
	slices.SortFunc(all, func(a, b rules.Summary) int {
		if store.Newer(a, b) {
			return -1
		}
		return 1
	})
	return all
}

func byWorkflow(now time.Time) (all []store.RunQuery) {
	for _, w := range []verification.WorkflowID{onboarding, renewal, unknown} {
		all = append(all, store.RunQuery{PageQuery: firstPage(), Now: now, Workflow: w})
	}
	return all
}

func byStatus(now time.Time) (all []store.RunQuery) {
	for _, s := range rules.Statuses() {
		all = append(all, store.RunQuery{PageQuery: firstPage(), Now: now, Status: s})
	}
	return all
}

func byDecision(now time.Time) (all []store.RunQuery) {
	for _, d := range []rules.Decision{rules.DecisionReview, rules.DecisionApprove, rules.DecisionReject} {
		all = append(all, store.RunQuery{PageQuery: firstPage(), Now: now, Decision: d})
	}
	return all
}

func byReference(now time.Time) (all []store.RunQuery) {
	for _, id := range []string{"customer-1", "customer-13", "customer"} { // the second was rejected
		all = append(all,
			store.RunQuery{PageQuery: firstPage(), Now: now, ReferencePrefix: id, Rejected: true},
			store.RunQuery{PageQuery: firstPage(), Now: now, ReferenceID: id, Rejected: true, Decision: rules.DecisionReview},
			store.RunQuery{PageQuery: firstPage(), Now: now, ReferenceID: id, Rejected: true},
			store.RunQuery{PageQuery: firstPage(), Now: now, ReferenceID: id},
			store.RunQuery{PageQuery: firstPage(), Now: now, ReferencePrefix: id})
	}
	return all
}

func byStart(now time.Time) []store.RunQuery {
	early, late := instant(time.Minute), instant(3*time.Minute) // runs began at both
	return []store.RunQuery{
		{PageQuery: firstPage(), Now: now, StartedAfter: early},
		{PageQuery: firstPage(), Now: now, StartedBefore: late},
		{PageQuery: firstPage(), Now: now, StartedAfter: early, StartedBefore: late},
	}
}

// byAll returns queries with every combination of filters.
func byAll(now time.Time) (all []store.RunQuery) {
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

// partOfAll returns a seventh of byAll; seven successive parts are all. Seven is odd, so
// that each query is listed at deadlines and just after them.
func partOfAll(now time.Time, part int) (some []store.RunQuery) {
	for i, q := range byAll(now) {
		if i%7 == part%7 {
			some = append(some, q)
		}
	}
	return some
}

// filtered lists the sample runs with queries at the given times, or at every
// interesting time.
func (t *trial) filtered(queries func(time.Time) []store.RunQuery, at ...time.Time) {
	histories := sampleRuns()
	t.save(ours, histories...)
	if len(at) == 0 {
		at = instants(histories)
	}
	all := listed(histories...)
	for _, now := range at {
		t.matches(all, everything(now))
		for _, q := range queries(now) {
			t.matches(all, q)
		}
	}
}

// filtersCombined lists with each combination of filters at several interesting times.
func filtersCombined(t *trial) {
	part := 0
	t.filtered(func(now time.Time) []store.RunQuery {
		part++
		return partOfAll(now, part)
	})
}

func exactlyOneStatus(t *trial) {
	histories := sampleRuns()
	t.save(ours, histories...)
	for _, now := range instants(histories) {
		seen, total := map[verification.RunID]rules.Status{}, 0
		for _, q := range byStatus(now) {
			p := t.list(ours, q)
			total += p.Total
			for _, s := range p.Data {
				if other, twice := seen[s.ID]; twice {
					t.failf("at start+%s run %s is listed as %s and as %s", now.Sub(instant(0)), s.ID, other, q.Status)
				}
				seen[s.ID] = q.Status
			}
		}
		same(t, fmt.Sprintf("the number of runs that the six filters list at start+%s", now.Sub(instant(0))), len(seen), len(histories))
		same(t, fmt.Sprintf("the sum of the six totals at start+%s", now.Sub(instant(0))), total, len(histories))
	}
}

func reviewFilter(t *trial) {
	histories := sampleRuns()
	t.save(ours, histories...)
	runs := map[verification.RunID]rules.Run{}
	for _, s := range histories {
		runs[s.id] = rules.Fold(s.id, t.load(ours, s.id, 0))
	}
	for _, now := range instants(histories) {
		q := everything(now)
		q.Decision = rules.DecisionReview
		queue := map[verification.RunID]bool{}
		for _, s := range t.list(ours, q).Data {
			queue[s.ID] = true
		}
		for _, s := range histories {
			inReview := runs[s.id].AsOf(now).Decision() == rules.DecisionReview
			if inReview != queue[s.id] {
				t.failf("at start+%s the decision of run %s is review: %t, it is listed: %t", now.Sub(instant(0)), s.id, inReview, queue[s.id])
			}
		}
	}
}

// crowd returns more runs than fit on a page, groups of which start at the same
// time, in another order than that of the list.
func crowd() []history {
	const n = store.MaxLimit + 5
	var histories []history
	for i := range n {
		// 83 has no divisor in common with 205: every number comes once.
		k := i * 83 % n
		histories = append(histories, begin(k+1, instant(time.Duration(k/4)*tick), started()))
	}
	return histories
}

// listPage lists the runs on a page.
func (t *trial) listPage(p store.PageQuery) (store.Page[rules.Summary], error) {
	return t.store.List(t.ctx, ours, store.RunQuery{PageQuery: p, Now: instant(time.Hour)})
}

func newestFirst(t *trial) {
	crowd := crowd()
	t.save(ours, crowd...)
	page(t, "List", firstPage(), listed(crowd...), t.listPage)
}

func pagesOfRuns(t *trial) {
	crowd := crowd()
	t.save(ours, crowd...)
	pages(t, "List", listed(crowd...), t.listPage)
}

func pastTheEnd(t *trial) {
	few := crowd()[:3]
	t.save(ours, few...)
	for _, offset := range []int{3, 4, 1_000_000} {
		page(t, "List", store.PageQuery{Limit: 1, Offset: offset}, listed(few...), t.listPage)
	}
}

// strictlyAfter lists a run around its abandon time and its deadline, and another
// run around its deadline.
func strictlyAfter(t *trial) {
	waiting := begin(1, instant(0), limited(3600, 900)).then(0, consent())
	reviewed := begin(2, instant(0), limited(1800, 0)).then(0, asked("review"))
	t.save(ours, waiting, reviewed)
	listedAs := func(s history, now time.Time, status rules.Status, d rules.Decision) {
		for _, q := range append(byStatus(now), byDecision(now)...) {
			found := false
			for _, got := range t.list(ours, q).Data {
				found = found || got.ID == s.id
			}
			wanted := q.Status == status || q.Decision != "" && q.Decision == d
			if found != wanted {
				t.failf("List(status %q, decision %q, start+%s) has run %s: %t, want %t",
					q.Status, q.Decision, now.Sub(instant(0)), s.id, found, wanted)
			}
		}
	}
	const none, review = rules.DecisionNone, rules.DecisionReview
	listedAs(waiting, instant(0), rules.StatusInProgress, none)
	listedAs(waiting, instant(15*time.Minute), rules.StatusInProgress, none)
	listedAs(waiting, instant(15*time.Minute+tick), rules.StatusAbandoned, none)
	listedAs(waiting, instant(time.Hour), rules.StatusAbandoned, none)
	listedAs(waiting, instant(time.Hour+tick), rules.StatusExpired, none)
	listedAs(reviewed, instant(30*time.Minute), rules.StatusInProgress, review)
	listedAs(reviewed, instant(30*time.Minute+tick), rules.StatusExpired, none)
}

func earlierTime(t *trial) {
	histories := sampleRuns()
	t.save(ours, histories...)
	all, at := listed(histories...), instants(histories)
	for i := range at {
		// First, last, second, last but one, ...
		now := at[i/2]
		if i%2 == 1 {
			now = at[len(at)-1-i/2]
		}
		for _, q := range append(byStatus(now), byDecision(now)...) {
			t.matches(all, q)
		}
	}
}

func listsOfTwoTenants(t *trial) {
	mine, yours := simple(1), begin(1, instant(time.Minute), limited(60, 0)).then(0, asked("review"))
	t.save(ours, mine)
	t.save(theirs, yours, begin(2, instant(time.Minute), started()))
	for _, now := range []time.Time{instant(time.Minute), instant(time.Hour)} {
		t.matches(listed(mine), everything(now))
		for _, q := range byAll(now) {
			t.matches(listed(mine), q)
		}
	}
	same(t, "the number of their runs", t.list(theirs, everything(instant(time.Minute))).Total, 2)
	nobody := t.list("e0000000-0000-7000-8000-000000000009", everything(instant(time.Minute)))
	same(t, "the number of runs of a tenant that has none", nobody.Total+len(nobody.Data), 0)
}
