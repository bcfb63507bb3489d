// The clauses on leases: work that was taken, and is finished, postponed or released.

package storetest

import (
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification/store"
)

func leases() []clause {
	const (
		finish   = "WorkQueue.Finish: removes a piece of work, unless it was replaced, released or taken again since then"
		postpone = "WorkQueue.Postpone: makes a piece of work due again at the given time, unless w.Lease is no longer its lease"
		release  = "WorkQueue.Release: ignores a piece whose Lease is no longer its lease"
		leaseID  = "store.Work: Lease distinguishes this lease from every other of the same piece"
	)
	return []clause{
		{"leased work is not taken again", "WorkQueue.Take: leases due work until now+lease", leased},
		{"work is taken again when its lease ends", "WorkQueue: work is handed out at least once", leaseRunsOut},
		{"a renewed lease lasts until its new end", "WorkQueue.Renew: makes the leases of runs end at the time until", renewed},
		{"renewing creates no work and keeps no announcement", "WorkQueue.Renew: ignores runs without an advance in the queue", renewedNothing},
		{"finished work is not taken again", finish, finished},
		{"work may be finished after its lease was renewed", finish, finishedAfterRenewal},
		{"finishing does not remove the work that replaced it", finish, finishedAfterReplacement},
		{"finishing does not remove work that was taken again", leaseID, finishedAfterTaking},
		{"finishing and postponing do not change work that was released", finish, finishedAfterRelease},
		{"leases at the same time have different ids", leaseID, takenTwiceAtOnce},
		{"postponed work is due at its time with one more attempt", "WorkQueue.Postpone: makes a piece of work due again at the given time and counts one attempt", postponed},
		{"postponing does not move the work that replaced it", postpone, postponedAfterReplacement},
		{"leases that end without an append are counted", "store.Work: Lost counts the leases that ended since the last append or postponement, except those that were released", lostLeases},
		{"a lost lease of an append counts like one of a Take", "store.Commit: if a host takes the work at the end of a lease, that counts as one lost lease", lostAppended},
		{"a renewal counts a trial, until an append or another renewal", "store.Work: Alone counts the trials of the run since the last append, and since its lease was last renewed otherwise", trials},
		{"released work is due at its time with the same counts", "WorkQueue.Release: the work is due again at the given time, and neither an attempt nor a lost lease is counted", workReleased},
		{"released work says when its run was left, until the next append", "store.Work: LeftAt is when a host first left the run to other hosts since the last append", leftWork},
		{"releasing does not move the work that replaced it", release, releasedAfterReplacement},
		{"work that is gone may be finished and postponed", finish, goneWork},
	}
}

func leased(t *trial) {
	t.start(ours, 1, instant(0))
	t.end(ours, 2)
	work, _ := t.take(instant(time.Minute), noLimit)
	same(t, "the number of pieces", len(work), 2)
	t.takeNone(instant(time.Minute))
	t.takeNone(instant(time.Minute + lease - tick))
}

func leaseRunsOut(t *trial) {
	s := t.start(ours, 1, instant(0))
	t.takeOne(instant(0))
	for n := range 3 {
		work := t.takeOne(instant(time.Duration(n+1) * lease))
		same(t, "the run", work.RunRef, s.ref(ours))
		same(t, "the attempt of work that was not postponed", work.Attempt, 0)
		t.takeNone(instant(time.Duration(n+2)*lease - tick))
	}
	t.end(ours, 2)
	work := t.takeOne(instant(3*lease + tick))
	same(t, "the kind", work.Kind, store.WorkAnnounce)
	again, _ := t.take(instant(4*lease+tick), noLimit)
	if !slices.ContainsFunc(again, func(w store.Work) bool { return w.Kind == work.Kind && w.RunRef == work.RunRef }) {
		t.failf("Take at the end of the lease of the announcement = %s, want it among them", shown(again))
	}
}

func renewed(t *trial) {
	a, b := t.start(ours, 1, instant(0)), t.start(ours, 2, instant(0))
	work, _ := t.take(instant(0), noLimit)
	same(t, "the number of pieces", len(work), 2)
	t.renew(instant(10*time.Minute), b.ref(ours))
	same(t, "the run whose lease was not renewed", t.takeOne(instant(lease)).RunRef, a.ref(ours))
	t.renew(instant(20*time.Minute), a.ref(ours), b.ref(ours))
	t.takeNone(instant(20*time.Minute - tick))
	work, _ = t.take(instant(20*time.Minute), noLimit)
	same(t, "the number of pieces at the end of the new lease", len(work), 2)
	// A renewal may also shorten a lease.
	t.renew(instant(20*time.Minute+time.Second), a.ref(ours))
	same(t, "the run whose lease was shortened", t.takeOne(instant(20*time.Minute+time.Second)).RunRef, a.ref(ours))
}

func renewedNothing(t *trial) {
	parked := simple(1).then(time.Second, consent())
	t.save(ours, parked)
	over := t.end(ours, 2)
	t.renew(instant(time.Hour), parked.ref(ours), over.ref(ours), simple(3).ref(ours), simple(1).ref(theirs))
	work := t.takeOne(instant(time.Minute))
	same(t, "the work", work.Kind, store.WorkAnnounce)
	t.renew(instant(time.Hour), over.ref(ours))
	t.finish(t.takeOne(instant(time.Minute + lease)))
	t.takeNone(instant(24 * time.Hour))
}

func finished(t *trial) {
	t.start(ours, 1, instant(0))
	t.finish(t.takeOne(instant(0)))
	t.end(ours, 2)
	t.finish(t.takeOne(instant(time.Minute)))
	t.takeNone(instant(24 * time.Hour))
}

func finishedAfterRenewal(t *trial) {
	s := t.start(ours, 1, instant(0))
	work := t.takeOne(instant(0))
	t.renew(instant(time.Hour), s.ref(ours))
	t.finish(work)
	t.takeNone(instant(24 * time.Hour))
}

func finishedAfterReplacement(t *trial) {
	s := t.start(ours, 1, instant(0))
	work := t.takeOne(instant(0))
	t.requeue(ours, s, instant(time.Second))
	t.finish(work)
	same(t, "the advance that replaced it", t.takeOne(instant(time.Second)).RunRef, s.ref(ours))
	// An advance that is due exactly when the lease ends.
	work = t.takeOne(instant(2 * lease))
	t.requeue(ours, s, instant(3*lease))
	t.finish(work)
	same(t, "the advance of the end of the lease", t.takeOne(instant(3*lease)).RunRef, s.ref(ours))
}

func finishedAfterTaking(t *trial) {
	s := t.start(ours, 1, instant(0))
	first := t.takeOne(instant(0))
	second := t.takeOne(instant(lease))
	t.finish(first)
	t.postpone(first, instant(lease))
	t.takeNone(instant(2*lease - tick))
	third := t.takeOne(instant(2 * lease))
	same(t, "the run", third.RunRef, s.ref(ours))
	same(t, "the attempt", third.Attempt, 0)
	t.finish(second)
	t.finish(third)
	t.takeNone(instant(24 * time.Hour))
}

func finishedAfterRelease(t *trial) {
	t.start(ours, 1, instant(0))
	first := t.takeOne(instant(0))
	t.releaseWork(instant(time.Second), first)
	t.finish(first)
	t.postpone(first, instant(time.Hour))
	second := t.takeOne(instant(time.Second))
	same(t, "the attempt", second.Attempt, 0)
	t.releaseWork(instant(time.Minute), store.Work{WorkKey: second.WorkKey, RunRef: second.RunRef}) // whichever its lease is
	t.finish(second)
	t.takeOne(instant(time.Minute))
}

func takenTwiceAtOnce(t *trial) {
	s := t.start(ours, 1, instant(0))
	first := t.takeOne(instant(0))
	t.requeue(ours, s, instant(0))
	second := t.takeOne(instant(0))
	t.finish(first)
	t.postpone(first, instant(0))
	t.takeNone(instant(lease - tick))
	third := t.takeOne(instant(2 * lease))
	same(t, "the run that the second taker did not finish", third.RunRef, s.ref(ours))
	if first.Lease == second.Lease {
		t.failf("two leases of one piece have the same id %q", second.Lease)
	}
}

func postponed(t *trial) {
	s := t.start(ours, 1, instant(0))
	t.end(ours, 2)
	work, _ := t.take(instant(time.Minute), noLimit)
	same(t, "the number of pieces", len(work), 2)
	for _, w := range work {
		if w.Kind == store.WorkAdvance {
			t.postpone(w, instant(time.Hour))
		} else {
			t.postpone(w, instant(2*time.Hour))
		}
	}
	t.takeNone(instant(time.Hour - tick))
	again := t.takeOne(instant(time.Hour))
	same(t, "the run", again.RunRef, s.ref(ours))
	same(t, "the attempt", again.Attempt, 1)
	// Before the end of its lease.
	t.postpone(again, instant(time.Hour+time.Second))
	again = t.takeOne(instant(time.Hour + time.Second))
	same(t, "the attempt", again.Attempt, 2)
	t.finish(again)
	announce := t.takeOne(instant(2 * time.Hour))
	same(t, "the kind", announce.Kind, store.WorkAnnounce)
	same(t, "the attempt of the announcement", announce.Attempt, 1)
}

func postponedAfterReplacement(t *trial) {
	s := t.start(ours, 1, instant(0))
	work := t.takeOne(instant(0))
	t.requeue(ours, s, instant(time.Second))
	t.postpone(work, instant(time.Hour))
	again := t.takeOne(instant(time.Second))
	same(t, "the advance that replaced it", again.RunRef, s.ref(ours))
	same(t, "the attempt", again.Attempt, 0)
	t.requeue(ours, s, time.Time{})
	t.postpone(again, instant(time.Hour))
	t.takeNone(instant(24 * time.Hour))
}

func lostLeases(t *trial) {
	s := t.start(ours, 1, instant(0))
	for n := range 3 {
		same(t, "the lost leases", t.takeOne(instant(time.Duration(n)*lease)).Lost, n)
	}
	t.renew(instant(4*lease), s.ref(ours))
	work := t.takeOne(instant(4 * lease))
	same(t, "the lost leases after a renewal", work.Lost, 3)
	t.releaseWork(instant(4*lease), work)
	work = t.takeOne(instant(4 * lease))
	same(t, "the lost leases after a release", work.Lost, 3)
	t.postpone(work, instant(5*lease))
	same(t, "the lost leases after a postponement", t.takeOne(instant(5*lease)).Lost, 0)
	t.requeue(ours, s, instant(0))
	same(t, "the lost leases after an append", t.takeOne(instant(5*lease)).Lost, 0)
}

func lostAppended(t *trial) {
	s := simple(1)
	a := s.advancing(instant(lease))
	a.Hold = store.Leased
	t.add(ours, s.id, 0, a)
	same(t, "the lost leases", t.takeOne(instant(lease)).Lost, 1)
}

func trials(t *trial) {
	s := t.start(ours, 1, instant(0))
	other := t.start(ours, 2, instant(0))
	work, _ := t.take(instant(0), noLimit)
	same(t, "the number of pieces", len(work), 2)
	t.renew(instant(time.Hour), other.ref(ours))
	for n := range 3 {
		t.renewAlone(instant(time.Duration(n+1)*time.Minute), s.ref(ours))
		w := t.takeOne(instant(time.Duration(n+1) * time.Minute))
		same(t, "the run", w.RunRef, s.ref(ours))
		same(t, "the trials", w.Alone, n+1)
	}
	w := t.takeOne(instant(3*time.Minute + lease))
	same(t, "the trials after a lost lease without a trial", w.Alone, 3)
	t.releaseWork(instant(10*time.Minute), w)
	same(t, "the trials after a release", t.takeOne(instant(10*time.Minute)).Alone, 3)
	t.renew(instant(20*time.Minute), s.ref(ours))
	same(t, "the trials after another renewal", t.takeOne(instant(20*time.Minute)).Alone, 0)
	t.renewAlone(instant(30*time.Minute), s.ref(ours))
	t.requeue(ours, s, instant(30*time.Minute))
	w = t.takeOne(instant(30 * time.Minute))
	same(t, "the run", w.RunRef, s.ref(ours))
	same(t, "the trials after an append", w.Alone, 0)
	t.finish(w)
	same(t, "the trials of a run without any", t.takeOne(instant(time.Hour)).Alone, 0)
}

func workReleased(t *trial) {
	s := t.start(ours, 1, instant(0))
	work := t.takeOne(instant(0))
	t.releaseWork(instant(time.Second), work)
	t.takeNone(instant(time.Second - tick))
	work = t.takeOne(instant(time.Second))
	same(t, "the run", work.RunRef, s.ref(ours))
	same(t, "the attempt", work.Attempt, 0)
	same(t, "the lost leases", work.Lost, 0)
	// A host that leased a run by an append has no lease id.
	a := s.only(instant(time.Hour))
	a.Hold = store.Leased
	t.add(ours, s.id, len(s.events), a)
	t.end(ours, 2)
	t.releaseWork(instant(time.Minute), store.Work{WorkKey: advanceKey(), RunRef: s.ref(ours)})
	both, _ := t.take(instant(time.Minute), noLimit)
	same(t, "the number of pieces", len(both), 2)
	for _, w := range both {
		same(t, "the lost leases of what was released", w.Lost, 0)
	}
	t.releaseWork(instant(2*time.Minute), both...)
	both, _ = t.take(instant(2*time.Minute), noLimit)
	same(t, "the number of pieces that were released together", len(both), 2)
}

func leftWork(t *trial) {
	s := t.start(ours, 1, instant(0))
	work := t.takeOne(instant(0))
	same(t, "when a run that no host left was left", work.LeftAt, time.Time{})
	work.LeftAt = instant(time.Second)
	t.releaseWork(instant(time.Minute), work)
	work = t.takeOne(instant(time.Minute))
	same(t, "when the run was left", work.LeftAt, instant(time.Second))
	work = t.takeOne(instant(time.Minute + lease))
	same(t, "when the run was left, after a lost lease", work.LeftAt, instant(time.Second))
	t.requeue(ours, s, instant(time.Hour))
	work = t.takeOne(instant(time.Hour))
	same(t, "when the run was left, after an append", work.LeftAt, time.Time{})
	work.LeftAt = instant(time.Hour)
	t.releaseWork(instant(time.Hour), work)
	work = t.takeOne(instant(time.Hour))
	work.LeftAt = time.Time{}
	t.releaseWork(instant(time.Hour), work)
	same(t, "when a run was left that a host released without such a time", t.takeOne(instant(time.Hour)).LeftAt, time.Time{})
}

func releasedAfterReplacement(t *trial) {
	s := t.start(ours, 1, instant(0))
	first := t.takeOne(instant(0))
	t.requeue(ours, s, instant(time.Minute))
	t.releaseWork(instant(0), first)
	t.takeNone(instant(time.Minute - tick))
	second := t.takeOne(instant(time.Minute))
	t.releaseWork(instant(0), first)
	other := second
	other.Lease = "another"
	t.releaseWork(instant(0), other)
	t.takeNone(instant(time.Minute))
	t.finish(second)
	t.releaseWork(instant(0), second)
	t.takeNone(instant(24 * time.Hour))
}

func goneWork(t *trial) {
	s := t.start(ours, 1, instant(0))
	work := t.takeOne(instant(0))
	t.finish(work)
	t.finish(work)
	t.postpone(work, instant(time.Hour))
	t.takeNone(instant(24 * time.Hour))
	never := store.Work{WorkKey: announceKey(), RunRef: s.ref(ours), Lease: work.Lease}
	t.finish(never)
	t.postpone(never, instant(time.Hour))
	t.takeNone(instant(24 * time.Hour))
}
