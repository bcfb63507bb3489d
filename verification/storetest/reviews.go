// The clauses on the review queue and its claims.

package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func reviews() []clause {
	const queue, stats = "ReviewQueue.Queue: ", "ReviewQueue.QueueStats: "
	const claim, release = "ClaimStore.SaveClaim: ", "ClaimStore.ReleaseClaim: "
	return []clause{
		{"an entry of the queue is returned as it was saved", queue + "the entries that match", entryIsReturned},
		{"the queue has exactly the runs that need a verdict at the time of the query", "ReviewQueue: the entries of the runs whose decision is review at the time of the query", queueAgrees},
		{"the queue is in the order of the query", queue + "one page, in its order", queueInOrder},
		{"the pages of the queue add up to the whole queue", queue + "one page, and the number of all matches", queuePages},
		{"a page of the queue continues after a position", "QueueQuery.After: continues behind a position", queueAfter},
		{"the filters of the queue select what matches", queue + "the entries that match the query", queueFilters},
		{"an append without events leaves the queue as it is", "Commit.Review: says nothing if Events is empty", queueUnchanged},
		{"the statistics of the queue count what is open and overdue", stats + "the statistics of the queue of a tenant, or of all tenants", queueStats},
		{"two tenants have separate queues", "ReviewQueue: every method is of one tenant", queuesOfTwoTenants},
		{"a claim is shown until it ends", claim + "stores a claim", claimIsShown},
		{"a claim of another person is refused, unless it is taken over", claim + "returns that claim and ErrConflict", claimIsHeld},
		{"a renewed claim keeps the time at which it began", claim + "keeps its earlier At while it is held", claimRenewed},
		{"a person releases only their own claim", release + "removes the claim of a person", claimReleased},
		{"a claim stays when the run is flagged for another cause", "ClaimStore: a claim ends with the entry of its run", claimStays},
		{"a claim ends with its review", "ClaimStore: a claim ends with the entry of its run, or when another review of the run begins", claimEnds},
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
		start(7, 0, 0).then(0, asked("review")).then(time.Minute, verdict("review", verification.DecisionApprove), asked("second")),
		start(8, 0, 0).then(0, asked("review")).then(time.Minute, verdict("review", verification.DecisionApprove), completed()),
		done(start(9, 0, 0)).then(time.Minute, verdict("", verification.DecisionReject)),
		start(10, 0, 0).then(0, asked("review")).then(time.Minute, verification.Cancelled{}),
		start(11, 0, 0),
		start(12, 30, 0).then(0, asked("review")),
		start(13, 10, 0).then(0, asked("review")).then(time.Minute, proposed("review")),
		start(14, 0, 0).then(0, asked("review")).then(time.Minute, proposed("review"), verification.ProposalReturned{Node: "review", By: "reviewer-8"}),
	}
}

// entries returns the entries of histories.
func entries(histories []history) (all []verification.QueueEntry) {
	for _, s := range histories {
		if v, open := verification.Fold(s.id, s.events).Review(); open {
			all = append(all, verification.QueueEntry{Review: v})
		}
	}
	return all
}

// inQueue returns the entries that a query selects, in its order, without its page.
func inQueue(all []verification.QueueEntry, q verification.QueueQuery) []verification.QueueEntry {
	found := slices.DeleteFunc(slices.Clone(all), func(e verification.QueueEntry) bool { return !q.Matches(e) })
	slices.SortFunc(found, func(a, b verification.QueueEntry) int { return q.Order.Compare(a.Position(), b.Position()) })
	return found
}

// wholeQueue selects the whole queue at a time.
func wholeQueue(now time.Time) verification.QueueQuery {
	return verification.QueueQuery{PageQuery: firstPage(), Now: now}
}

func (t *trial) queue(tenant verification.TenantID, q verification.QueueQuery) verification.Page[verification.QueueEntry] {
	p, err := t.store.Queue(t.ctx, tenant, q)
	t.ok("Queue", err)
	return p
}

// queues ends the clause unless a query selects those of all entries that match it.
func (t *trial) queues(all []verification.QueueEntry, q verification.QueueQuery) {
	want := inQueue(all, q)
	what := fmt.Sprintf("Queue(%+v)", q)
	p := t.queue(ours, q)
	same(t, what, p.Data, want)
	same(t, "the total of "+what, p.Total, len(want))
}

// claim saves a claim of ours.
func (t *trial) claim(run verification.RunID, by string, at time.Time) verification.Claim {
	c, err := t.store.SaveClaim(t.ctx, ours, run, claimOf(by, at), false)
	t.ok("SaveClaim", err)
	return c
}

func claimOf(by string, at time.Time) verification.Claim {
	return verification.Claim{By: by, Name: oddText, At: at, Until: at.Add(verification.ClaimTTL)}
}

// claimed ends the clause unless a run of ours has a claim at a time.
func (t *trial) claimed(run verification.RunID, now time.Time, want verification.Claim) {
	q := wholeQueue(now)
	q.Run = run
	var got []verification.Claim
	for _, e := range t.queue(ours, q).Data {
		got = append(got, e.Claim)
	}
	same(t, fmt.Sprintf("the claims of run %s at start+%s", run, now.Sub(instant(0))), got, []verification.Claim{want})
}

func entryIsReturned(t *trial) {
	s := limited(3600, 0)
	s.ReviewDueMinutes, s.ReferenceID, s.WorkflowName = 45, oddText, oddText
	h := begin(1, instant(0), s)
	for n := range 7 { // more flags than an entry shows
		node := verification.NodeID(fmt.Sprintf("check_%d", n))
		h = h.then(tick,
			verification.Dispatched{Node: node, Key: "k", Label: oddText, Provider: "sandbox", Dispatch: n + 1, Visit: 1},
			verification.ResultRecorded{Node: node, Data: verification.Data(`{"source_ok":false,"consent_status":"declined"}`)})
	}
	h = h.then(tick, verification.ReviewAsked{Node: "review", Label: oddText, Reason: oddText})
	t.save(ours, h)
	t.queues(entries([]history{h}), wholeQueue(instant(time.Minute)))
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
			if s.summary().DecisionAt(now) == verification.DecisionReview {
				want = append(want, s.id)
			}
		}
		var got []verification.RunID
		p := t.queue(ours, wholeQueue(now))
		for _, e := range p.Data {
			got = append(got, e.Run)
		}
		slices.Sort(got)
		same(t, fmt.Sprintf("the runs in the queue at start+%s", now.Sub(instant(0))), got, want)
		same(t, "the total of the queue", p.Total, len(want))
	}
}

func queueInOrder(t *trial) {
	histories := reviewHistories()
	t.save(ours, histories...)
	for _, o := range []verification.QueueOrder{"", verification.OldestFirst, verification.DueFirst} {
		q := wholeQueue(instant(10 * time.Minute))
		q.Order = o
		t.queues(entries(histories), q)
	}
}

func queuePages(t *trial) {
	histories := reviewHistories()
	t.save(ours, histories...)
	now := instant(40 * time.Minute) // after some deadlines
	pages(t, "Queue", inQueue(entries(histories), wholeQueue(now)),
		func(p verification.PageQuery) (verification.Page[verification.QueueEntry], error) {
			return t.store.Queue(t.ctx, ours, verification.QueueQuery{PageQuery: p, Now: now})
		})
}

func queueAfter(t *trial) {
	histories := reviewHistories()
	t.save(ours, histories...)
	for _, o := range []verification.QueueOrder{verification.OldestFirst, verification.DueFirst} {
		q := wholeQueue(instant(10 * time.Minute))
		q.Order = o
		all := inQueue(entries(histories), q)
		for i, e := range all {
			at := e.Position()
			q.After = &at
			p := t.queue(ours, q)
			same(t, fmt.Sprintf("the queue %s after entry %d", o, i), p.Data, all[i+1:])
			same(t, "the total", p.Total, len(all))
		}
	}
}

func queueFilters(t *trial) {
	histories := reviewHistories()
	t.save(ours, histories...)
	all, now := entries(histories), instant(10*time.Minute)
	for i := range all {
		if i%2 == 0 {
			all[i].Claim = t.claim(all[i].Run, fmt.Sprintf("person-%d", i%4), now)
		}
	}
	for _, change := range []func(*verification.QueueQuery){
		func(q *verification.QueueQuery) { q.Workflow = renewal },
		func(q *verification.QueueQuery) { q.Workflow = unknown },
		func(q *verification.QueueQuery) { q.Cause = verification.CauseSource },
		func(q *verification.QueueQuery) { q.Cause = verification.CauseReviewStep },
		func(q *verification.QueueQuery) { q.Cause = verification.CauseProposal },
		func(q *verification.QueueQuery) { q.SinceBefore = instant(2 * time.Minute) },
		func(q *verification.QueueQuery) { q.Run = runID(4) },
		func(q *verification.QueueQuery) { q.ReferencePrefix = "customer-1" },
		func(q *verification.QueueQuery) { q.ReferencePrefix = "customer-1%" },
		func(q *verification.QueueQuery) { q.ClaimedBy = "person-2" },
		func(q *verification.QueueQuery) { q.Unclaimed = true },
	} {
		q := wholeQueue(now)
		change(&q)
		t.queues(all, q)
		q.Workflow, q.Order = onboarding, verification.DueFirst // together with another
		t.queues(all, q)
	}
}

func queueUnchanged(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s)
	c := t.claim(s.id, "asha", instant(0))
	only := s.only(instant(time.Hour))
	t.add(ours, s.id, len(s.events), only)
	t.claimed(s.id, instant(time.Minute), c)
	only.ReviewBefore = true
	t.add(ours, s.id, len(s.events), only)
	t.claimed(s.id, instant(time.Minute), c)
}

func queueStats(t *trial) {
	histories := reviewHistories()
	t.save(ours, histories...)
	t.save(theirs, simple(1).then(0, asked("review")))
	all := entries(histories)
	since := []time.Time{instant(-time.Minute), instant(0), instant(2 * time.Minute), instant(48 * time.Hour)}
	for _, now := range append(instants(histories), instant(35*time.Minute)) {
		for _, w := range []verification.WorkflowID{"", renewal} {
			want := verification.QueueStats{SinceCounts: make([]int, len(since))}
			for _, e := range inQueue(all, verification.QueueQuery{Now: now, Workflow: w}) {
				want.Open++
				if e.Overdue(now) {
					want.Overdue++
				}
				if want.Oldest.IsZero() || e.Since.Before(want.Oldest) {
					want.Oldest = e.Since
				}
				for i, at := range since {
					if !e.Since.After(at) {
						want.SinceCounts[i]++
					}
				}
			}
			got, err := t.store.QueueStats(t.ctx, ours, w, now, since...)
			t.ok("QueueStats", err)
			same(t, fmt.Sprintf("QueueStats(workflow %q, start+%s)", w, now.Sub(instant(0))), got, want)
			if w == "" {
				want.Open, want.Oldest = want.Open+1, time.Time{}
				for i, at := range since {
					if !at.Before(instant(0)) {
						want.SinceCounts[i]++
					}
				}
				got, err = t.store.QueueStats(t.ctx, "", w, now, since...)
				t.ok("QueueStats of all tenants", err)
				same(t, "QueueStats of all tenants", got, want)
			}
		}
	}
}

func queuesOfTwoTenants(t *trial) {
	mine, yours := simple(1).then(0, asked("review")), simple(1).then(time.Minute, asked("other"))
	t.save(ours, mine)
	same(t, "the queue of a tenant without runs", t.queue(theirs, wholeQueue(instant(0))).Total, 0)
	_, err := t.store.SaveClaim(t.ctx, theirs, mine.id, claimOf("ben", instant(0)), true)
	t.refused("SaveClaim of a run of another tenant", err, verification.ErrNotFound)
	t.save(theirs, yours)
	c := t.claim(mine.id, "asha", instant(0))
	t.ok("ReleaseClaim", t.store.ReleaseClaim(t.ctx, theirs, yours.id, "asha"))
	t.claimed(mine.id, instant(0), c)
	same(t, "their queue", t.queue(theirs, wholeQueue(instant(0))).Data, entries([]history{yours}))
}

func claimIsShown(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s, simple(2))
	_, err := t.store.SaveClaim(t.ctx, ours, runID(2), claimOf("asha", instant(0)), false)
	t.refused("SaveClaim of a run that needs no verdict", err, verification.ErrNotFound)
	_, err = t.store.SaveClaim(t.ctx, ours, runID(3), claimOf("asha", instant(0)), false)
	t.refused("SaveClaim of an unknown run", err, verification.ErrNotFound)
	t.claimed(s.id, instant(0), verification.Claim{})
	want := claimOf("asha", instant(0))
	same(t, "the stored claim", t.claim(s.id, "asha", instant(0)), want)
	t.claimed(s.id, want.Until.Add(-tick), want)
	t.claimed(s.id, want.Until, verification.Claim{})
}

func claimIsHeld(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s)
	first := t.claim(s.id, "asha", instant(0))
	held, err := t.store.SaveClaim(t.ctx, ours, s.id, claimOf("ben", first.Until.Add(-tick)), false)
	t.refused("SaveClaim of another person", err, verification.ErrConflict)
	same(t, "the claim that is held", held, first)
	t.claimed(s.id, instant(0), first)
	second := t.claim(s.id, "ben", first.Until)
	t.claimed(s.id, first.Until, second)
	third := claimOf("asha", first.Until.Add(time.Minute))
	got, err := t.store.SaveClaim(t.ctx, ours, s.id, third, true)
	t.ok("SaveClaim that takes over", err)
	same(t, "the claim that took over", got, third)
	t.claimed(s.id, third.At, third)
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
	t.ok("ReleaseClaim of another person", t.store.ReleaseClaim(t.ctx, ours, s.id, "ben"))
	t.claimed(s.id, instant(0), c)
	t.ok("ReleaseClaim", t.store.ReleaseClaim(t.ctx, ours, s.id, "asha"))
	t.claimed(s.id, instant(0), verification.Claim{})
	t.ok("ReleaseClaim without a claim", t.store.ReleaseClaim(t.ctx, ours, s.id, "asha"))
	t.ok("ReleaseClaim of an unknown run", t.store.ReleaseClaim(t.ctx, ours, runID(9), "asha"))
}

func claimStays(t *trial) {
	s := simple(1).then(0, dispatched(1), answered(`{"source_ok":false}`), completed())
	t.save(ours, s)
	want := t.claim(s.id, "asha", instant(0))
	next := s.then(time.Minute, verification.HitsFound{
		Node: "pan", List: "sanctions", ListVersion: "2", Hits: []verification.Hit{{ID: "Q1", Name: "A. Name", Score: 0.9}},
	})
	t.extend(ours, next, len(s.events))
	t.claimed(s.id, instant(2*time.Minute), want)
	q := wholeQueue(instant(2 * time.Minute))
	q.Cause = verification.CauseRescreened
	q.ClaimedBy = "asha"
	same(t, "the entries that asha has claimed, by the new cause", t.queue(ours, q).Total, 1)
	held, err := t.store.SaveClaim(t.ctx, ours, s.id, claimOf("ben", instant(2*time.Minute)), false)
	t.refused("SaveClaim of another person", err, verification.ErrConflict)
	same(t, "the claim that is held", held, want)
}

func claimEnds(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s)
	t.claim(s.id, "asha", instant(0))
	next := s.then(time.Minute, verdict("review", verification.DecisionApprove), asked("second"))
	t.extend(ours, next, len(s.events))
	t.claimed(s.id, instant(time.Minute), verification.Claim{})
	last := next.then(time.Minute, verdict("second", verification.DecisionApprove), completed())
	t.claim(s.id, "asha", instant(time.Minute))
	t.extend(ours, last, len(next.events))
	same(t, "the queue", t.queue(ours, wholeQueue(instant(2*time.Minute))).Total, 0)
	_, err := t.store.SaveClaim(t.ctx, ours, s.id, claimOf("asha", instant(2*time.Minute)), true)
	t.refused("SaveClaim after the review", err, verification.ErrNotFound)
}

func claimsAtOnce(t *trial) {
	s := simple(1).then(0, asked("review"))
	t.save(ours, s)
	errs := concurrently(func(caller int) error {
		_, err := t.store.SaveClaim(t.ctx, ours, s.id, claimOf(fmt.Sprintf("person-%d", caller), instant(0)), false)
		return err
	})
	stored := 0
	for _, err := range errs {
		if err == nil {
			stored++
		} else if !errors.Is(err, verification.ErrConflict) {
			t.failf("SaveClaim: %w, want a conflict", err)
		}
	}
	same(t, "the claims that were stored", stored, 1)
}
