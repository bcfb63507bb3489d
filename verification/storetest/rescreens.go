// The clauses on re-screening: completed runs and the passes over lists.

package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func rescreens() []clause {
	const hold, appends = "RescreenStore.HoldPass: ", "RescreenStore: "
	return []clause{
		{"one host holds a list until its time", hold + "makes p.Holder the only host that begins passes over the list p.List, until p.HeldUntil", listIsHeld},
		{"a pass begins when the version of the list changes", hold + "If the last pass over the list does not have the version p.Version, HoldPass begins another one", passBegins},
		{"passes are returned in the order of their lists", "Tables.RescreenPasses: returns the last pass over each list, in the order of the lists", passesInOrder},
		{"a pass queues the runs that were screened against another version", hold + "for each run that was screened against another version, it queues work", runsOfVersions},
		{"a refused HoldPass begins no pass", hold + "returns ErrConflict if another host holds the list at now", passOfAnother},
		{"a pass ends when no work of its list is left", hold + "A pass of the same version ends at now when no such work is left", passEnds},
		{"a pass replaces the work of an earlier pass", hold + "in place of such work in the queue", passReplacesWork},
		{"a run that completes during a pass is queued unless it has its version", appends + "If the last pass over such a list has another version, Append also queues work, due when the run was completed", runDuringPass},
		{"only completed runs of checks that ask for it are screened again", "Commit.Screened: set by the commit that completes the run", runsThatAsked},
		{"a run is screened against each of its lists alone", "WorkRescreen: screen the completed run again against a list", runOfTwoLists},
		{"a later append of a run queues no re-screening", "Commit.Screened: set by the commit that completes the run", appendAfterPass},
		{"a refused append adds no run to be screened again", "RunStore.Append: all or nothing", refusedScreened},
		{"a rewritten run is not screened again", "Commit.Rewrite: replaced, too: the lists that it was screened against", rewriteEndsScreening},
		{"a deleted run is not screened again", "Commit.Delete: removes the run with all that the store keeps of it: its lists", deletionEndsScreening},
		{"runs of every tenant are screened again", hold + "for each run that was screened against another version", runsOfEveryTenant},
	}
}

const (
	sanctions = "sanctions"
	peps      = "peps"
	host1     = "host-1"
	host2     = "host-2"
)

// screens records a dispatch whose list leads to re-screening; empty for none.
func screens(list string) rules.Fact {
	f, _ := dispatched(1).(rules.Dispatched)
	f.Rescreen = list
	return f
}

func versionOf(list, version string) rules.Fact {
	return rules.ResultRecorded{Node: "pan", Passed: true, Screening: &rules.Screening{List: list, ListVersion: version}}
}

// screened returns a history that was screened against a version of the list sanctions
// and is completed.
func screened(n int, version string) history {
	return simple(n).then(0, screens(sanctions)).then(time.Second, versionOf(sanctions, version), completed())
}

// hold makes host 1 hold a list with a version for an hour, and returns the pass.
func (t *trial) hold(list, version string, now time.Duration) store.RescreenPass {
	p, err := t.store.HoldPass(t.ctx, store.RescreenPass{
		List: list, Version: version, Holder: host1, HeldUntil: instant(now + time.Hour),
	}, instant(now))
	t.ok("HoldPass", err)
	return p
}

// pass makes host 1 begin a pass over a list.
func (t *trial) pass(list, version string, now time.Duration, runs int) {
	want := store.RescreenPass{
		List: list, Version: version, Holder: host1, HeldUntil: instant(now + time.Hour), StartedAt: instant(now), Runs: runs,
	}
	if runs == 0 {
		want.EndedAt = want.StartedAt
	}
	same(t, "the pass", t.hold(list, version, now), want)
}

// rescreens takes the work of a list that is due at a time, and ends the clause unless it
// is that of the runs, in any order.
func (t *trial) rescreens(list string, now time.Duration, want ...verification.RunRef) []store.Work {
	work, _ := t.takeKind(due(rescreenKey(list), instant(now)))
	var got []verification.RunRef
	for _, w := range work {
		got = append(got, w.RunRef)
	}
	order := func(a, b verification.RunRef) int {
		return strings.Compare(string(a.Tenant)+string(a.Run), string(b.Tenant)+string(b.Run))
	}
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	same(t, "the runs to be screened again against "+list, got, want)
	return work
}

func (t *trial) passesAre(want ...store.RescreenPass) {
	got, err := t.tables.RescreenPasses(t.ctx)
	t.ok("RescreenPasses", err)
	same(t, "RescreenPasses", got, want)
}

func listIsHeld(t *trial) {
	hold := func(list, host string, now, until time.Duration, kind error) {
		what := fmt.Sprintf("HoldPass(%s, start+%s)", host, now)
		p, err := t.store.HoldPass(t.ctx, store.RescreenPass{List: list, Version: "v1", Holder: host, HeldUntil: instant(until)}, instant(now))
		if kind != nil {
			t.refused(what, err, kind)
			return
		}
		t.ok(what, err)
		same(t, what, store.RescreenPass{Holder: p.Holder, HeldUntil: p.HeldUntil}, store.RescreenPass{Holder: host, HeldUntil: instant(until)})
	}
	hold(sanctions, host1, 0, time.Minute, nil)
	hold(sanctions, host2, time.Minute-tick, time.Hour, verification.ErrConflict)
	hold(sanctions, host1, 30*time.Second, 2*time.Minute, nil)
	hold(sanctions, host2, time.Minute, time.Hour, verification.ErrConflict)
	hold(sanctions, host2, 2*time.Minute, 3*time.Minute, nil)
	hold(sanctions, host1, 2*time.Minute, time.Hour, verification.ErrConflict)
	hold(peps, host1, 0, time.Minute, nil)
	hold(sanctions, host2, 2*time.Minute, 2*time.Minute, nil)
	hold(sanctions, host1, 2*time.Minute, time.Hour, nil)
}

func passBegins(t *trial) {
	t.save(ours, screened(1, "v0"))
	want := store.RescreenPass{
		List: sanctions, Version: oddText, Holder: host1, HeldUntil: instant(tick + time.Hour), StartedAt: instant(tick), Runs: 1,
	}
	same(t, "the first pass", t.hold(sanctions, oddText, tick), want)
	t.passesAre(want)
	want.HeldUntil = instant(2 * time.Hour)
	same(t, "the pass an hour later", t.hold(sanctions, oddText, time.Hour), want)
	t.passesAre(want)
	work, _ := t.takeKind(due(rescreenKey(sanctions), instant(tick)))
	t.finish(work[0])
	t.pass(sanctions, "v0", 2*time.Hour, 0)
	t.pass(sanctions, oddText, 3*time.Hour, 1)
}

func passesInOrder(t *trial) {
	t.passesAre()
	var want []store.RescreenPass
	for _, list := range []string{"peps", "a-list", "Sanctions", "sanctions", "a_list"} {
		t.pass(list, "v1", 0, 0)
	}
	for _, list := range []string{"Sanctions", "a-list", "a_list", "peps", "sanctions"} {
		want = append(want, store.RescreenPass{
			List: list, Version: "v1", Holder: host1, HeldUntil: instant(time.Hour), StartedAt: instant(0), EndedAt: instant(0),
		})
	}
	t.passesAre(want...)
}

func runsOfVersions(t *trial) {
	old, current, unknown := screened(1, "v0"), screened(2, "v1"), screened(3, "")
	t.save(ours, old, current, unknown)
	t.pass(sanctions, "v1", time.Hour, 2)
	t.rescreens(sanctions, time.Hour-tick)
	t.rescreens(peps, time.Hour)
	for _, w := range t.rescreens(sanctions, time.Hour, old.ref(ours), unknown.ref(ours)) {
		same(t, "the work", w, store.Work{WorkKey: rescreenKey(sanctions), RunRef: w.RunRef, Workflow: onboarding, Lease: w.Lease})
	}
}

func passOfAnother(t *trial) {
	t.save(ours, screened(1, "v0"))
	t.pass(sanctions, "v0", 0, 0)
	held := store.RescreenPass{List: sanctions, Version: "v1", Holder: host2, HeldUntil: instant(time.Hour)}
	_, err := t.store.HoldPass(t.ctx, held, instant(time.Minute))
	t.refused("HoldPass of another host", err, verification.ErrConflict)
	t.rescreens(sanctions, time.Hour)
	t.passesAre(store.RescreenPass{
		List: sanctions, Version: "v0", Holder: host1, HeldUntil: instant(time.Hour), StartedAt: instant(0), EndedAt: instant(0),
	})
}

func passEnds(t *trial) {
	s := screened(1, "v0")
	t.save(ours, s)
	t.pass(peps, "v1", 0, 0)
	t.pass(sanctions, "v1", 0, 1)
	work := t.rescreens(sanctions, 0, s.ref(ours))
	same(t, "the end while a run is screened", t.hold(sanctions, "v1", time.Second).EndedAt, time.Time{})
	t.finish(work[0])
	same(t, "the end when no run is left", t.hold(sanctions, "v1", time.Minute).EndedAt, instant(time.Minute))
	same(t, "the end later", t.hold(sanctions, "v1", time.Hour).EndedAt, instant(time.Minute))
}

func passReplacesWork(t *trial) {
	a, b := screened(1, "v0"), screened(2, "v0")
	t.save(ours, a, b)
	t.pass(sanctions, "v1", 0, 2)
	work := t.rescreens(sanctions, 0, a.ref(ours), b.ref(ours))
	t.postpone(work[0], instant(time.Hour))
	t.pass(sanctions, "v2", time.Second, 2)
	t.finish(work[1])
	for _, w := range t.rescreens(sanctions, time.Second, a.ref(ours), b.ref(ours)) {
		same(t, "the attempts and lost leases", [2]int{w.Attempt, w.Lost}, [2]int{})
		t.finish(w)
	}
	t.rescreens(sanctions, 2*time.Hour)
}

func runDuringPass(t *trial) {
	early := screened(1, "v0")
	t.save(ours, early)
	t.pass(sanctions, "v1", 0, 1)
	t.finish(t.rescreens(sanctions, 0, early.ref(ours))[0])
	current, old, unknown := screened(2, "v1"), screened(3, "v0"), screened(4, "")
	t.save(ours, current, old)
	t.save(theirs, unknown)
	t.rescreens(sanctions, time.Second-tick)
	t.rescreens(sanctions, time.Second, old.ref(ours), unknown.ref(theirs))
	t.pass(sanctions, "v0", time.Minute, 2)
	t.rescreens(sanctions, time.Minute, current.ref(ours), unknown.ref(theirs))
}

func runsThatAsked(t *trial) {
	live := simple(1).then(0, screens(sanctions))
	answeredRun := simple(2).then(0, screens(sanctions)).then(time.Second, versionOf(sanctions, "v1"), asked("review"))
	plain := simple(3).then(0, screens("")).then(time.Second, versionOf(sanctions, "v1"), completed())
	t.save(ours, live, answeredRun, plain)
	for i, end := range []rules.Fact{failed(), expired(), rules.Cancelled{}} {
		t.save(ours, simple(10+i).then(0, screens(sanctions)).then(time.Second, end))
	}
	t.pass(sanctions, "v2", 0, 0)
	end := answeredRun.then(time.Hour, verdict("review", rules.DecisionApprove), completed())
	t.extend(ours, end, len(answeredRun.events))
	t.rescreens(sanctions, 2*time.Hour, end.ref(ours))
}

func runOfTwoLists(t *trial) {
	second, _ := screens(peps).(rules.Dispatched)
	second.Node = "peps"
	s := simple(1).then(0, screens(sanctions)).then(time.Second, versionOf(sanctions, "v1"), second,
		rules.ResultRecorded{Node: "peps", Passed: true}, completed())
	t.save(ours, s)
	t.pass(peps, "v1", 0, 1)
	t.pass(sanctions, "v1", 0, 0)
	t.finish(t.rescreens(peps, 0, s.ref(ours))[0])
	t.pass(sanctions, "v2", time.Minute, 1)
	t.rescreens(peps, time.Minute)
	t.rescreens(sanctions, time.Minute, s.ref(ours))
}

func appendAfterPass(t *trial) {
	s := screened(1, "v0")
	t.save(ours, s)
	t.pass(sanctions, "v1", 0, 1)
	t.finish(t.rescreens(sanctions, 0, s.ref(ours))[0])
	later := s.then(time.Hour, rules.HitsFound{
		Node: "pan", List: sanctions, ListVersion: "v1", Hits: []verification.Hit{{ID: "e-1", Name: oddText, Score: 0.9}},
	}).then(time.Hour, verdict("", rules.DecisionApprove))
	t.extend(ours, later, len(s.events))
	t.rescreens(sanctions, 3*time.Hour)
	t.pass(sanctions, "v2", 3*time.Hour, 1)
}

func refusedScreened(t *trial) {
	before := simple(1).then(0, screens(sanctions))
	end := before.then(time.Second, versionOf(sanctions, "v1"), completed())
	t.save(ours, before)
	t.refused("Append at a wrong length", t.store.Append(t.ctx, ours, end.id, 7, end.commitAfter(2)), verification.ErrConflict)
	t.refused("Append of another start", t.store.Append(t.ctx, ours, end.id, 0, end.commit()), verification.ErrConflict)
	t.pass(sanctions, "v2", 0, 0)
	t.extend(ours, before.then(time.Second, rules.Cancelled{}), 2)
	t.refused("Append after another", t.store.Append(t.ctx, ours, end.id, 2, end.commitAfter(2)), verification.ErrConflict)
	t.rescreens(sanctions, time.Hour)
	other := simple(2).then(0, screens(sanctions))
	t.save(ours, other)
	end = other.then(time.Second, versionOf(sanctions, "v1"), completed())
	concurrently(func(int) error { return t.store.Append(t.ctx, ours, end.id, 2, end.commitAfter(2)) })
	t.rescreens(sanctions, time.Hour, end.ref(ours))
}

func runsOfEveryTenant(t *trial) {
	var refs []verification.RunRef
	for _, tenant := range []verification.TenantID{ours, theirs} {
		for n := range 2 {
			s := screened(n+1, "v0")
			t.save(tenant, s)
			refs = append(refs, s.ref(tenant))
		}
	}
	t.pass(sanctions, "v1", 0, len(refs))
	for _, w := range t.rescreens(sanctions, 0, refs...) {
		t.finish(w)
	}
	t.rescreens(sanctions, time.Hour)
}
