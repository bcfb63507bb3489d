// The clauses on Load: histories are loaded as they were appended.

package storetest

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func histories() []clause {
	return []clause{
		{"every kind of event is loaded as it was saved", "RunStore.Append: adds events to the history of a run", everyEventIsLoaded},
		{"the data of an event is loaded byte for byte", "verification.Data: a JSON object exactly as it was recorded", dataIsLoaded},
		{"times are loaded in UTC and with microseconds", "RunStore.Load: returns the events", timesAreLoaded},
		{"events are loaded in the order of their appends", "RunStore.Load: oldest first", eventsKeepTheirOrder},
		{"Load skips the number of events it is given", "RunStore.Load: the events after the first `after` ones; none if the history ends there", loadAfter},
		{"an unknown run is not found", "RunStore.Load: returns ErrNotFound if the tenant has no such run", unknownRun},
		{"appending to a loaded history does not change the stored one", "RunStore.Append: nothing else adds to a history", loadedIsACopy},
		{"a tenant cannot load another tenant's run", "RunStore.Load: returns ErrNotFound if the tenant has no such run", loadOfAnotherTenant},
		{"two tenants may have runs with the same id", "RunStore.Append: adds to the run of the tenant", sameRunID},
	}
}

func everyEventIsLoaded(t *trial) {
	for i, f := range everyFact() {
		s := simple(i + 1)
		if _, starts := f.(rules.Started); starts {
			s.events = nil
		}
		s = s.at(instant(time.Second), f)
		t.save(ours, s)
		same(t, fmt.Sprintf("the history with %q", s.events[len(s.events)-1].Kind()), t.load(ours, s.id, 0), s.events)
	}
}

func dataIsLoaded(t *trial) {
	s := simple(1).then(time.Second, dispatched(1), answered(oddData))
	t.save(ours, s)
	got := t.load(ours, s.id, 0)
	if len(got) != 3 {
		t.failf("Load = %d events, want 3", len(got))
	}
	f, _ := got[2].Fact.(rules.ResultRecorded)
	same(t, "the data", string(f.Data), oddData)
}

func timesAreLoaded(t *trial) {
	s := simple(1).then(tick, dispatched(1)).
		then(tick, rules.ResultPending{Node: "pan", Handle: "h", PollAt: instant(time.Hour + tick)}).
		at(time.Date(2100, 12, 31, 23, 59, 59, 999999000, time.UTC), completed())
	t.save(ours, s)
	for i, e := range t.load(ours, s.id, 0) {
		same(t, fmt.Sprintf("the time of event %d", i), e.At, s.events[i].At)
		if f, ok := e.Fact.(rules.ResultPending); ok {
			same(t, "the time of the next poll", f.PollAt, instant(time.Hour+tick))
		}
	}
}

func eventsKeepTheirOrder(t *trial) {
	s := simple(1)
	for i := range 40 {
		// Events of one append have the same time.
		s = s.then(0, dispatched(i+1))
	}
	first := history{s.id, s.events[:25]}
	t.save(ours, first)
	t.extend(ours, s, 25)
	same(t, "the history", t.load(ours, s.id, 0), s.events)
}

func loadAfter(t *trial) {
	s := simple(1).then(time.Second, dispatched(1)).then(time.Second, answered(`{}`), completed())
	t.save(ours, history{s.id, s.events[:2]})
	t.extend(ours, s, 2)
	for after := range len(s.events) {
		same(t, fmt.Sprintf("Load(after %d)", after), t.load(ours, s.id, after), s.events[after:])
	}
	same(t, "the number of events after the last", len(t.load(ours, s.id, len(s.events))), 0)
}

func unknownRun(t *trial) {
	t.save(ours, simple(1))
	for _, after := range []int{0, 1, 7} {
		_, err := t.store.Load(t.ctx, ours, runID(2), after)
		t.refused(fmt.Sprintf("Load(an unknown run, after %d)", after), err, verification.ErrNotFound)
		_, err = t.store.Load(t.ctx, theirs, runID(2), after)
		t.refused(fmt.Sprintf("Load(an unknown tenant, after %d)", after), err, verification.ErrNotFound)
	}
}

func loadedIsACopy(t *trial) {
	s := simple(1)
	t.save(ours, s)
	for n := range 12 {
		loaded := t.load(ours, s.id, 0)
		s = s.then(time.Second, dispatched(n+1))
		t.extend(ours, s, n+1)
		// If loaded has spare capacity, this writes to the store's own events.
		_ = append(loaded, rules.Event{At: instant(0), Fact: rules.Cancelled{}})
		same(t, "the history after the caller appended to what it loaded", t.load(ours, s.id, 0), s.events)
	}
}

func loadOfAnotherTenant(t *trial) {
	t.save(ours, simple(1))
	t.save(theirs, simple(2))
	for _, after := range []int{0, 1} {
		_, err := t.store.Load(t.ctx, theirs, runID(1), after)
		t.refused("Load(the run of another tenant)", err, verification.ErrNotFound)
	}
}

func sameRunID(t *trial) {
	a, b := simple(1), simple(1).then(time.Minute, consent())
	t.save(ours, a)
	t.save(theirs, b)
	t.holds(ours, a)
	t.holds(theirs, b)
	a = a.then(time.Hour, asked("review"))
	t.extend(ours, a, 1)
	t.holds(ours, a)
	t.holds(theirs, b)
	b = b.then(time.Hour, rules.Cancelled{})
	t.extend(theirs, b, len(b.events)-1)
	t.holds(ours, a)
	t.holds(theirs, b)
}
