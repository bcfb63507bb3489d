// The clauses on Append: in sequence, all or nothing.

package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func appends() []clause {
	const atSeq = "RunStore.Append: returns ErrConflict if the history no longer ends at seq"
	return []clause{
		{"a run is created once", "RunStore.Append: 0 creates the run", createdOnce},
		{"an append with the wrong length of the history is refused", atSeq, wrongLength},
		{"exactly one of concurrent appends to a run succeeds", atSeq, concurrentAppends},
		{"concurrent appends to different runs all succeed", atSeq, appendsToManyRuns},
		{"an append saves events, summary and effects together", "RunStore.Append: applies the commit c to a run, all or nothing", wholeAppend},
		{"a refused append changes nothing", "RunStore.Append: all or nothing", refusedAppend},
		{"an append with a cancelled context changes nothing", "RunStore.Append: all or nothing", cancelledAppend},
		{"an append without events changes only the effects", "store.Commit: Events may be empty: then only the effects change", appendWithoutEvents},
		{"a history-only append changes only the history", "store.Commit: such an append adds only Events, and a store must leave summary and queue as they are", historyOnlyAppend},
		{"an append without a wake-up still queues its effects", "store.Hold: the caller carries out the work in time, so that other hosts need no wake-up", appendWithoutWakeup},
		{"an append that depends on an old revision of its workflow is refused", "RunStore.Append: ErrConflict if the workflow no longer has the commit's revision", oldWorkflow},
		{"a tenant cannot append to another tenant's run", "RunStore.Append: the history is that of the tenant's own run", appendOfAnotherTenant},
	}
}

func (t *trial) refusedAppend(what string, tenant verification.TenantID, s history, seq int) {
	err := t.store.Append(t.ctx, tenant, s.id, seq, s.advancing(instant(time.Minute)))
	t.refused(fmt.Sprintf("Append(seq %d) %s", seq, what), err, verification.ErrConflict)
}

func createdOnce(t *trial) {
	s := simple(1)
	t.save(ours, s)
	t.refusedAppend("to a run that is there", ours, simple(1).then(time.Second, dispatched(1)), 0)
	t.holds(ours, s)
}

func wrongLength(t *trial) {
	s := simple(1).then(time.Second, dispatched(1)).then(time.Second, asked("review"))
	t.save(ours, s)
	for _, seq := range []int{1, 2, 4, 100} {
		t.refusedAppend("to a history of 3", ours, s.then(time.Second, completed()), seq)
		t.refused(fmt.Sprintf("Append(seq %d) without events", seq), t.store.Append(t.ctx, ours, s.id, seq, s.only(instant(time.Hour))), verification.ErrConflict)
	}
	t.refusedAppend("to a run that is not there", ours, simple(2), 1)
	t.holds(ours, s)
	s = s.then(time.Second, verdict("review", rules.DecisionApprove), completed())
	t.extend(ours, s, 3)
	t.refusedAppend("to a history that has grown to 5", ours, s.then(time.Second, completed()), 3)
	t.holds(ours, s)
}

func oldWorkflow(t *trial) {
	at := func(s history, revision int) store.Commit {
		c := s.advancing(instant(time.Hour))
		c.WorkflowRevision = revision
		return c
	}
	s := simple(1)
	refused := func(what string, c store.Commit, seq int) {
		t.refused("Append "+what, t.store.Append(t.ctx, ours, s.id, seq, c), verification.ErrConflict)
	}
	refused("to a workflow that is not there", at(s, 1), 0)
	w := aWorkflow(1)
	w.ID = onboarding
	t.ok("SaveWorkflow", t.store.SaveWorkflow(t.ctx, ours, w, nil))
	t.ok("SaveWorkflow", t.store.SaveWorkflow(t.ctx, theirs, w, nil))
	w.Revision = 2
	t.ok("SaveWorkflow", t.store.SaveWorkflow(t.ctx, ours, w, nil))
	refused("with the revision before", at(s, 1), 0)
	refused("with a later revision", at(s, 3), 0)
	t.takeNone(instant(time.Hour))
	t.ok("Append with the stored revision", t.store.Append(t.ctx, ours, s.id, 0, at(s, 2)))
	t.holds(ours, s)
	next := s.then(time.Second, completed())
	c := at(next, 1)
	c.Events = c.Events[1:]
	refused("of an end with the revision before", c, 1)
	t.holds(ours, s)
	c.WorkflowRevision = 2
	t.ok("Append of an end with the stored revision", t.store.Append(t.ctx, ours, s.id, 1, c))
	t.holds(ours, next)
}

func concurrentAppends(t *trial) {
	for n := 1; n <= 10; n++ {
		base := history{id: runID(n)}
		won := t.race(base, func(caller int) history {
			s := started()
			s.ReferenceID = fmt.Sprintf("customer-%d", caller)
			return begin(n, instant(0), s)
		})
		t.race(won, func(caller int) history {
			return won.then(time.Second, rules.CustomerAwaited{
				Node: "consent", Type: workflow.NodeConsent, Signal: fmt.Sprintf("signal-%d", caller),
			})
		})
	}
}

// race lets every caller continue a history in its own way. It
// ends the clause unless exactly one succeeds, with its events, summary and advance.
func (t *trial) race(base history, mine func(caller int) history) history {
	seq := len(base.events)
	advance := func(caller int) time.Time { return instant(time.Duration(caller+1) * time.Hour) }
	errs := concurrently(func(caller int) error {
		s := mine(caller)
		a := s.advancing(advance(caller))
		a.Events = a.Events[seq:]
		return t.store.Append(t.ctx, ours, s.id, seq, a)
	})
	winner, wins := base, 0
	for caller, err := range errs {
		switch {
		case err == nil:
			wins++
			winner = mine(caller)
		case !errors.Is(err, verification.ErrConflict):
			t.failf("concurrent Append: %w, want %q", err, verification.ErrConflict)
		}
	}
	if wins != 1 {
		t.failf("%d of %d concurrent appends at seq %d succeeded, want 1", wins, callers, seq)
	}
	t.holds(ours, winner)
	for caller, err := range errs {
		if err == nil {
			t.takeNone(advance(caller).Add(-tick))
			t.finish(t.takeOne(advance(caller)))
		}
	}
	return winner
}

func appendsToManyRuns(t *trial) {
	const each = 10
	errs := concurrently(func(caller int) (err error) {
		for i := range each {
			s := simple(caller*each + i + 1)
			err = errors.Join(err, t.store.Append(t.ctx, ours, s.id, 0, s.advancing(instant(0))))
		}
		return err
	})
	t.ok("concurrent appends to different runs", errors.Join(errs[:]...))
	for n := 1; n <= callers*each; n++ {
		same(t, "the history", t.load(ours, runID(n), 0), simple(n).events)
	}
	same(t, "the number of runs", t.list(ours, everything(instant(0))).Total, callers*each)
	work, _ := t.take(instant(0), 2*callers*each)
	same(t, "the number of advances", len(work), callers*each)
}

func wholeAppend(t *trial) {
	s := begin(1, instant(0), limited(3600, 0)).then(time.Second, dispatched(1))
	t.add(ours, s.id, 0, s.advancing(instant(time.Minute)))
	t.holds(ours, s)
	t.takeNone(instant(time.Minute - tick))
	same(t, "the advance", t.takeOne(instant(time.Minute)).Kind, store.WorkAdvance)
	t.expires(instant(time.Hour+tick), s.ref(ours))

	s = s.then(2*time.Minute, failed())
	a := s.commitAfter(2)
	a.Work[announceKey()] = s.events[2].At
	t.add(ours, s.id, 2, a)
	t.holds(ours, s)
	same(t, "the announcement", t.takeOne(instant(time.Hour)).Kind, store.WorkAnnounce)
	t.expires(instant(1000 * time.Hour))
}

// cancelling returns a commit that changes everything of a run.
func cancelling(s history) (before history, seq int, a store.Commit) {
	over := s.then(time.Minute, rules.Cancelled{})
	a = over.announcing()
	a.Events, a.Work[advanceKey()] = a.Events[len(s.events):], instant(2*time.Minute)
	a.Work[expireKey()] = time.Time{}
	return s, len(s.events), a
}

// untouched ends the clause unless a run is as it was saved, with a deadline in an hour and an
// advance in ten minutes.
func (t *trial) untouched(s history) {
	t.holds(ours, s)
	t.takeNone(instant(10*time.Minute - tick))
	same(t, "the work", t.takeOne(instant(10*time.Minute)).Kind, store.WorkAdvance)
	t.expires(instant(time.Hour+tick), s.ref(ours))
}

func refusedAppend(t *trial) {
	s, seq, a := cancelling(begin(1, instant(0), limited(3600, 0)).then(time.Second, asked("review")))
	t.add(ours, s.id, 0, s.advancing(instant(10*time.Minute)))
	t.refused("Append at a shorter length", t.store.Append(t.ctx, ours, s.id, seq-1, a), verification.ErrConflict)
	t.refused("Append at a greater length", t.store.Append(t.ctx, ours, s.id, seq+1, a), verification.ErrConflict)
	t.refused("Append to a run that is not there", t.store.Append(t.ctx, ours, runID(2), seq, a), verification.ErrConflict)
	t.untouched(s)
	_, err := t.store.Load(t.ctx, ours, runID(2), 0)
	t.refused("Load(a run whose append was refused)", err, verification.ErrNotFound)
}

func cancelledAppend(t *trial) {
	s, seq, a := cancelling(begin(1, instant(0), limited(3600, 0)).then(time.Second, asked("review")))
	t.add(ours, s.id, 0, s.advancing(instant(10*time.Minute)))
	if t.store.Append(cancelled(t.ctx), ours, s.id, seq, a) == nil {
		t.failf("Append with a cancelled context succeeded, want an error")
	}
	t.untouched(s)
}

func appendWithoutEvents(t *trial) {
	s := simple(1).then(time.Second, dispatched(1))
	t.add(ours, s.id, 0, s.advancing(instant(time.Minute)))
	t.add(ours, s.id, 2, s.only(instant(time.Hour)))
	t.holds(ours, s)
	t.takeNone(instant(time.Hour - tick))
	same(t, "the advance", t.takeOne(instant(time.Hour)).RunRef, s.ref(ours))
	s = s.then(time.Minute, completed())
	t.extend(ours, s, 2)
	t.holds(ours, s)
}

func historyOnlyAppend(t *trial) {
	s := begin(1, instant(0), limited(3600, 0)).then(time.Second, dispatched(1))
	t.add(ours, s.id, 0, s.advancing(instant(10*time.Minute)))
	_, seq, a := cancelling(s)
	a.Events, a.Work = s.then(time.Second, answered(`{}`), dispatched(1)).events[seq:], nil
	t.add(ours, s.id, seq, a)
	same(t, "the history", t.load(ours, s.id, 0), append(s.events[:seq:seq], a.Events...))
	same(t, "the summary", t.list(ours, everything(instant(0))).Data, listed(s))
	t.refusedAppend("of history only, to a history that has grown", ours, s, seq)
	work := t.takeOne(instant(10 * time.Minute))
	same(t, "the work", work.Kind, store.WorkAdvance)
	// The lease is unchanged.
	a.Events = s.then(time.Minute, answered(`{}`)).events[seq:]
	t.add(ours, s.id, seq+2, a)
	t.takeNone(instant(10*time.Minute + lease - tick))
	t.finish(work)
	t.takeNone(instant(24 * time.Hour))
}

func appendWithoutWakeup(t *trial) {
	s := simple(1).then(time.Second, dispatched(1))
	a := s.advancing(instant(time.Minute))
	a.Hold = store.Kept
	t.add(ours, s.id, 0, a)
	over := simple(2).then(time.Minute, completed())
	a = over.announcing()
	a.Hold = store.Kept
	t.add(ours, over.id, 0, a)
	work, _ := t.take(instant(time.Minute), noLimit)
	same(t, "the number of pieces", len(work), 2)
}

func appendOfAnotherTenant(t *trial) {
	s := simple(1).then(time.Second, dispatched(1))
	t.add(ours, s.id, 0, s.advancing(instant(time.Minute)))
	t.refusedAppend("to the run of another tenant", theirs, s.then(time.Second, completed()), 2)
	t.holds(ours, s)
	work := t.takeOne(instant(time.Hour))
	same(t, "the advance", work.RunRef, s.ref(ours))
	_, err := t.store.Load(t.ctx, theirs, s.id, 0)
	t.refused("Load(the run of another tenant)", err, verification.ErrNotFound)
}
