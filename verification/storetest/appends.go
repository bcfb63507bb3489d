// The clauses on Append: in sequence, and all or nothing.

package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Appends are the clauses on what Append takes and what it refuses.
func Appends() []Clause {
	return []Clause{
		clause("a run is created once",
			"RunStore.Append: seq 0 creates the run; ErrConflict when the history no longer ends at seq",
			createdOnce),
		clause("an append names the length of the history",
			"RunStore.Append: ErrConflict when the history no longer ends at seq",
			lengthNamed),
		clause("of appends that meet exactly one wins",
			"RunStore.Append: ErrConflict when the history no longer ends at seq",
			appendsMeet),
		clause("appends to different runs do not meet",
			"RunStore.Append: ErrConflict only when the history no longer ends at seq",
			appendsPass),
		clause("an append saves events, summary and effects together",
			"RunStore.Append: adds events, replaces the summary and enqueues effects, all or nothing",
			allOfIt),
		clause("a refused append changes nothing",
			"RunStore.Append: all or nothing",
			refusedAppend),
		clause("an append whose context is over changes nothing",
			"RunStore.Append: all or nothing",
			cancelledAppend),
		clause("an append without events changes the effects alone",
			"verification.Commit: Events may be empty: then only the effects change",
			appendWithoutEvents),
		clause("a quiet append changes the history alone",
			"verification.Commit: HistoryOnly says that the events change neither the summary nor the queue",
			quietAppend),
		clause("effects that somebody keeps are in the queue all the same",
			"verification.Commit: others need to be told only if it dies first",
			keptEffects),
		clause("a tenant cannot append to the run of another",
			"RunStore.Append: the history is that of the tenant's own run",
			appendApart),
	}
}

func (t *trial) refusedAppend(what string, tenant verification.TenantID, s story, seq int) {
	if !t.over() {
		err := t.store.Append(t.ctx, tenant, s.id, seq, s.advancing(moment(time.Minute)))
		t.refused(fmt.Sprintf("Append(seq %d) %s", seq, what), err, verification.ErrConflict)
	}
}

func createdOnce(t *trial) {
	s := simple(1)
	t.save(ours, s)
	t.refusedAppend("to a run that is there", ours, simple(1).then(time.Second, dispatched(1)), 0)
	t.holds(ours, s)
}

func lengthNamed(t *trial) {
	s := simple(1).then(time.Second, dispatched(1)).then(time.Second, asked("review"))
	t.save(ours, s)
	for _, seq := range []int{1, 2, 4, 100} {
		t.refusedAppend("to a history of 3", ours, s.then(time.Second, completed()), seq)
	}
	t.refusedAppend("to a run that is not there", ours, simple(2), 1)
	t.holds(ours, s)
	s = s.then(time.Second, verdict("review", verification.DecisionApprove), completed())
	t.extend(ours, s, 3)
	t.refusedAppend("to a history that moved on to 5", ours, s.then(time.Second, completed()), 3)
	t.holds(ours, s)
}

// meeting is how many callers meet in a clause about that.
const meeting = 8

// together calls f for each of the callers, all at once.
func together(f func(caller int)) {
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	ready.Add(meeting)
	for i := range meeting {
		done.Go(func() {
			ready.Done()
			<-gate
			f(i)
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
}

func appendsMeet(t *trial) {
	for n := 1; n <= 10 && !t.over(); n++ {
		base := story{id: runID(n)}
		won := t.race(base, func(caller int) story {
			s := started()
			s.ReferenceID = fmt.Sprintf("customer-%d", caller)
			return begin(n, moment(0), s)
		})
		t.race(won, func(caller int) story {
			return won.then(time.Second, verification.CustomerAwaited{
				Node: "consent", Type: verification.NodeConsent, Signal: fmt.Sprintf("signal-%d", caller),
			})
		})
	}
}

// race lets every caller go on with a story in its own way, and wants exactly
// one to have its way, with its events, its summary and its advance.
func (t *trial) race(base story, mine func(caller int) story) story {
	if t.over() {
		return base
	}
	errs, seq := make([]error, meeting), len(base.events)
	advance := func(caller int) time.Time { return moment(time.Duration(caller+1) * time.Hour) }
	together(func(caller int) {
		s := mine(caller)
		a := s.advancing(advance(caller))
		a.Events = a.Events[seq:]
		errs[caller] = t.store.Append(t.ctx, ours, s.id, seq, a)
	})
	winner, wins := base, 0
	for caller, err := range errs {
		switch {
		case err == nil:
			wins++
			winner = mine(caller)
		case !errors.Is(err, verification.ErrConflict):
			t.faultf("Append that met others: %w, want %q", err, verification.ErrConflict)
		}
	}
	if wins != 1 {
		t.faultf("%d of %d appends that met at seq %d succeeded, want 1", wins, meeting, seq)
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

func appendsPass(t *trial) {
	const each = 10
	var mu sync.Mutex
	together(func(caller int) {
		for i := range each {
			s := simple(caller*each + i + 1)
			err := t.store.Append(t.ctx, ours, s.id, 0, s.advancing(moment(0)))
			mu.Lock()
			t.ok("Append to a run that nobody else appends to", err)
			mu.Unlock()
		}
	})
	for n := 1; n <= meeting*each; n++ {
		same(t, "the history", t.load(ours, runID(n), 0), simple(n).events)
	}
	same(t, "the number of runs", t.list(ours, everything(moment(0))).Total, meeting*each)
	work, _ := t.take(moment(0), 2*meeting*each)
	same(t, "the number of advances", len(work), meeting*each)
}

func allOfIt(t *trial) {
	s := begin(1, moment(0), limited(3600, 0)).then(time.Second, dispatched(1))
	t.add(ours, s.id, 0, s.advancing(moment(time.Minute)))
	t.holds(ours, s)
	t.takeNone(moment(time.Minute - tick))
	same(t, "the advance", t.takeOne(moment(time.Minute)).Kind, verification.WorkAdvance)
	runs, _ := t.overdue(moment(time.Hour+tick), many)
	same(t, "the overdue runs", runs, []verification.RunRef{s.ref(ours)})

	s = s.then(2*time.Minute, failed())
	a := s.announcing()
	a.Events = a.Events[2:]
	t.add(ours, s.id, 2, a)
	t.holds(ours, s)
	same(t, "the announcement", t.takeOne(moment(time.Hour)).Kind, verification.WorkAnnounce)
	runs, _ = t.overdue(moment(time.Hour+tick), many)
	same(t, "the number of overdue runs after the end", len(runs), 0)
}

// attempt is an append that would change everything there is about a run.
func attempt(s story) (before story, seq int, a verification.Commit) {
	over := s.then(time.Minute, verification.Cancelled{})
	a = over.announcing()
	a.Events, a.AdvanceAt = a.Events[len(s.events):], moment(2*time.Minute)
	return s, len(s.events), a
}

// untouched wants a run with a deadline of an hour and an advance to be due in
// ten minutes to be as it was saved.
func (t *trial) untouched(s story) {
	t.holds(ours, s)
	t.takeNone(moment(10*time.Minute - tick))
	same(t, "the work", t.takeOne(moment(10*time.Minute)).Kind, verification.WorkAdvance)
	runs, _ := t.overdue(moment(time.Hour+tick), many)
	same(t, "the overdue runs", runs, []verification.RunRef{s.ref(ours)})
}

func refusedAppend(t *trial) {
	s, seq, a := attempt(begin(1, moment(0), limited(3600, 0)).then(time.Second, asked("review")))
	t.add(ours, s.id, 0, s.advancing(moment(10*time.Minute)))
	if !t.over() {
		t.refused("Append at a length that is past", t.store.Append(t.ctx, ours, s.id, seq-1, a), verification.ErrConflict)
		t.refused("Append at a length to come", t.store.Append(t.ctx, ours, s.id, seq+1, a), verification.ErrConflict)
		t.refused("Append to a run that is not there", t.store.Append(t.ctx, ours, runID(2), seq, a), verification.ErrConflict)
	}
	t.untouched(s)
	if !t.over() {
		_, err := t.store.Load(t.ctx, ours, runID(2), 0)
		t.refused("Load(a run whose append was refused)", err, verification.ErrNotFound)
	}
}

func cancelledAppend(t *trial) {
	s, seq, a := attempt(begin(1, moment(0), limited(3600, 0)).then(time.Second, asked("review")))
	t.add(ours, s.id, 0, s.advancing(moment(10*time.Minute)))
	if !t.over() && t.store.Append(cancelled(t.ctx), ours, s.id, seq, a) == nil {
		t.faultf("Append under a context that is over succeeded, want an error")
	}
	t.untouched(s)
}

func appendWithoutEvents(t *trial) {
	s := simple(1).then(time.Second, dispatched(1))
	t.add(ours, s.id, 0, s.advancing(moment(time.Minute)))
	t.add(ours, s.id, 2, s.only(moment(time.Hour)))
	t.holds(ours, s)
	t.takeNone(moment(time.Hour - tick))
	same(t, "the advance", t.takeOne(moment(time.Hour)).RunRef, s.ref(ours))
	s = s.then(time.Minute, completed())
	t.extend(ours, s, 2)
	t.holds(ours, s)
}

func quietAppend(t *trial) {
	s := begin(1, moment(0), limited(3600, 0)).then(time.Second, dispatched(1))
	t.add(ours, s.id, 0, s.advancing(moment(10*time.Minute)))
	_, seq, a := attempt(s)
	a.Events, a.HistoryOnly = s.then(time.Second, answered(`{}`), dispatched(1)).events[seq:], true
	t.add(ours, s.id, seq, a)
	same(t, "the history", t.load(ours, s.id, 0), append(s.events[:seq:seq], a.Events...))
	same(t, "the summary", t.list(ours, everything(moment(0))).Data, listed(s))
	t.refusedAppend("quietly to a history that moved on", ours, s, seq)
	work := t.takeOne(moment(10 * time.Minute))
	same(t, "the work", work.Kind, verification.WorkAdvance)
	// What was taken stays taken.
	a.Events = s.then(time.Minute, answered(`{}`)).events[seq:]
	t.add(ours, s.id, seq+2, a)
	t.takeNone(moment(10*time.Minute + lease - tick))
	t.finish(work)
	t.takeNone(moment(24 * time.Hour))
}

func keptEffects(t *trial) {
	s := simple(1).then(time.Second, dispatched(1))
	a := s.advancing(moment(time.Minute))
	a.NoWakeup = true
	t.add(ours, s.id, 0, a)
	over := simple(2).then(time.Minute, completed())
	a = over.announcing()
	a.NoWakeup = true
	t.add(ours, over.id, 0, a)
	work, _ := t.take(moment(time.Minute), many)
	same(t, "the number of pieces", len(work), 2)
}

func appendApart(t *trial) {
	s := simple(1).then(time.Second, dispatched(1))
	t.add(ours, s.id, 0, s.advancing(moment(time.Minute)))
	t.refusedAppend("to the run of another tenant", theirs, s.then(time.Second, completed()), 2)
	t.holds(ours, s)
	work := t.takeOne(moment(time.Hour))
	same(t, "the advance", work.RunRef, s.ref(ours))
	if !t.over() {
		_, err := t.store.Load(t.ctx, theirs, s.id, 0)
		t.refused("Load(the run of another tenant)", err, verification.ErrNotFound)
	}
}
