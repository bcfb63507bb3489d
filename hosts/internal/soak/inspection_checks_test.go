// Tests of the checks after the failures, which must find each made-up problem.

package soak_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

const (
	aRun  = "0191f3c0-0000-7000-8000-000000000101"
	aSeed = 1
)

// at returns a time some seconds after the start of the run.
func at(seconds float64) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func event(seconds float64, f rules.Fact) rules.Event {
	return rules.Event{At: at(seconds), Fact: f}
}

// add appends events to a history, by a host and at the time of the last one.
func (h *history) add(host string, events ...rules.Event) *history {
	seq := len(h.events())
	upto := seq + len(events)
	h.appends = append(h.appends, appended{seq: seq, upto: upto, raw: host, events: events})
	h.marks = append(h.marks, mark{host, upto, events[len(events)-1].At})
	return h
}

// soundHistory returns the valid history of a run of order number 0 with one check,
// answered after a second.
func soundHistory(seconds float64) *history {
	h := &history{run: aRun}
	h.add("host-1",
		event(0, rules.Started{Workflow: "w", ReferenceID: referencePrefix + "0"}),
		event(0, rules.Dispatched{Node: "pan", Key: "pan", Dispatch: 1, Visit: 1}))
	return h.add("host-1", event(seconds, rules.ResultRecorded{Node: "pan", Passed: true}), event(seconds, rules.Completed{Node: "done"}))
}

// soundAftermath returns one without problems.
func soundAftermath() *inspection {
	o := newOrder(aSeed, 0)
	h := soundHistory(1)
	return &inspection{
		histories: map[string]*history{aRun: h}, accepted: map[string]order{aRun: o}, seed: aSeed, now: at(100),
		notices: []notice{{id: "run_" + aRun, run: aRun, status: "completed", kind: "run.completed", attempts: 2, taken: 1}},
	}
}

func (a *inspection) look() string {
	a.runs()
	a.webhooks()
	return strings.Join(a.problems, "\n")
}

func TestASoundAftermathIsTakenForOne(t *testing.T) {
	if o := newOrder(aSeed, 0); o.want != (end{Status: rules.StatusCompleted}) {
		t.Fatalf("order 0 of seed %d wants %+v: these tests need one that just completes", aSeed, o.want)
	}
	a := soundAftermath()
	if found := a.look(); found != "" || a.lost != 0 || a.longest != time.Second {
		t.Errorf("found %s, lost %d, longest gap %s, want nothing and a gap of 1s", found, a.lost, a.longest)
	}
}

func TestRejectionsOfARunThatNeedsAVerdictAreSound(t *testing.T) {
	h := soundHistory(1)
	h.appends[1].events[0] = event(1, rules.ResultRecorded{Node: "pan", Data: verification.Data(`{"analysis_ok":false}`)})
	h.add("host-1", event(1, rules.RejectedBefore{Unknown: true}))
	if _, needs := h.fold().InReview(); !needs {
		t.Fatal("the run needs no verdict, so that this test shows nothing")
	}
	if found := h.problems(); len(found) > 0 {
		t.Errorf("found %q, want nothing", found)
	}
}

func TestWhatGoesWrongIsFound(t *testing.T) {
	passed := rules.ResultRecorded{Node: "pan", Passed: true}
	for name, row := range map[string]struct {
		spoil func(a *inspection, h *history)
		want  string
	}{
		"a run that is gone": {func(a *inspection, _ *history) { delete(a.histories, aRun) }, "was accepted and is gone"},
		"a run that never ended": {func(a *inspection, h *history) {
			h.appends, h.marks = h.appends[:1], h.marks[:1]
		}, "ended as {Status:"},
		"a run that nobody ordered": {func(_ *inspection, h *history) {
			h.appends[0].events[0] = event(0, rules.Started{ReferenceID: "stranger"})
		}, "which no order has"},
		"two runs of one order": {func(a *inspection, _ *history) {
			twin := soundHistory(1)
			twin.run = "0191f3c0-0000-7000-8000-000000000102"
			a.histories[twin.run] = twin
		}, "order 0 has the runs"},
		"another end": {func(_ *inspection, h *history) {
			h.appends[1].events[1] = event(1, rules.Cancelled{})
		}, "Status:cancelled"},
		"a second answer": {func(_ *inspection, h *history) {
			h.appends[1].events = []rules.Event{event(1, passed), event(1, passed)}
		}, `result_recorded of pan while the run waits for ""`},
		"a dispatch left out": {func(_ *inspection, h *history) {
			h.appends[0].events[1] = event(0, rules.Dispatched{Node: "pan", Key: "pan", Dispatch: 2, Visit: 1})
		}, "dispatch 2 of pan after 0"},
		"something after the end": {func(_ *inspection, h *history) {
			h.add("host-2", event(2, passed))
		}, "result_recorded after the end"},
		"rejections of a run that needs no verdict": {func(_ *inspection, h *history) {
			h.add("host-1", event(1, rules.RejectedBefore{Unknown: true}))
		}, "rejected_before after the end"},
		"a gap in the history": {func(_ *inspection, h *history) { h.appends[1].seq++ }, "the history ends at 2, and goes on at 3"},
		"time that runs backwards": {func(_ *inspection, h *history) {
			h.appends[1].events[0] = event(-1, passed)
		}, "older than the one before"},
		"a run that was stuck": {func(a *inspection, _ *history) {
			a.histories[aRun] = soundHistory(61)
		}, "stuck, and due for the answer of pan: 1 runs; the worst, for 1m1s"},
		"a run without a notice": {func(a *inspection, _ *history) { a.notices = nil }, "no notice was sent"},
		"a webhook under a second id": {func(a *inspection, _ *history) {
			again := a.notices[0]
			again.id = "other"
			a.notices = append(a.notices, again)
		}, " and other"},
		"a webhook of an unknown run": {func(a *inspection, _ *history) {
			a.notices = append(a.notices, notice{id: "x", run: "y"})
		}, "which no history has"},
		"a webhook with another status":     {func(a *inspection, _ *history) { a.notices[0].status = "failed" }, "of a run that is completed"},
		"a webhook that was never accepted": {func(a *inspection, _ *history) { a.notices[0].taken = 0 }, "was never accepted"},
	} {
		a := soundAftermath()
		row.spoil(a, a.histories[aRun])
		if found := a.look(); !strings.Contains(found, row.want) {
			t.Errorf("%s: found %q, want %q", name, found, row.want)
		}
	}
}

func TestAGapIsCountedFromTheLastFailureOfTheRun(t *testing.T) {
	h := soundHistory(50)
	g := h.gaps(at(100))[0]
	for name, row := range map[string]struct {
		failures     failures
		stood, stuck time.Duration
	}{
		"nothing":                     {failures{}, 50 * time.Second, 50 * time.Second},
		"its host was killed":         {failures{hosts: []hostFailure{{"host-1", at(20), at(21)}}}, 50 * time.Second, 30 * time.Second},
		"another host was killed":     {failures{hosts: []hostFailure{{"host-2", at(20), at(21)}}}, 50 * time.Second, 50 * time.Second},
		"its host was killed before":  {failures{hosts: []hostFailure{{"host-1", at(-2), at(-1)}}}, 50 * time.Second, 50 * time.Second},
		"its host was killed after":   {failures{hosts: []hostFailure{{"host-1", at(60), at(61)}}}, 50 * time.Second, 50 * time.Second},
		"the database was away":       {failures{outages: []outage{{at(10), at(15)}}}, 45 * time.Second, 35 * time.Second},
		"the database was away twice": {failures{outages: []outage{{at(-5), at(5)}, {at(10), at(15)}}}, 40 * time.Second, 35 * time.Second},
	} {
		if stood, stuck := row.failures.stood(g), row.failures.stuck(h, g); stood != row.stood || stuck != row.stuck {
			t.Errorf("%s: stood %s, stuck %s, want %s and %s", name, stood, stuck, row.stood, row.stuck)
		}
	}
	taken := soundHistory(50)
	taken.marks = []mark{taken.marks[0], {"host-2", 0, at(20)}, taken.marks[1]}
	s := failures{hosts: []hostFailure{{"host-1", at(1), at(2)}, {"host-1", at(30), at(31)}}}
	if got := s.stuck(taken, taken.gaps(at(100))[0]); got != 49*time.Second {
		t.Errorf("stuck = %s, want 49s: the run had left host-1 when it was killed again", got)
	}
	s.hosts = append(s.hosts, hostFailure{"host-2", at(40), at(41)})
	if got := s.stuck(taken, taken.gaps(at(100))[0]); got != 10*time.Second {
		t.Errorf("stuck = %s, want 10s: host-2 had the run when it was killed", got)
	}
}

func TestAnObserverSeesWhatChangesAndWhatVanishes(t *testing.T) {
	row := func(raw string) [sha256.Size]byte { return sha256.Sum256([]byte(raw)) }
	w := newObserver()
	for _, run := range []string{"kept", "changed", "vanished", "gone"} {
		w.compare(run, map[int][sha256.Size]byte{0: row("started"), 2: row("answered")})
	}
	w.compare("kept", map[int][sha256.Size]byte{0: row("started"), 2: row("answered"), 4: row("completed")})
	w.compare("changed", map[int][sha256.Size]byte{0: row("started"), 2: row("failed")})
	w.compare("vanished", map[int][sha256.Size]byte{0: row("started")})
	kept := &history{appends: []appended{{seq: 0, raw: "started"}, {seq: 2, raw: "answered"}, {seq: 4, raw: "completed"}}}
	less := &history{appends: kept.appends[:1]}
	found := strings.Join(w.conclude(map[string]*history{"kept": kept, "changed": kept, "vanished": less}), "\n")
	for run, want := range map[string]bool{"kept": false, "changed": true, "vanished": true, "gone": true} {
		if got := strings.Contains(found, "run "+run+":"); got != want {
			t.Errorf("run %s has a problem: %t, want %t:\n%s", run, got, want, found)
		}
	}
}
