// The clauses on the review queue and its claims.

package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func reviews() []clause {
	const queue, claim = "RunStore.List: ", "RunStore.Claim: "
	return []clause{
		{"a review is listed as it was saved", queue + "the summaries have a Review", reviewIsListed},
		{"the queue has exactly the runs that need a verdict at the time of the query", "store.RunOrder: an order of the review queue selects only runs whose decision is review", queueAgrees},
		{"the queue is in the order of the query", queue + "one page, in its order", queueInOrder},
		{"the pages of the queue add up to the whole queue", queue + "one page, and the number of all matches", queuePages},
		{"a page of the queue continues after a position", "RunQuery.After: continues the review queue after a position", queueAfter},
		{"the filters of the queue select what matches", queue + "the runs that match the query", queueFilters},
		{"an append without events leaves a claim as it is", claim + "ends with the review", claimUnchanged},
		{"the review queues of all tenants are counted", "RunStore.CountQueues: how many runs of all tenants need a verdict at a time", allQueues},
		{"two tenants have separate queues", queue + "the runs of the tenant", queuesOfTwoTenants},
		{"a claim is shown until it ends", claim + "stores a claim", claimIsShown},
		{"a claim of another person is refused", claim + "returns that claim and ErrConflict", claimIsHeld},
		{"a renewed claim keeps the time at which it began", claim + "keeps its earlier At while it is held", claimRenewed},
		{"a person releases only their own claim", claim + "unless another person holds one at c.At; rules.Claim: a claim that ends at once releases the run", claimReleased},
		{"an assignment is changed and ends with its review", queue + "the runs that match the query", assignmentChanges},
		{"a claim stays when the run is flagged for another cause", claim + "ends with the review", claimStays},
		{"a claim ends with its review", claim + "ends with the review, also when another review of the run begins", claimEnds},
		{"one of concurrent claims is stored", claim + "unless another person holds one", claimsAtOnce},
	}
}

// reviewHistories returns histories of runs that need a verdict, and of some that do not, in
// another order than that of the queue.
func reviewHistories() []history {
	start := func(n int, due int64, deadline int64) history {
		s := limited(deadline, 0)
		s.ReviewDueMinutes, s.ReferenceID = due, fmt.Sprintf("customer-%d", n)
		if n%3 == 0 {
			s.Workflow = renewal
		}
		return begin(n, instant(time.Duration(n*7%5)*time.Minute), s)
	}
	unsure := func(s history) history {
		return s.then(time.Minute, dispatched(1), answered(`{"source_ok":false,"opted_out":true}`))
	}
	done := func(s history) history { return unsure(s).then(0, completed()) }
	return []history{
		start(1, 0, 0).then(0, asked("review")),
		start(2, 30, 0).then(0, asked("review")),
		start(3, 10, 1800).then(0, asked("review")),
		done(start(4, 0, 0)),
		done(start(5, 30, 1800)),
		unsure(start(6, 5, 3600)).then(0, asked("review")),
		start(7, 0, 0).then(0, asked("review")).then(time.Minute, verdict("review", rules.DecisionApprove), asked("second")),
		start(8, 0, 0).then(0, asked("review")).then(time.Minute, verdict("review", rules.DecisionApprove), completed()),
		done(start(9, 0, 0)).then(time.Minute, verdict("", rules.DecisionReject)),
		start(10, 0, 0).then(0, asked("review")).then(time.Minute, rules.Cancelled{}),
		start(11, 0, 0),
		start(12, 30, 0).then(0, asked("review")),
		start(13, 10, 0).then(0, asked("review")).then(time.Minute, proposed("review")),
		start(14, 0, 0).then(0, asked("review")).then(time.Minute, proposed("review"), rules.ProposalReturned{Node: "review", By: "reviewer-8"}),
		start(15, 10, 0).then(0, asked("review")).then(time.Minute, assignedTo(rules.Assignee{Team: "Seniors"})),
		done(start(16, 0, 0)).then(time.Minute, assignedTo(rules.Assignee{Person: verification.Person{Identity: "Asha", Name: oddText}})),
		start(17, 0, 0).then(0, asked("review")).then(time.Minute, assignedTo(rules.Assignee{Team: "seniors"}), rules.Assigned{}),
		cameBack(start(18, 10, 0).then(0, asked("review"))),
		cameBack(cameBack(start(19, 0, 0).then(0, asked("review")))),
	}
}

// cameBack adds a round to a history that waits for a review: it comes back to its place in the queue.
func cameBack(h history) history {
	since, _ := rules.Fold(h.id, h.events).InReview()
	return h.then(time.Minute, rules.AskedAgain{Node: "consent", From: "review", Round: 1, Reasons: []string{"other"}, By: oddText, Identity: "asha", Since: since},
		rules.CustomerAwaited{Node: "consent", Type: workflow.NodeConsent, Label: oddText, Signal: "consent_submitted"}).
		then(time.Minute, rules.CustomerSubmitted{Node: "consent", Data: verification.Data(`{"consent_status":"success"}`)}, asked("review"))
}

// assignedTo returns an escalation.
func assignedTo(a rules.Assignee) rules.Assigned {
	return rules.Assigned{To: a, Escalated: true, Notes: oddText, By: oddText, Identity: "ben"}
}

// reviewed returns the summaries of histories that have a review.
func reviewed(histories []history) (all []rules.Summary) {
	for _, s := range histories {
		if v := s.reviewed(); v.Review != nil {
			all = append(all, v)
		}
	}
	return all
}

// inQueue returns the summaries that a query of the queue selects, in its order, without its
// page.
func inQueue(all []rules.Summary, q store.RunQuery) []rules.Summary {
	found := slices.DeleteFunc(slices.Clone(all), func(s rules.Summary) bool { return !q.Matches(s) })
	slices.SortFunc(found, func(a, b rules.Summary) int {
		return q.Order.Compare(store.PositionOf(a.ID, *a.Review), store.PositionOf(b.ID, *b.Review))
	})
	return found
}

// wholeQueue selects the whole queue at a time.
func wholeQueue(now time.Time) store.RunQuery {
	return store.RunQuery{PageQuery: firstPage(), Now: now, Order: store.OldestFirst}
}

// queues ends the clause unless a query selects those of all summaries that match it.
func (t *trial) queues(all []rules.Summary, q store.RunQuery) {
	want := inQueue(all, q)
	what := fmt.Sprintf("List(%+v)", q)
	p := t.list(ours, q)
	same(t, what, p.Data, want)
	same(t, "the total of "+what, p.Total, len(want))
}

// claim saves a claim of ours.
func (t *trial) claim(run verification.RunID, by string, at time.Time) rules.Claim {
	c, err := t.store.Claim(t.ctx, ours, run, claimOf(by, at))
	t.ok("Claim", err)
	return c
}

// released returns a claim of a person that is over at once.
func released(by string, at time.Time) rules.Claim {
	return rules.Claim{By: by, At: at, Until: at}
}

func claimOf(by string, at time.Time) rules.Claim {
	return rules.Claim{By: by, Name: oddText, At: at, Until: at.Add(rules.ClaimTTL)}
}

// claimed ends the clause unless a run of ours has a claim at a time.
func (t *trial) claimed(run verification.RunID, now time.Time, want rules.Claim) {
	q := wholeQueue(now)
	q.Run = run
	var got []rules.Claim
	for _, s := range t.list(ours, q).Data {
		got = append(got, s.Review.Claim)
	}
	same(t, fmt.Sprintf("the claims of run %s at start+%s", run, now.Sub(instant(0))), got, []rules.Claim{want})
}

func reviewIsListed(t *trial) {
	s := limited(3600, 0)
	s.ReviewDueMinutes, s.ReferenceID, s.WorkflowName = 45, oddText, oddText
	h := begin(1, instant(0), s)
	hit := verification.Hit{
		ID: oddText, Name: oddText, Alias: oddText, Score: 0.993, BirthDates: []string{"1961"}, Countries: []string{"ru"},
		Topics: []string{oddText}, Reasons: []string{oddText}, Digest: "ab",
	}
	h = h.then(tick,
		rules.Dispatched{Node: "plain", Key: "k", Label: oddText, Provider: "sandbox", Dispatch: 1, Visit: 1},
		rules.ResultRecorded{Node: "plain", Data: verification.Data(`{"reason":"not_found"}`)},
		rules.GroupBegan{Node: "address", Type: workflow.NodeChecks, Label: oddText, Visit: 1})
	for _, member := range []verification.NodeID{"address.a", "address.b", "address.c"} {
		confirms := member == "address.c"
		h = h.then(tick,
			rules.Dispatched{Node: member, Key: "k", Label: oddText, Provider: "sandbox", Dispatch: 1, Visit: 1},
			rules.ResultRecorded{Node: member, Passed: confirms, Confirms: &confirms})
	}
	for n := range 7 { // more concerns than a review shows
		node := verification.NodeID(fmt.Sprintf("check_%d", n))
		h = h.then(tick,
			rules.Dispatched{Node: node, Key: "k", Label: oddText, Provider: "sandbox", Dispatch: n + 1, Visit: 1},
			rules.ResultRecorded{Node: node, Data: verification.Data(`{"source_ok":false,"consent_status":"declined","reason":"not_found","score":0.41}`)})
	}
	h = h.then(tick,
		rules.Dispatched{Node: "screen", Key: "k", Label: oddText, Provider: "sandbox", Dispatch: 1, Visit: 1},
		rules.ResultRecorded{Node: "screen", Screening: &rules.Screening{
			List: oddText, ListVersion: oddText, Hits: []verification.Hit{hit, {ID: "e-2", Name: "b", Score: 0.5}, {ID: "e-3", Name: "c", Score: 0.5}},
		}})
	h = h.then(tick, rules.ReviewAsked{Node: "review", Label: oddText, Reason: oddText})
	h = h.then(tick,
		rules.HitDecided{Node: "screen", List: oddText, Entry: "e-2", Match: rules.MatchOther},
		rules.HitDecided{Node: "screen", List: oddText, Entry: "e-3", Match: rules.MatchUnsure},
		rules.HitDecided{Node: "screen", List: oddText, Entry: oddText, Digest: "ab", Match: rules.MatchSame})
	h = cameBack(h)
	c := h.commitAfter(0)
	brief := c.Summary.Review.WithBrief(rules.Subject{Name: oddText}, []rules.Differing{
		{Fact: oddText, Source: oddText, Value: oddText}, {Fact: "b", Value: "c"},
	})
	for i := range brief.Concerns {
		if of := &brief.Concerns[i]; of.Hit != nil {
			of.List, of.Likeness = oddText, &rules.Likeness{Name: rules.NameAlike, Words: [2]string{oddText, oddText}, Born: rules.BornApart, Years: 13, Date: oddText}
		}
	}
	c.Summary.Review = &brief
	t.add(ours, h.id, 0, c)
	t.queues([]rules.Summary{c.Summary}, wholeQueue(instant(time.Minute)))
}

func queueAgrees(t *trial) {
	histories := slices.Concat(reviewHistories(), sampleRuns())
	for i := range histories {
		histories[i].id = runID(i + 1)
	}
	for _, s := range histories { // in two appends, so that some join the queue and leave it
		c := s.commitAfter(0)
		if n := len(s.events) - 1; n > 0 {
			c = history{s.id, s.events[:n]}.commit()
			t.add(ours, s.id, 0, c)
			t.extend(ours, s, n)
			continue
		}
		t.add(ours, s.id, 0, c)
	}
	for _, now := range instants(histories) {
		var want []verification.RunID
		for _, s := range histories {
			if s.summary().DecisionAt(now) == rules.DecisionReview {
				want = append(want, s.id)
			}
		}
		var got []verification.RunID
		p := t.list(ours, wholeQueue(now))
		for _, s := range p.Data {
			got = append(got, s.ID)
		}
		slices.Sort(got)
		same(t, fmt.Sprintf("the runs in the queue at start+%s", now.Sub(instant(0))), got, want)
		same(t, "the total of the queue", p.Total, len(want))
	}
}

func queueInOrder(t *trial) {
	histories := reviewHistories()
	t.save(ours, histories...)
	for _, o := range []store.RunOrder{store.OldestFirst, store.DueFirst} {
		q := wholeQueue(instant(10 * time.Minute))
		q.Order = o
		t.queues(reviewed(histories), q)
	}
}

func queuePages(t *trial) {
	histories := reviewHistories()
	t.save(ours, histories...)
	now := instant(40 * time.Minute) // after some deadlines
	q := wholeQueue(now)
	pages(t, "List", inQueue(reviewed(histories), q), func(p store.PageQuery) (store.Page[rules.Summary], error) {
		q.PageQuery = p
		return t.store.List(t.ctx, ours, q)
	})
}

func queueAfter(t *trial) {
	histories := reviewHistories()
	t.save(ours, histories...)
	for _, o := range []store.RunOrder{store.OldestFirst, store.DueFirst} {
		q := wholeQueue(instant(10 * time.Minute))
		q.Order = o
		all := inQueue(reviewed(histories), q)
		for i, s := range all {
			at := store.PositionOf(s.ID, *s.Review)
			q.After = &at
			p := t.list(ours, q)
			same(t, fmt.Sprintf("the queue in the order %s after run %d", o, i), p.Data, all[i+1:])
			same(t, "the total", p.Total, len(all))
		}
	}
}

func queueFilters(t *trial) {
	histories := reviewHistories()
	t.save(ours, histories...)
	all, now := reviewed(histories), instant(10*time.Minute)
	for i := range all {
		if i%2 == 0 {
			v := *all[i].Review
			v.Claim = t.claim(all[i].ID, fmt.Sprintf("person-%d", i%4), now)
			all[i].Review = &v
		}
	}
	for _, change := range []func(*store.RunQuery){
		func(q *store.RunQuery) { q.Workflow = renewal },
		func(q *store.RunQuery) { q.Workflow = unknown },
		func(q *store.RunQuery) { q.Cause = rules.CauseSource },
		func(q *store.RunQuery) { q.Cause = rules.CauseReviewStep },
		func(q *store.RunQuery) { q.Cause = rules.CauseProposal },
		func(q *store.RunQuery) { q.SinceBefore = instant(2 * time.Minute) },
		func(q *store.RunQuery) { q.DueBefore = instant(15 * time.Minute) },
		func(q *store.RunQuery) { q.Run = runID(4) },
		func(q *store.RunQuery) { q.Status = rules.StatusCompleted },
		func(q *store.RunQuery) { q.Status = rules.StatusInProgress },
		func(q *store.RunQuery) { q.Status = rules.StatusExpired },
		func(q *store.RunQuery) { q.Decision = rules.DecisionReview },
		func(q *store.RunQuery) { q.Decision = rules.DecisionApprove },
		func(q *store.RunQuery) { q.ReferenceID = "customer-1" },
		func(q *store.RunQuery) { q.StartedAfter = instant(time.Minute) },
		func(q *store.RunQuery) { q.StartedBefore = instant(3 * time.Minute) },
		func(q *store.RunQuery) { q.ReferencePrefix = "customer-1" },
		func(q *store.RunQuery) { q.ReferencePrefix = "customer-1%" },
		func(q *store.RunQuery) { q.ClaimedBy = "person-2" },
		func(q *store.RunQuery) { q.Unclaimed = true },
		func(q *store.RunQuery) { q.AssignedTo = []string{"team:seniors"} },
		func(q *store.RunQuery) { q.AssignedTo = []string{"person:asha", "team:seniors", "team:others"} },
		func(q *store.RunQuery) { q.AssignedTo = []string{""} },
		func(q *store.RunQuery) { q.AssignedTo = []string{} },
		func(q *store.RunQuery) { q.AssignedTo, q.Unclaimed = []string{"", "team:seniors"}, true },
	} {
		q := wholeQueue(now)
		change(&q)
		t.queues(all, q)
		q.Workflow, q.Order = onboarding, store.DueFirst // together with another
		t.queues(all, q)
	}
}

func assignmentChanges(t *trial) {
	team := func(name string) rules.Assigned { return assignedTo(rules.Assignee{Team: name}) }
	s := simple(1).then(0, asked("review"))
	t.save(ours, s)
	want := t.claim(s.id, "asha", instant(0))
	for _, next := range []struct {
		facts []rules.Fact
		key   string // of the assignee; "-" if the run needs no verdict
	}{
		{[]rules.Fact{team("a")}, "team:a"},
		{[]rules.Fact{team("b")}, "team:b"},
		{[]rules.Fact{rules.Assigned{}}, ""},
		{[]rules.Fact{team("a")}, "team:a"},
		{[]rules.Fact{verdict("review", rules.DecisionApprove), completed()}, "-"},
	} {
		before := len(s.events)
		s = s.then(tick, next.facts...)
		t.extend(ours, s, before)
		for _, key := range []string{"team:a", "team:b", ""} {
			q := wholeQueue(instant(time.Minute))
			q.AssignedTo = []string{key}
			listed := 0
			if key == next.key {
				listed = 1
			}
			same(t, fmt.Sprintf("the runs assigned to %q of a run assigned to %q", key, next.key), t.list(ours, q).Total, listed)
		}
		if next.key != "-" {
			t.claimed(s.id, instant(time.Minute), want)
		}
	}
}

func claimUnchanged(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s)
	c := t.claim(s.id, "asha", instant(0))
	only := s.only(instant(time.Hour))
	only.Summary.Review.Claim = claimOf("ben", instant(0)) // only List sets it
	t.add(ours, s.id, len(s.events), only)
	t.claimed(s.id, instant(time.Minute), c)
}

func allQueues(t *trial) {
	histories := reviewHistories()
	t.save(ours, histories...)
	mine, theirOwn := reviewed(histories), simple(1).then(0, asked("review"))
	t.save(theirs, theirOwn)
	for _, now := range append(instants(histories), instant(35*time.Minute)) {
		for _, due := range []time.Time{{}, now, now.Add(time.Hour)} {
			q := wholeQueue(now)
			q.DueBefore = due
			want := len(inQueue(slices.Concat(mine, reviewed([]history{theirOwn})), q))
			got, err := t.store.CountQueues(t.ctx, now, due)
			t.ok("CountQueues", err)
			same(t, fmt.Sprintf("CountQueues(%s, %s)", now, due), got, want)
		}
	}
	same(t, "the total of List without a tenant", t.list("", wholeQueue(instant(35*time.Minute))).Total, 0)
}

func queuesOfTwoTenants(t *trial) {
	mine, yours := simple(1).then(0, asked("review")), simple(1).then(time.Minute, asked("other"))
	t.save(ours, mine)
	same(t, "the queue of a tenant without runs", t.list(theirs, wholeQueue(instant(0))).Total, 0)
	_, err := t.store.Claim(t.ctx, theirs, mine.id, claimOf("ben", instant(0)))
	t.refused("Claim of a run of another tenant", err, verification.ErrNotFound)
	t.save(theirs, yours)
	c := t.claim(mine.id, "asha", instant(0))
	_, err = t.store.Claim(t.ctx, theirs, yours.id, released("asha", instant(0)))
	t.ok("Claim that releases", err)
	t.claimed(mine.id, instant(0), c)
	same(t, "their queue", t.list(theirs, wholeQueue(instant(0))).Data, reviewed([]history{yours}))
}

func claimIsShown(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s, simple(2))
	_, err := t.store.Claim(t.ctx, ours, runID(2), claimOf("asha", instant(0)))
	t.refused("Claim of a run that needs no verdict", err, verification.ErrNotFound)
	_, err = t.store.Claim(t.ctx, ours, runID(3), claimOf("asha", instant(0)))
	t.refused("Claim of an unknown run", err, verification.ErrNotFound)
	t.claimed(s.id, instant(0), rules.Claim{})
	want := claimOf("asha", instant(0))
	same(t, "the stored claim", t.claim(s.id, "asha", instant(0)), want)
	t.claimed(s.id, want.Until.Add(-tick), want)
	t.claimed(s.id, want.Until, rules.Claim{})
}

func claimIsHeld(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s)
	first := t.claim(s.id, "asha", instant(0))
	held, err := t.store.Claim(t.ctx, ours, s.id, claimOf("ben", first.Until.Add(-tick)))
	t.refused("Claim of another person", err, verification.ErrConflict)
	same(t, "the claim that is held", held, first)
	t.claimed(s.id, instant(0), first)
	second := t.claim(s.id, "ben", first.Until)
	t.claimed(s.id, first.Until, second)
}

func claimRenewed(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s)
	first := t.claim(s.id, "asha", instant(0))
	want := claimOf("asha", instant(10*time.Minute))
	want.At = first.At
	same(t, "the renewed claim", t.claim(s.id, "asha", instant(10*time.Minute)), want)
	t.claimed(s.id, instant(20*time.Minute), want)
	again := claimOf("asha", want.Until)
	same(t, "a claim after the end of the last", t.claim(s.id, "asha", want.Until), again)
}

func claimReleased(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s)
	c := t.claim(s.id, "asha", instant(0))
	held, err := t.store.Claim(t.ctx, ours, s.id, released("ben", instant(time.Minute)))
	t.refused("Claim of another person that releases", err, verification.ErrConflict)
	same(t, "the claim that is held", held, c)
	t.claimed(s.id, instant(time.Minute), c)
	for range 2 { // the second time there is no claim
		_, err = t.store.Claim(t.ctx, ours, s.id, released("asha", instant(time.Minute)))
		t.ok("Claim that releases", err)
		t.claimed(s.id, instant(time.Minute), rules.Claim{})
	}
	want := claimOf("ben", instant(time.Minute))
	same(t, "a claim after the release", t.claim(s.id, "ben", instant(time.Minute)), want)
}

func claimStays(t *trial) {
	s := simple(1).then(0, dispatched(1), answered(`{"source_ok":false}`), completed())
	t.save(ours, s)
	want := t.claim(s.id, "asha", instant(0))
	next := s.then(time.Minute, rules.HitsFound{
		Node: "pan", List: "sanctions", ListVersion: "2", Hits: []verification.Hit{{ID: "Q1", Name: "A. Name", Score: 0.9}},
	})
	t.extend(ours, next, len(s.events))
	t.claimed(s.id, instant(2*time.Minute), want)
	q := wholeQueue(instant(2 * time.Minute))
	q.Cause = rules.CauseRescreened
	q.ClaimedBy = "asha"
	same(t, "the entries that asha has claimed, by the new cause", t.list(ours, q).Total, 1)
	held, err := t.store.Claim(t.ctx, ours, s.id, claimOf("ben", instant(2*time.Minute)))
	t.refused("Claim of another person", err, verification.ErrConflict)
	same(t, "the claim that is held", held, want)
}

func claimEnds(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s)
	t.claim(s.id, "asha", instant(0))
	next := s.then(time.Minute, verdict("review", rules.DecisionApprove), asked("second"))
	t.extend(ours, next, len(s.events))
	t.claimed(s.id, instant(time.Minute), rules.Claim{})
	t.claim(s.id, "asha", instant(time.Minute))
	back := cameBack(next)
	t.extend(ours, back, len(next.events))
	t.claimed(s.id, instant(3*time.Minute), rules.Claim{})
	next = back
	last := next.then(time.Minute, verdict("second", rules.DecisionApprove), completed())
	t.claim(s.id, "asha", instant(time.Minute))
	t.extend(ours, last, len(next.events))
	same(t, "the queue", t.list(ours, wholeQueue(instant(2*time.Minute))).Total, 0)
	_, err := t.store.Claim(t.ctx, ours, s.id, claimOf("asha", instant(2*time.Minute)))
	t.refused("Claim after the review", err, verification.ErrNotFound)
}

func claimsAtOnce(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s)
	errs := concurrently(func(caller int) error {
		_, err := t.store.Claim(t.ctx, ours, s.id, claimOf(fmt.Sprintf("person-%d", caller), instant(0)))
		return err
	})
	stored := 0
	for _, err := range errs {
		if err == nil {
			stored++
		} else if !errors.Is(err, verification.ErrConflict) {
			t.failf("Claim: %w, want a conflict", err)
		}
	}
	same(t, "the claims that were stored", stored, 1)
}
