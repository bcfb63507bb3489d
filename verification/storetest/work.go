// The clauses on the work queue: which work Take returns, and when.

package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func queue() []clause {
	const take = "WorkQueue.Take: "
	return []clause{
		{"an advance is taken when it is due and not before", "store.Commit: Work has the due times of the run's pieces of work; " + take + "due work", advanceDue},
		{"a new advance replaces the previous one", "store.Commit: a time replaces the piece", advanceReplaced},
		{"a zero time removes the advance", "store.Commit: zero removes it", advanceRemoved},
		{"the pieces of a run are replaced and removed alone", "store.Commit: a piece without a time stays as it is", piecesOfARun},
		{"an announcement is due at its time, independently of the advance", "store.Commit: a piece without a time stays as it is", announcementDue},
		{"a later append does not change a queued announcement", "WorkQueue: work is handed out at least once", announcementStays},
		{"a run has at most one announcement in the queue", "rules.Notice: no other notice has its ID", announcedOnce},
		{"each notice of a run is a piece of its own", "WorkQueue: a run has at most one piece of each kind in the queue, and one for each of its notices", eachNoticeQueued},
		{"Take returns up to its limit, the earliest due first", "store.TakeRequest: Max bounds the pieces of all tenants", takeLimit},
		{"next is when the earliest remaining work is due", take + "the time at which to call again, unless something is appended earlier", takeNext},
		{"concurrent takers share the work", take + "leases due work", concurrentTakers},
		{"a Take with a cancelled context takes nothing", take + "leases due work", cancelledTake},
		{"two tenants have separate work", "store.Work: a run together with its tenant", workOfTwoTenants},
	}
}

// start saves a run whose advance is due at a time.
func (t *trial) start(tenant verification.TenantID, n int, at time.Time) history {
	s := simple(n)
	t.add(tenant, s.id, 0, s.advancing(at))
	return s
}

// requeue replaces the advance of a run; zero removes it.
func (t *trial) requeue(tenant verification.TenantID, s history, at time.Time) {
	t.add(tenant, s.id, len(s.events), s.only(at))
}

func advanceDue(t *trial) {
	s := t.start(ours, 1, instant(time.Hour))
	t.takeNone(instant(0))
	t.takeNone(instant(time.Hour - tick))
	work := t.takeOne(instant(time.Hour))
	same(t, "the kind", work.Kind, store.WorkAdvance)
	same(t, "the run", work.RunRef, s.ref(ours))
	same(t, "the attempt", work.Attempt, 0)
	t.takeNone(instant(time.Hour + lease - tick))
	late := t.start(ours, 2, instant(0))
	same(t, "the run that was due long ago", t.takeOne(instant(time.Hour)).RunRef, late.ref(ours))
}

func advanceReplaced(t *trial) {
	s := t.start(ours, 1, instant(time.Minute))
	t.requeue(ours, s, instant(time.Hour))
	t.takeNone(instant(time.Hour - tick))
	t.requeue(ours, s, instant(2*time.Minute))
	t.finish(t.takeOne(instant(2 * time.Minute)))
	t.takeNone(instant(24 * time.Hour))
	t.requeue(ours, s, instant(time.Minute))
	work := t.takeOne(instant(time.Minute))
	t.postpone(work, instant(3*time.Minute))
	t.requeue(ours, s, instant(2*time.Minute))
	same(t, "the attempt of an advance that replaced a postponed one", t.takeOne(instant(2*time.Minute)).Attempt, 0)
}

func advanceRemoved(t *trial) {
	s := t.start(ours, 1, instant(time.Minute))
	t.requeue(ours, s, time.Time{})
	t.takeNone(instant(24 * time.Hour))
	t.requeue(ours, s, instant(time.Minute))
	t.takeOne(instant(time.Minute))
	s = s.then(time.Second, consent())
	t.extend(ours, s, 1)
	t.takeNone(instant(24 * time.Hour))
}

// piecesOfARun replaces and removes pieces of one kind, and finds the others as they were.
func piecesOfARun(t *trial) {
	s := simple(1)
	c := s.commit()
	for i, key := range kinds() {
		c.Work[key] = instant(time.Duration(i+1) * time.Minute)
	}
	t.add(ours, s.id, 0, c)
	for i, key := range kinds() {
		kind, others := key.KindText(), instant(time.Duration(i+1)*time.Minute)
		only := store.Commit{Summary: s.summary(), Work: store.DueWork{key: others.Add(time.Hour)}}
		t.add(ours, s.id, 1, only)
		work, next := t.takeKind(due(key, others))
		same(t, "the pieces of kind "+kind+" at the time that was replaced", len(work), 0)
		same(t, "the time that replaced it", next, others.Add(time.Hour))
		for j, other := range kinds() {
			if at := instant(time.Duration(j+1) * time.Minute); j > i {
				_, next = t.takeKind(due(other, at.Add(-tick)))
				same(t, "when the piece of kind "+other.KindText()+" is due", next, at)
			}
		}
		only.Work[key] = time.Time{}
		t.add(ours, s.id, 1, only)
		_, next = t.takeKind(due(key, others))
		same(t, "the next time of kind "+kind+" once its piece is removed", next, time.Time{})
	}
}

// end saves a run that has ended, with its announcement.
func (t *trial) end(tenant verification.TenantID, n int) history {
	s := simple(n).then(time.Minute, completed())
	t.add(tenant, s.id, 0, s.announcing())
	return s
}

func announcementDue(t *trial) {
	s := simple(1)
	t.add(ours, s.id, 0, s.advancing(instant(time.Hour)))
	s = s.then(time.Minute, expired())
	a := s.announcing()
	a.Events, a.Work[advanceKey()] = a.Events[1:], instant(time.Minute)
	t.add(ours, s.id, 1, a)
	t.takeNone(instant(time.Minute - tick))
	work, _ := t.take(instant(time.Minute), noLimit)
	kinds := map[store.WorkKind]bool{}
	for _, w := range work {
		kinds[w.Kind] = true
		same(t, "the run", w.RunRef, s.ref(ours))
		same(t, "the attempt", w.Attempt, 0)
		if w.Kind == store.WorkAdvance {
			t.finish(w)
		}
	}
	want := map[store.WorkKind]bool{store.WorkAdvance: true, store.WorkAnnounce: true}
	same(t, "the kinds of work at the end of the run", kinds, want)
	left := t.takeOne(instant(time.Minute + lease))
	same(t, "the work after the advance was finished", left.Kind, store.WorkAnnounce)
	t.finish(left)
	t.takeNone(instant(24 * time.Hour))
}

func announcementStays(t *trial) {
	s := t.end(ours, 1)
	s = s.then(time.Minute, verdict("", rules.DecisionApprove))
	t.extend(ours, s, 2)
	work := t.takeOne(instant(2 * time.Minute))
	same(t, "the work", work.Kind, store.WorkAnnounce)
	t.extend(ours, s.then(time.Minute, verdict("", rules.DecisionReject)), 3)
	t.postpone(work, instant(time.Hour))
	same(t, "the attempt", t.takeOne(instant(time.Hour)).Attempt, 1)
}

func announcedOnce(t *trial) {
	s := t.end(ours, 1)
	again := s.only(time.Time{})
	again.Work[announceKey()] = instant(time.Minute)
	t.add(ours, s.id, 2, again)
	work := t.takeOne(instant(time.Hour))
	t.add(ours, s.id, 2, again)
	t.finish(work)
	t.finish(t.takeOne(instant(time.Hour)))
	t.takeNone(instant(24 * time.Hour))
}

// eachNoticeQueued queues two notices beside that of the end, one of them twice.
func eachNoticeQueued(t *trial) {
	s := t.end(ours, 1)
	further := s.only(time.Time{})
	seventh, eleventh := store.WorkKey{Kind: store.WorkAnnounce, Seq: 7}, store.WorkKey{Kind: store.WorkAnnounce, Seq: 11}
	further.Work[seventh], further.Work[eleventh] = instant(time.Minute), instant(time.Minute)
	t.add(ours, s.id, 2, further)
	delete(further.Work, seventh)
	t.add(ours, s.id, 2, further)
	taken := func(now time.Time, want ...int) map[int]store.Work {
		work, _ := t.take(now, noLimit)
		pieces := map[int]store.Work{}
		var got []int
		for _, w := range work {
			same(t, "the kind", w.Kind, store.WorkAnnounce)
			same(t, "the run", w.RunRef, s.ref(ours))
			got, pieces[w.Seq] = append(got, w.Seq), w
		}
		slices.Sort(got)
		same(t, "the notices that are due", got, want)
		return pieces
	}
	work := taken(instant(time.Hour), 0, 7, 11)
	t.finish(work[0])
	t.ok("Postpone", t.store.Postpone(t.ctx, work[7], instant(3*time.Hour)))
	t.ok("Release", t.store.Release(t.ctx, []store.Work{work[11]}, instant(time.Hour)))
	t.finish(taken(instant(time.Hour), 11)[11])
	last := taken(instant(3*time.Hour), 7)[7]
	same(t, "the attempt", last.Attempt, 1)
	t.finish(last)
	t.takeNone(instant(24 * time.Hour))
}

func takeLimit(t *trial) {
	for _, n := range []int{3, 1, 5, 2, 4} {
		t.start(ours, n, instant(time.Duration(n)*time.Minute))
	}
	now := instant(4 * time.Minute)
	var got []verification.RunID
	for _, c := range []struct{ max, want int }{{1, 1}, {2, 2}, {1, 1}, {noLimit, 0}} {
		work, _ := t.take(now, c.max)
		same(t, fmt.Sprintf("the number of pieces of Take(max %d)", c.max), len(work), c.want)
		for _, w := range work {
			got = append(got, w.Run)
		}
	}
	if len(got) == 4 {
		// The pieces of one Take are in any order.
		same(t, "the first piece", got[0], runID(1))
		same(t, "the last piece", got[3], runID(4))
	}
}

func takeNext(t *trial) {
	next := func(what string, now time.Time, max int, want time.Time) {
		_, got := t.take(now, max)
		same(t, "the next time "+what, got, want)
	}
	next("of an empty queue", instant(0), noLimit, time.Time{})
	a := t.start(ours, 1, instant(time.Hour))
	b := t.start(theirs, 2, instant(30*time.Minute))
	next("before anything is due", instant(0), noLimit, instant(30*time.Minute))
	t.requeue(ours, a, instant(20*time.Minute))
	next("after an advance was replaced", instant(0), noLimit, instant(20*time.Minute))
	next("when more is due than was taken", instant(40*time.Minute), 1, instant(40*time.Minute))
	next("when all is leased", instant(40*time.Minute+tick), noLimit, instant(40*time.Minute+lease))
	t.renew(instant(time.Hour), a.ref(ours))
	next("after a lease was renewed", instant(41*time.Minute), 0, instant(40*time.Minute+tick+lease))
	t.requeue(theirs, b, time.Time{})
	next("after an advance was removed", instant(41*time.Minute), noLimit, instant(time.Hour))
	t.requeue(ours, a, time.Time{})
	next("of a queue that was emptied", instant(41*time.Minute), noLimit, time.Time{})
}

func concurrentTakers(t *trial) {
	const pieces = 60
	for n := range pieces {
		t.start(ours, n+1, instant(0))
	}
	var mu sync.Mutex
	taken := map[verification.RunRef]int{}
	errs := concurrently(func(int) (all error) {
		for range pieces {
			work, _, err := t.store.Take(t.ctx, advances(instant(0), 3))
			all = errors.Join(all, err)
			mu.Lock()
			for _, w := range work {
				taken[w.RunRef]++
			}
			mu.Unlock()
		}
		return all
	})
	t.ok("concurrent Takes", errors.Join(errs[:]...))
	same(t, "the number of pieces taken", len(taken), pieces)
	for run, times := range taken {
		same(t, fmt.Sprintf("how often run %s was taken under one lease", run.Run), times, 1)
	}
}

func cancelledTake(t *trial) {
	s := t.start(ours, 1, instant(0))
	work, _, err := t.store.Take(cancelled(t.ctx), advances(instant(0), noLimit))
	if err == nil || len(work) > 0 {
		t.failf("Take with a cancelled context = %s, %v, want an error", shown(work), err)
	}
	same(t, "the work that is still due", t.takeOne(instant(0)).RunRef, s.ref(ours))
}

func workOfTwoTenants(t *trial) {
	mine, yours := t.start(ours, 1, instant(0)), t.start(theirs, 1, instant(0))
	// Replacing and removing one leaves the other.
	t.requeue(ours, mine, instant(time.Hour))
	same(t, "the run that is due", t.takeOne(instant(0)).RunRef, yours.ref(theirs))
	t.requeue(ours, mine, time.Time{})
	work := t.takeOne(instant(lease))
	same(t, "the run that is due again", work.RunRef, yours.ref(theirs))
	// So do finishing, postponing and renewing.
	t.requeue(ours, mine, instant(0))
	other := t.takeOne(instant(lease))
	same(t, "the run that was queued again", other.RunRef, mine.ref(ours))
	t.postpone(other, instant(time.Hour))
	t.renew(instant(2*time.Hour), mine.ref(ours))
	same(t, "the run whose lease ended", t.takeOne(instant(2*lease)).RunRef, yours.ref(theirs))
	t.finish(t.takeOne(instant(3 * lease)))
	same(t, "the remaining run", t.takeOne(instant(2*time.Hour)).RunRef, mine.ref(ours))
}
