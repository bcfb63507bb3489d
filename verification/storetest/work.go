// The clauses on the work queue: what is handed out, and when.

package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Work are the clauses on what Append queues and Take hands out.
func Work() []Clause {
	const take = "WorkQueue.Take: "
	return []Clause{
		clause("an advance is handed out once it is due and not before",
			"verification.Commit: AdvanceAt is when the run is to be driven on; "+take+"due work",
			advanceDue),
		clause("a new advance replaces the one before",
			"WorkQueue: a run has at most one advance in the queue: a new one replaces it",
			advanceReplaced),
		clause("an append without an advance removes the one before",
			"WorkQueue: an Commit without one removes it",
			advanceRemoved),
		clause("an announcement is due at its time and is work of its own",
			"verification.Commit: AnnounceAt is when the notice that the run is over is due",
			announcementDue),
		clause("a later append leaves the announcement that waits alone",
			"WorkQueue: work is handed out at least once",
			announcementStays),
		clause("a run has at most one announcement in the queue",
			"verification.Notice: one a run",
			announcedOnce),
		clause("no more work is taken than asked for, the earliest due first",
			take+"up to most pieces of due work",
			takeMost),
		clause("the earliest work left is the moment to ask again",
			take+"the moment to ask again if nothing is appended meanwhile (zero for never)",
			takeNext),
		clause("takers that meet share the work",
			take+"leases up to most pieces of due work",
			takersMeet),
		clause("a taking whose context is over takes nothing",
			take+"leases up to most pieces of due work",
			cancelledTake),
		clause("the work of two tenants is kept apart",
			"verification.Work: a run together with its tenant",
			workApart),
	}
}

// start saves a run that is to be advanced at a moment.
func (t *trial) start(tenant verification.TenantID, n int, at time.Time) story {
	s := simple(n)
	t.add(tenant, s.id, 0, s.advancing(at))
	return s
}

// again queues another advance of a run.
func (t *trial) again(tenant verification.TenantID, s story, at time.Time) {
	t.add(tenant, s.id, len(s.events), s.only(at))
}

func advanceDue(t *trial) {
	s := t.start(ours, 1, moment(time.Hour))
	t.takeNone(moment(0))
	t.takeNone(moment(time.Hour - tick))
	work := t.takeOne(moment(time.Hour))
	same(t, "the kind", work.Kind, verification.WorkAdvance)
	same(t, "the run", work.RunRef, s.ref(ours))
	same(t, "the attempt", work.Attempt, 0)
	t.takeNone(moment(time.Hour + lease - tick))
	late := t.start(ours, 2, moment(0))
	same(t, "the run that was due long ago", t.takeOne(moment(time.Hour)).RunRef, late.ref(ours))
}

func advanceReplaced(t *trial) {
	s := t.start(ours, 1, moment(time.Minute))
	t.again(ours, s, moment(time.Hour))
	t.takeNone(moment(time.Hour - tick))
	t.again(ours, s, moment(2*time.Minute))
	t.finish(t.takeOne(moment(2 * time.Minute)))
	t.takeNone(moment(24 * time.Hour))
	t.again(ours, s, moment(time.Minute))
	work := t.takeOne(moment(time.Minute))
	t.postpone(work, moment(3*time.Minute))
	t.again(ours, s, moment(2*time.Minute))
	same(t, "the attempt of an advance that replaced a postponed one", t.takeOne(moment(2*time.Minute)).Attempt, 0)
}

func advanceRemoved(t *trial) {
	s := t.start(ours, 1, moment(time.Minute))
	t.again(ours, s, time.Time{})
	t.takeNone(moment(24 * time.Hour))
	t.again(ours, s, moment(time.Minute))
	t.takeOne(moment(time.Minute))
	s = s.then(time.Second, consent())
	t.extend(ours, s, 1)
	t.takeNone(moment(24 * time.Hour))
}

// end saves a run that is over and to be announced.
func (t *trial) end(tenant verification.TenantID, n int) story {
	s := simple(n).then(time.Minute, completed())
	t.add(tenant, s.id, 0, s.announcing())
	return s
}

func announcementDue(t *trial) {
	s := simple(1)
	t.add(ours, s.id, 0, s.advancing(moment(time.Hour)))
	s = s.then(time.Minute, expired())
	a := s.announcing()
	a.Events, a.AdvanceAt = a.Events[1:], moment(time.Minute)
	t.add(ours, s.id, 1, a)
	t.takeNone(moment(time.Minute - tick))
	work, _ := t.take(moment(time.Minute), many)
	kinds := map[verification.WorkKind]bool{}
	for _, w := range work {
		kinds[w.Kind] = true
		same(t, "the run", w.RunRef, s.ref(ours))
		same(t, "the attempt", w.Attempt, 0)
		if w.Kind == verification.WorkAdvance {
			t.finish(w)
		}
	}
	want := map[verification.WorkKind]bool{verification.WorkAdvance: true, verification.WorkAnnounce: true}
	same(t, "the kinds of work at the end of the run", kinds, want)
	left := t.takeOne(moment(time.Minute + lease))
	same(t, "the work after the advance was finished", left.Kind, verification.WorkAnnounce)
	t.finish(left)
	t.takeNone(moment(24 * time.Hour))
}

func announcementStays(t *trial) {
	s := t.end(ours, 1)
	s = s.then(time.Minute, verdict("", verification.DecisionApprove))
	t.extend(ours, s, 2)
	work := t.takeOne(moment(2 * time.Minute))
	same(t, "the work", work.Kind, verification.WorkAnnounce)
	t.extend(ours, s.then(time.Minute, verdict("", verification.DecisionReject)), 3)
	t.postpone(work, moment(time.Hour))
	same(t, "the attempt", t.takeOne(moment(time.Hour)).Attempt, 1)
}

func announcedOnce(t *trial) {
	s := t.end(ours, 1)
	again := s.only(time.Time{})
	again.AnnounceAt = moment(time.Minute)
	t.add(ours, s.id, 2, again)
	work := t.takeOne(moment(time.Hour))
	t.add(ours, s.id, 2, again)
	t.finish(work)
	t.finish(t.takeOne(moment(time.Hour)))
	t.takeNone(moment(24 * time.Hour))
}

func takeMost(t *trial) {
	for _, n := range []int{3, 1, 5, 2, 4} {
		t.start(ours, n, moment(time.Duration(n)*time.Minute))
	}
	now := moment(4 * time.Minute)
	var got []verification.RunID
	for _, asked := range []struct{ most, want int }{{1, 1}, {2, 2}, {1, 1}, {many, 0}} {
		work, _ := t.take(now, asked.most)
		same(t, fmt.Sprintf("the number of pieces taken, at most %d", asked.most), len(work), asked.want)
		for _, w := range work {
			got = append(got, w.Run)
		}
	}
	if !t.over() && len(got) == 4 {
		// Within one taking the order is free.
		same(t, "the first piece", got[0], runID(1))
		same(t, "the last piece", got[3], runID(4))
	}
}

func takeNext(t *trial) {
	next := func(what string, now time.Time, most int, want time.Time) {
		_, got := t.take(now, most)
		same(t, "the moment to ask again "+what, got, want)
	}
	next("of an empty queue", moment(0), many, time.Time{})
	a := t.start(ours, 1, moment(time.Hour))
	b := t.start(theirs, 2, moment(30*time.Minute))
	next("before anything is due", moment(0), many, moment(30*time.Minute))
	t.again(ours, a, moment(20*time.Minute))
	next("after an advance was replaced", moment(0), many, moment(20*time.Minute))
	next("when more is due than was taken", moment(40*time.Minute), 1, moment(40*time.Minute))
	next("when all is leased", moment(40*time.Minute+tick), many, moment(40*time.Minute+lease))
	t.renew(moment(time.Hour), a.ref(ours))
	next("after a lease was renewed", moment(41*time.Minute), 0, moment(40*time.Minute+tick+lease))
	t.again(theirs, b, time.Time{})
	next("after an advance was removed", moment(41*time.Minute), many, moment(time.Hour))
	t.again(ours, a, time.Time{})
	next("of a queue that was emptied", moment(41*time.Minute), many, time.Time{})
}

func takersMeet(t *trial) {
	const pieces = 60
	for n := range pieces {
		t.start(ours, n+1, moment(0))
	}
	if t.over() {
		return
	}
	var mu sync.Mutex
	taken := map[verification.RunRef]int{}
	together(func(int) {
		for range pieces {
			work, _, err := t.store.Take(t.ctx, advances(moment(0), 3))
			mu.Lock()
			t.ok("Take", err)
			for _, w := range work {
				taken[w.RunRef]++
			}
			mu.Unlock()
		}
	})
	same(t, "the number of pieces taken", len(taken), pieces)
	for run, times := range taken {
		same(t, fmt.Sprintf("how often run %s was taken under one lease", run.Run), times, 1)
	}
}

func cancelledTake(t *trial) {
	s := t.start(ours, 1, moment(0))
	if t.over() {
		return
	}
	work, _, err := t.store.Take(cancelled(t.ctx), advances(moment(0), many))
	if err == nil || len(work) > 0 {
		t.faultf("Take under a context that is over = %s, %v, want an error", shown(work), err)
	}
	same(t, "the work that is still to be taken", t.takeOne(moment(0)).RunRef, s.ref(ours))
}

func workApart(t *trial) {
	mine, yours := t.start(ours, 1, moment(0)), t.start(theirs, 1, moment(0))
	// Replacing and removing one leaves the other.
	t.again(ours, mine, moment(time.Hour))
	same(t, "the run that is due", t.takeOne(moment(0)).RunRef, yours.ref(theirs))
	t.again(ours, mine, time.Time{})
	work := t.takeOne(moment(lease))
	same(t, "the run that is due again", work.RunRef, yours.ref(theirs))
	// So does finishing, postponing and renewing.
	t.again(ours, mine, moment(0))
	other := t.takeOne(moment(lease))
	same(t, "the run that was queued again", other.RunRef, mine.ref(ours))
	t.postpone(other, moment(time.Hour))
	t.renew(moment(2*time.Hour), mine.ref(ours))
	same(t, "the run whose lease ran out", t.takeOne(moment(2*lease)).RunRef, yours.ref(theirs))
	t.finish(t.takeOne(moment(3 * lease)))
	same(t, "the run that is left", t.takeOne(moment(2*time.Hour)).RunRef, mine.ref(ours))
}
