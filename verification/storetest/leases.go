// The clauses on leases: who has a piece of work, and what becomes of it.

package storetest

import (
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Leases are the clauses on work that was taken.
func Leases() []Clause {
	const replaced = ", unless it was replaced since it was taken"
	return []Clause{
		clause("work that was taken is not handed out under its lease",
			"WorkQueue.Take: leases due work until now+lease",
			leased),
		clause("work whose lease ran out is handed out again",
			"WorkQueue: work is handed out at least once",
			leaseRunsOut),
		clause("a renewed lease holds until its new end",
			"WorkQueue.Renew: moves the lease of runs that are being driven to until",
			renewed),
		clause("renewing makes no work and keeps no announcement",
			"WorkQueue.Renew: a run without an advance in the queue is left alone",
			renewedNothing),
		clause("finished work does not come again",
			"WorkQueue.Finish: removes a piece of work",
			finished),
		clause("work may be finished after its lease was renewed",
			"WorkQueue.Finish: removes a piece of work"+replaced,
			finishedAfterRenewal),
		clause("finishing leaves the work that replaced what was taken",
			"WorkQueue.Finish: removes a piece of work"+replaced,
			finishedAfterReplacement),
		clause("finishing leaves the work that another has taken since",
			"verification.Work: Lease distinguishes this lease from every other of the same piece",
			finishedAfterTaking),
		clause("takings at one moment are told apart",
			"verification.Work: Lease distinguishes this lease from every other of the same piece",
			takenAtOneMoment),
		clause("postponed work comes again at its moment with one more attempt",
			"WorkQueue.Postpone: due again at a moment, with one more attempt counted",
			postponed),
		clause("postponing leaves the work that replaced what was taken",
			"WorkQueue.Postpone: due again at a moment"+replaced,
			postponedAfterReplacement),
		clause("leases that end without an append are counted",
			"verification.Work: Lost counts the leases that ended since the last append, postponement or release",
			lostLeases),
		clause("a lease that an append took counts like one of a taker",
			"verification.Commit: work that falls due at the end of a lease counts as lost",
			lostAppended),
		clause("released work is due at its time and counts nothing",
			"WorkQueue.Release: due again at a time, with no attempt and no lost lease counted",
			workReleased),
		clause("releasing leaves the work that replaced what was taken",
			"WorkQueue.Release: due again at a time"+replaced,
			releasedAfterReplacement),
		clause("work that is no longer there may be finished and postponed",
			"WorkQueue.Finish: removes a piece of work"+replaced,
			goneWork),
	}
}

func leased(t *trial) {
	t.start(ours, 1, moment(0))
	t.end(ours, 2)
	work, _ := t.take(moment(time.Minute), many)
	same(t, "the number of pieces", len(work), 2)
	t.takeNone(moment(time.Minute))
	t.takeNone(moment(time.Minute + lease - tick))
}

func leaseRunsOut(t *trial) {
	s := t.start(ours, 1, moment(0))
	t.takeOne(moment(0))
	for n := range 3 {
		work := t.takeOne(moment(time.Duration(n+1) * lease))
		same(t, "the run", work.RunRef, s.ref(ours))
		same(t, "the attempt of work that nobody postponed", work.Attempt, 0)
		t.takeNone(moment(time.Duration(n+2)*lease - tick))
	}
	t.end(ours, 2)
	work := t.takeOne(moment(3*lease + tick))
	same(t, "the kind", work.Kind, verification.WorkAnnounce)
	again, _ := t.take(moment(4*lease+tick), many)
	if !t.over() && !slices.ContainsFunc(again, func(w verification.Work) bool { return w.Kind == work.Kind && w.RunRef == work.RunRef }) {
		t.faultf("Take at the end of the lease of the announcement = %s, want it among them", shown(again))
	}
}

func renewed(t *trial) {
	a, b := t.start(ours, 1, moment(0)), t.start(ours, 2, moment(0))
	work, _ := t.take(moment(0), many)
	same(t, "the number of pieces", len(work), 2)
	t.renew(moment(10*time.Minute), b.ref(ours))
	same(t, "the run whose lease was not renewed", t.takeOne(moment(lease)).RunRef, a.ref(ours))
	t.renew(moment(20*time.Minute), a.ref(ours), b.ref(ours))
	t.takeNone(moment(20*time.Minute - tick))
	work, _ = t.take(moment(20*time.Minute), many)
	same(t, "the number of pieces at the end of the new lease", len(work), 2)
	// A lease may also be given up before its end.
	t.renew(moment(20*time.Minute+time.Second), a.ref(ours))
	same(t, "the run that was given up", t.takeOne(moment(20*time.Minute+time.Second)).RunRef, a.ref(ours))
}

func renewedNothing(t *trial) {
	parked := simple(1).then(time.Second, consent())
	t.save(ours, parked)
	over := t.end(ours, 2)
	t.renew(moment(time.Hour), parked.ref(ours), over.ref(ours), simple(3).ref(ours), simple(1).ref(theirs))
	work := t.takeOne(moment(time.Minute))
	same(t, "the work", work.Kind, verification.WorkAnnounce)
	t.renew(moment(time.Hour), over.ref(ours))
	t.finish(t.takeOne(moment(time.Minute + lease)))
	t.takeNone(moment(24 * time.Hour))
}

func finished(t *trial) {
	t.start(ours, 1, moment(0))
	t.finish(t.takeOne(moment(0)))
	t.takeNone(moment(24 * time.Hour))
	// Late, but before anybody else took it.
	t.start(ours, 2, moment(0))
	t.finish(t.takeOne(moment(0)))
	t.end(ours, 3)
	t.finish(t.takeOne(moment(time.Minute)))
	t.takeNone(moment(24 * time.Hour))
}

func finishedAfterRenewal(t *trial) {
	s := t.start(ours, 1, moment(0))
	work := t.takeOne(moment(0))
	t.renew(moment(time.Hour), s.ref(ours))
	t.finish(work)
	t.takeNone(moment(24 * time.Hour))
}

func finishedAfterReplacement(t *trial) {
	s := t.start(ours, 1, moment(0))
	work := t.takeOne(moment(0))
	t.again(ours, s, moment(time.Second))
	t.finish(work)
	same(t, "the advance that replaced it", t.takeOne(moment(time.Second)).RunRef, s.ref(ours))
	// An advance that is due exactly when the lease ends.
	work = t.takeOne(moment(2 * lease))
	t.again(ours, s, moment(3*lease))
	t.finish(work)
	same(t, "the advance of the end of the lease", t.takeOne(moment(3*lease)).RunRef, s.ref(ours))
}

func finishedAfterTaking(t *trial) {
	s := t.start(ours, 1, moment(0))
	first := t.takeOne(moment(0))
	second := t.takeOne(moment(lease))
	t.finish(first)
	t.postpone(first, moment(lease))
	t.takeNone(moment(2*lease - tick))
	third := t.takeOne(moment(2 * lease))
	same(t, "the run", third.RunRef, s.ref(ours))
	same(t, "the attempt", third.Attempt, 0)
	t.finish(second)
	t.finish(third)
	t.takeNone(moment(24 * time.Hour))
}

func takenAtOneMoment(t *trial) {
	s := t.start(ours, 1, moment(0))
	first := t.takeOne(moment(0))
	t.again(ours, s, moment(0))
	second := t.takeOne(moment(0))
	t.finish(first)
	t.postpone(first, moment(0))
	t.takeNone(moment(lease - tick))
	third := t.takeOne(moment(2 * lease))
	same(t, "the run that the second taker did not finish", third.RunRef, s.ref(ours))
	if !t.over() && first.Lease == second.Lease {
		t.faultf("two leases of one piece have the same id %q", second.Lease)
	}
}

func postponed(t *trial) {
	s := t.start(ours, 1, moment(0))
	t.end(ours, 2)
	work, _ := t.take(moment(time.Minute), many)
	same(t, "the number of pieces", len(work), 2)
	for _, w := range work {
		if w.Kind == verification.WorkAdvance {
			t.postpone(w, moment(time.Hour))
		} else {
			t.postpone(w, moment(2*time.Hour))
		}
	}
	t.takeNone(moment(time.Hour - tick))
	again := t.takeOne(moment(time.Hour))
	same(t, "the run", again.RunRef, s.ref(ours))
	same(t, "the attempt", again.Attempt, 1)
	// Earlier than its lease would end.
	t.postpone(again, moment(time.Hour+time.Second))
	again = t.takeOne(moment(time.Hour + time.Second))
	same(t, "the attempt", again.Attempt, 2)
	t.finish(again)
	announce := t.takeOne(moment(2 * time.Hour))
	same(t, "the kind", announce.Kind, verification.WorkAnnounce)
	same(t, "the attempt of the announcement", announce.Attempt, 1)
}

func postponedAfterReplacement(t *trial) {
	s := t.start(ours, 1, moment(0))
	work := t.takeOne(moment(0))
	t.again(ours, s, moment(time.Second))
	t.postpone(work, moment(time.Hour))
	again := t.takeOne(moment(time.Second))
	same(t, "the advance that replaced it", again.RunRef, s.ref(ours))
	same(t, "the attempt", again.Attempt, 0)
	t.again(ours, s, time.Time{})
	t.postpone(again, moment(time.Hour))
	t.takeNone(moment(24 * time.Hour))
}

func lostLeases(t *trial) {
	s := t.start(ours, 1, moment(0))
	for n := range 3 {
		same(t, "the lost leases", t.takeOne(moment(time.Duration(n)*lease)).Lost, n)
	}
	t.renew(moment(4*lease), s.ref(ours))
	work := t.takeOne(moment(4 * lease))
	same(t, "the lost leases after a renewal", work.Lost, 3)
	t.postpone(work, moment(5*lease))
	same(t, "the lost leases after a postponement", t.takeOne(moment(5*lease)).Lost, 0)
	t.again(ours, s, moment(0))
	same(t, "the lost leases after an append", t.takeOne(moment(5*lease)).Lost, 0)
}

func lostAppended(t *trial) {
	s := simple(1)
	a := s.advancing(moment(lease))
	a.Leased = true
	t.add(ours, s.id, 0, a)
	same(t, "the lost leases", t.takeOne(moment(lease)).Lost, 1)
}

func workReleased(t *trial) {
	s := t.start(ours, 1, moment(0))
	work := t.takeOne(moment(0))
	t.releaseWork(moment(time.Second), work)
	t.takeNone(moment(time.Second - tick))
	work = t.takeOne(moment(time.Second))
	same(t, "the run", work.RunRef, s.ref(ours))
	same(t, "the attempt", work.Attempt, 0)
	same(t, "the lost leases", work.Lost, 0)
	// A host that leased a run by an append has no lease id.
	a := s.only(moment(time.Hour))
	a.Leased = true
	t.add(ours, s.id, len(s.events), a)
	t.end(ours, 2)
	t.releaseWork(moment(time.Minute), verification.Work{Kind: verification.WorkAdvance, RunRef: s.ref(ours)})
	both, _ := t.take(moment(time.Minute), many)
	same(t, "the number of pieces", len(both), 2)
	for _, w := range both {
		same(t, "the lost leases of what was released", w.Lost, 0)
	}
	t.releaseWork(moment(2*time.Minute), both...)
	both, _ = t.take(moment(2*time.Minute), many)
	same(t, "the number of pieces that were released together", len(both), 2)
}

func releasedAfterReplacement(t *trial) {
	s := t.start(ours, 1, moment(0))
	first := t.takeOne(moment(0))
	t.again(ours, s, moment(time.Minute))
	t.releaseWork(moment(0), first)
	t.takeNone(moment(time.Minute - tick))
	second := t.takeOne(moment(time.Minute))
	t.releaseWork(moment(0), first)
	t.takeNone(moment(time.Minute))
	t.finish(second)
	t.releaseWork(moment(0), second)
	t.takeNone(moment(24 * time.Hour))
}

func goneWork(t *trial) {
	s := t.start(ours, 1, moment(0))
	work := t.takeOne(moment(0))
	t.finish(work)
	t.finish(work)
	t.postpone(work, moment(time.Hour))
	t.takeNone(moment(24 * time.Hour))
	never := verification.Work{Kind: verification.WorkAnnounce, RunRef: s.ref(ours), Lease: work.Lease}
	t.finish(never)
	t.postpone(never, moment(time.Hour))
	t.takeNone(moment(24 * time.Hour))
}
