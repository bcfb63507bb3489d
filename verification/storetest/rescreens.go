// The clauses on re-screening: completed runs and the passes over lists.

package storetest

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func rescreens() []clause {
	const hold, save = "RescreenStore.HoldList: ", "RescreenStore.SavePass: "
	const outdated = "RescreenStore.OutdatedRuns: "
	const query = "verification.OutdatedQuery: "
	return []clause{
		{"one host holds a list until its time", hold + "makes a host the only one that screens runs again against a list until the given time", listIsHeld},
		{"HoldList returns the last pass as it was saved", hold + "It returns the last pass over the list; its Number is 0 before the first pass", passIsReturned},
		{"passes are returned in the order of their lists", "RescreenStore.RescreenPasses: returns the last pass over each list, in the order of the lists", passesInOrder},
		{"a host that does not hold the list saves nothing", save + "It returns ErrConflict unless p.Holder was the last to hold the list", passOfAnother},
		{"a completed run is outdated unless the last pass has its version", "RescreenStore: a run counts as screened in the last pass over the list if that pass has the version of the run, and in no pass otherwise", runsOfVersions},
		{"only completed runs of checks that ask for it are outdated", "Commit.Screened: set by the commit that completes the run", runsThatAsked},
		{"a run is outdated until a pass is saved with it", save + "records that runs were screened in it", runsOfAPass},
		{"a run is screened against each of its lists alone", outdated + "runs that are screened against the list", runOfTwoLists},
		{"a later append of a run changes no pass", "Commit.Screened: set by the commit that completes the run", appendAfterPass},
		{"a refused append adds no run to be screened again", "RunStore.Append: all or nothing", refusedScreened},
		{"outdated runs come in the order of their last passes, up to the limit", outdated + "in the order of the passes in which they were screened last", outdatedOrder},
		{"tenants take turns in OutdatedRuns", outdated + "each is given its first run before any is given its second", outdatedTurns},
		{"the turns of OutdatedRuns continue after the tenant that was served last", query + "tenants with higher ids come first, then the order starts again at the lowest id", outdatedTurnsContinue},
	}
}

const (
	sanctions = "sanctions"
	peps      = "peps"
	host1     = "host-1"
	host2     = "host-2"
)

// screens records a dispatch whose list leads to re-screening; empty for none.
func screens(list string) verification.Fact {
	f, _ := dispatched(1).(verification.Dispatched)
	f.Rescreen = list
	return f
}

func versionOf(list, version string) verification.Fact {
	return answered(fmt.Sprintf(`{"list":%q,"list_version":%q}`, list, version))
}

// screened returns a history that was screened against a version of the list sanctions
// and is completed.
func screened(n int, version string) history {
	return simple(n).then(0, screens(sanctions)).then(time.Second, versionOf(sanctions, version), completed())
}

// hold makes host 1 hold a list, and returns its last pass.
func (t *trial) hold(list string) verification.RescreenPass {
	p, err := t.store.HoldList(t.ctx, list, host1, instant(0), instant(time.Hour))
	t.ok("HoldList", err)
	return p
}

// pass saves a pass over the list sanctions, in which runs were screened.
func (t *trial) pass(number int, version string, runs ...verification.RunRef) {
	p := t.hold(sanctions)
	p.Number, p.Version = number, version
	t.ok("SavePass", t.store.SavePass(t.ctx, p, runs))
}

func (t *trial) outdatedAre(list string, pass, limit int, want ...verification.RunRef) {
	t.outdatedAfter("", list, pass, limit, want...)
}

func (t *trial) outdatedAfter(after verification.TenantID, list string, pass, limit int, want ...verification.RunRef) {
	q := verification.OutdatedQuery{List: list, Pass: pass, After: after, Limit: limit}
	got, err := t.store.OutdatedRuns(t.ctx, q)
	t.ok("OutdatedRuns", err)
	same(t, fmt.Sprintf("OutdatedRuns(%+v)", q), got, want)
}

func (t *trial) passesAre(want ...verification.RescreenPass) {
	got, err := t.store.RescreenPasses(t.ctx)
	t.ok("RescreenPasses", err)
	same(t, "RescreenPasses", got, want)
}

// fullPass returns a pass of host 1 with every field set.
func fullPass(list string) verification.RescreenPass {
	return verification.RescreenPass{
		List: list, Version: oddText, Number: 3, Holder: host1, HeldUntil: instant(2 * time.Hour),
		StartedAt: instant(tick), ScreenedAt: instant(time.Minute), EndedAt: instant(time.Hour),
		Runs: 5_000_000_000, Flagged: 7, Failed: 2,
	}
}

func listIsHeld(t *trial) {
	hold := func(host string, now, until time.Duration, kind error) {
		what := fmt.Sprintf("HoldList(%s, start+%s)", host, now)
		p, err := t.store.HoldList(t.ctx, sanctions, host, instant(now), instant(until))
		if kind != nil {
			t.refused(what, err, kind)
			return
		}
		t.ok(what, err)
		same(t, what, p, verification.RescreenPass{List: sanctions, Holder: host, HeldUntil: instant(until)})
	}
	hold(host1, 0, time.Minute, nil)
	hold(host2, time.Minute-tick, time.Hour, verification.ErrConflict)
	hold(host1, 30*time.Second, 2*time.Minute, nil)
	hold(host2, time.Minute, time.Hour, verification.ErrConflict)
	hold(host2, 2*time.Minute, 3*time.Minute, nil)
	hold(host1, 2*time.Minute, time.Hour, verification.ErrConflict)
	_, err := t.store.HoldList(t.ctx, peps, host1, instant(0), instant(time.Minute))
	t.ok("HoldList of another list", err)
}

func passIsReturned(t *trial) {
	same(t, "the first pass", t.hold(sanctions), verification.RescreenPass{List: sanctions, Holder: host1, HeldUntil: instant(time.Hour)})
	want := fullPass(sanctions)
	t.ok("SavePass", t.store.SavePass(t.ctx, want, nil))
	t.passesAre(want)
	want.HeldUntil = instant(time.Hour)
	same(t, "the pass", t.hold(sanctions), want)
	next := want.Next("v2", instant(3*time.Hour))
	t.ok("SavePass", t.store.SavePass(t.ctx, next, nil))
	t.passesAre(next)
}

func passesInOrder(t *trial) {
	t.passesAre()
	var want []verification.RescreenPass
	for _, list := range []string{"peps", "a-list", "Sanctions", "sanctions", "a_list"} {
		t.hold(list)
		t.ok("SavePass", t.store.SavePass(t.ctx, fullPass(list), nil))
	}
	for _, list := range []string{"Sanctions", "a-list", "a_list", "peps", "sanctions"} {
		want = append(want, fullPass(list))
	}
	t.passesAre(want...)
}

func passOfAnother(t *trial) {
	s := screened(1, "v0")
	t.save(ours, s)
	p := fullPass(sanctions)
	t.refused("SavePass before HoldList", t.store.SavePass(t.ctx, p, []verification.RunRef{s.ref(ours)}), verification.ErrConflict)
	t.passesAre()
	t.hold(sanctions)
	t.ok("SavePass", t.store.SavePass(t.ctx, p, nil))
	other := p.Next("v2", instant(0))
	other.Holder = host2
	t.refused("SavePass of another host", t.store.SavePass(t.ctx, other, []verification.RunRef{s.ref(ours)}), verification.ErrConflict)
	t.passesAre(p)
	t.outdatedAre(sanctions, p.Number, noLimit, s.ref(ours))
}

func runsOfVersions(t *trial) {
	early := screened(1, "v1")
	t.save(ours, early)
	t.pass(1, "v1")
	current, old, unknown := screened(2, "v1"), screened(3, "v0"), screened(4, "")
	t.save(ours, current, old, unknown)
	t.outdatedAre(sanctions, 1, noLimit, early.ref(ours), old.ref(ours), unknown.ref(ours))
	t.outdatedAre(sanctions, 2, noLimit, early.ref(ours), old.ref(ours), unknown.ref(ours), current.ref(ours))
	t.outdatedAre(peps, 2, noLimit)
}

func runsThatAsked(t *trial) {
	live := simple(1).then(0, screens(sanctions))
	answeredRun := simple(2).then(0, screens(sanctions)).then(time.Second, versionOf(sanctions, "v1"), asked("review"))
	plain := simple(3).then(0, screens("")).then(time.Second, versionOf(sanctions, "v1"), completed())
	t.save(ours, live, answeredRun, plain)
	for i, end := range []verification.Fact{failed(), expired(), verification.Cancelled{}} {
		t.save(ours, simple(10+i).then(0, screens(sanctions)).then(time.Second, end))
	}
	t.outdatedAre(sanctions, 1, noLimit)
	end := answeredRun.then(time.Hour, verdict("review", verification.DecisionApprove), completed())
	t.extend(ours, end, len(answeredRun.events))
	t.outdatedAre(sanctions, 1, noLimit, end.ref(ours))
}

func runsOfAPass(t *trial) {
	a, b, c := screened(1, "v0"), screened(2, "v0"), screened(1, "v0")
	t.save(ours, a, b)
	t.save(theirs, c)
	t.pass(1, "v1", b.ref(ours), verification.RunRef{Tenant: theirs, Run: b.id})
	t.outdatedAre(sanctions, 1, noLimit, a.ref(ours), c.ref(theirs))
	t.pass(1, "v1", a.ref(ours))
	t.outdatedAre(sanctions, 1, noLimit, c.ref(theirs))
	t.pass(1, "v1", c.ref(theirs))
	t.outdatedAre(sanctions, 1, noLimit)
	t.outdatedAre(sanctions, 2, 2, a.ref(ours), c.ref(theirs))
	t.outdatedAre(sanctions, 2, noLimit, a.ref(ours), c.ref(theirs), b.ref(ours))
	t.outdatedAre(sanctions, 0, noLimit)
}

func runOfTwoLists(t *trial) {
	second, _ := screens(peps).(verification.Dispatched)
	second.Node = "peps"
	s := simple(1).then(0, screens(sanctions)).then(time.Second, versionOf(sanctions, "v1"), second,
		verification.ResultRecorded{Node: "peps", Passed: true}, completed())
	t.save(ours, s)
	t.outdatedAre(peps, 1, noLimit, s.ref(ours))
	t.pass(1, "v1", s.ref(ours))
	t.outdatedAre(sanctions, 1, noLimit)
	t.outdatedAre(peps, 1, noLimit, s.ref(ours))
}

func appendAfterPass(t *trial) {
	s := screened(1, "v0")
	t.save(ours, s)
	t.pass(1, "v1", s.ref(ours))
	later := s.then(time.Hour, verification.HitsFound{
		Node: "pan", List: sanctions, ListVersion: "v1", Hits: []verification.Hit{{ID: "e-1", Name: oddText, Score: 0.9}},
	}).then(time.Hour, verdict("", verification.DecisionApprove))
	t.extend(ours, later, len(s.events))
	t.outdatedAre(sanctions, 1, noLimit)
	t.outdatedAre(sanctions, 2, noLimit, s.ref(ours))
}

func refusedScreened(t *trial) {
	before := simple(1).then(0, screens(sanctions))
	end := before.then(time.Second, versionOf(sanctions, "v1"), completed())
	t.save(ours, before)
	t.refused("Append at a wrong length", t.store.Append(t.ctx, ours, end.id, 7, end.commitAfter(2)), verification.ErrConflict)
	t.refused("Append of another start", t.store.Append(t.ctx, ours, end.id, 0, end.commit()), verification.ErrConflict)
	t.outdatedAre(sanctions, 1, noLimit)
	t.extend(ours, before.then(time.Second, verification.Cancelled{}), 2)
	t.refused("Append after another", t.store.Append(t.ctx, ours, end.id, 2, end.commitAfter(2)), verification.ErrConflict)
	t.outdatedAre(sanctions, 1, noLimit)
	other := simple(2).then(0, screens(sanctions))
	t.save(ours, other)
	end = other.then(time.Second, versionOf(sanctions, "v1"), completed())
	concurrently(func(int) error { return t.store.Append(t.ctx, ours, end.id, 2, end.commitAfter(2)) })
	t.outdatedAre(sanctions, 1, noLimit, end.ref(ours))
}

func outdatedOrder(t *trial) {
	var refs []verification.RunRef
	for n := range 6 {
		s := screened(n+1, "v0")
		refs = append(refs, s.ref(ours))
		t.save(ours, s)
	}
	t.pass(1, "v1", refs[0], refs[1], refs[3])
	t.pass(2, "v2", refs[0], refs[2])
	want := []verification.RunRef{refs[4], refs[5], refs[1], refs[3], refs[0], refs[2]}
	for limit := range 7 {
		t.outdatedAre(sanctions, 3, limit, want[:limit]...)
	}
	t.outdatedAre(sanctions, 2, noLimit, want[:4]...)
}

func outdatedTurns(t *trial) {
	var mine []verification.RunRef
	for n := range 5 {
		s := screened(n+1, "v0")
		mine = append(mine, s.ref(ours))
		t.save(ours, s)
	}
	first, second := screened(7, "v0"), screened(8, "v0")
	t.save(theirs, first, second)
	turns := []verification.RunRef{mine[0], first.ref(theirs), mine[1], second.ref(theirs), mine[2], mine[3], mine[4]}
	for _, limit := range []int{1, 2, 3, 4, noLimit} {
		t.outdatedAre(sanctions, 1, limit, turns[:min(limit, len(turns))]...)
	}
}

func outdatedTurnsContinue(t *trial) {
	const between = verification.TenantID("a9000000-0000-7000-8000-000000000009")
	refs := map[verification.TenantID][]verification.RunRef{}
	for i, tenant := range []verification.TenantID{ours, between, theirs} {
		for n := range 2 {
			s := screened(10*i+n+1, "v0")
			refs[tenant] = append(refs[tenant], s.ref(tenant))
			t.save(tenant, s)
		}
	}
	for after, order := range map[verification.TenantID][]verification.TenantID{
		"":                                     {ours, between, theirs},
		ours:                                   {between, theirs, ours},
		between:                                {theirs, ours, between},
		theirs:                                 {ours, between, theirs},
		"00000000-0000-7000-8000-00000000ffff": {ours, between, theirs},
		"a9000000-0000-7000-8000-00000000000a": {theirs, ours, between},
	} {
		var want []verification.RunRef
		for n := range 2 {
			for _, tenant := range order {
				want = append(want, refs[tenant][n])
			}
		}
		for _, limit := range []int{1, 4, noLimit} {
			t.outdatedAfter(after, sanctions, 1, limit, want[:min(limit, len(want))]...)
		}
	}
}
