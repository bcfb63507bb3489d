// The clauses on measures.

package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func measures() []clause {
	const sums = "MeasureStore.Measures: "
	return []clause{
		{"measures are added up for each day", sums + "the sums of the measures of all appends so far, in the order of name, key and version", measuresAreAdded},
		{"measures are of the day that they name", "Measure.Day: the day in the zone that the tenant had when the run started", measuresOfDays},
		{"totals are added up for all days", "MeasureQuery.Totals: added up for all of these days", measuresInTotal},
		{"a history-only append adds its measures", "Commit.Work: such an append adds only Events and Measures", measuresOfHistory},
		{"a refused append adds no measures", "RunStore.Append: all or nothing", refusedMeasures},
		{"the measures of a workflow and of a version are selected", "MeasureQuery: Workflow, Version and Names", measuresSelected},
		{"a deletion keeps the measures of its run", "Commit.Delete: Its measures stay", deletionKeepsMeasures},
		{"two tenants have separate measures", "MeasureStore: every method is of one tenant", measuresOfTwoTenants},
	}
}

// measureNames returns all measures.
func measureNames() []store.MeasureName {
	return []store.MeasureName{
		store.MeasureStarted, store.MeasureEnded, store.MeasureIncomplete, store.MeasureDecided, store.MeasureTransition, store.MeasureStopped,
		store.MeasureVerdict, store.MeasureVerdictTime, store.MeasureVerdictReason, store.MeasureVerdictBy,
		store.MeasureChecked, store.MeasureHits, store.MeasureRunHits, store.MeasureDispatchFailed, store.MeasureDispatchTime,
	}
}

// today is the day of the first history.
func today() store.Day { return store.DayOf(instant(0), time.UTC) }

// onDays returns a query of days, counted from today.
func onDays(first, last int) store.MeasureQuery {
	return store.MeasureQuery{First: today() + store.Day(first), Last: today() + store.Day(last)}
}

// total adds up the measures of histories that a query selects.
func total(q store.MeasureQuery, histories ...history) (all []store.MeasureCounts) {
	for _, s := range histories {
		for _, m := range store.Measures(rules.Run{}, s.events, time.UTC) {
			w := s.summary().Workflow
			at, sums := int(m.Day-q.First), int(q.Last-q.First)+1
			if m.Day < q.First || m.Day > q.Last || q.Workflow != "" && q.Workflow != w || q.Workflow == "" && m.Version != 0 ||
				q.Version != 0 && m.Version != 0 && m.Version != q.Version {
				continue
			}
			if slices.Contains(q.Totals, m.Name) {
				at, sums = 0, 1
			} else if !slices.Contains(q.Names, m.Name) {
				continue
			}
			i := slices.IndexFunc(all, func(c store.MeasureCounts) bool { return c.MeasureKey == m.MeasureKey })
			if i < 0 {
				i, all = len(all), append(all, store.MeasureCounts{MeasureKey: m.MeasureKey, Counts: make([]int, sums)})
			}
			all[i].Counts[at] += m.Count
		}
	}
	slices.SortFunc(all, func(a, b store.MeasureCounts) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// measured ends the clause unless a query selects the measures of histories.
func (t *trial) measured(tenant verification.TenantID, q store.MeasureQuery, histories ...history) {
	got, err := t.store.Measures(t.ctx, tenant, q)
	t.ok("Measures", err)
	same(t, "Measures", got, total(q, histories...))
}

func measuresAreAdded(t *trial) {
	histories := sampleRuns()
	histories = append(histories,
		begin(100, instant(30*time.Hour), started()).then(time.Minute, consent()),
		begin(101, instant(75*time.Hour), started()).then(time.Minute, dispatched(1), rules.DispatchFailed{Node: "pan"}))
	t.save(ours, histories...)
	for _, q := range []store.MeasureQuery{onDays(0, 0), onDays(-1, 1), onDays(0, 9), onDays(-30, 30), onDays(5, 6), onDays(1, 0)} {
		q.Names = measureNames()
		t.measured(ours, q, histories...)
		q.Workflow = onboarding
		t.measured(ours, q, histories...)
	}
	more := begin(102, instant(0), started()) // after the first read
	t.save(ours, more)
	q := onDays(0, 1)
	q.Names = measureNames()
	t.measured(ours, q, append(histories, more)...)
}

func measuresInTotal(t *trial) {
	histories := sampleRuns()
	t.save(ours, histories...)
	for _, q := range []store.MeasureQuery{onDays(0, 0), onDays(0, 2), onDays(-1, 1)} {
		q.Workflow, q.Names, q.Totals = onboarding, measureNames()[:3], measureNames()[3:]
		t.measured(ours, q, histories...)
		q.Names, q.Totals = nil, measureNames()
		t.measured(ours, q, histories...)
	}
}

// measuresOfDays saves runs of several zones, also on days on which a clock changes, and
// compares their sums with the dates that package time has for them.
func measuresOfDays(t *trial) {
	first := time.Date(2025, 10, 30, 22, 30, 0, 0, time.UTC)
	want := map[string]int{} // starts by date
	for n, name := range []string{"Asia/Kolkata", "America/Los_Angeles", "Pacific/Kiritimati", "UTC"} {
		zone, err := time.LoadLocation(name)
		t.ok("LoadLocation", err)
		for i := range 40 { // 160 days
			at := first.Add(time.Duration(i) * (4*24*time.Hour + 37*time.Minute))
			s := begin(100*n+i+1, at, started())
			c := s.commit()
			c.Measures = store.Measures(rules.Run{}, s.events, zone)
			t.ok("Append", t.store.Append(t.ctx, ours, s.id, 0, c))
			want[at.In(zone).Format(time.DateOnly)]++
		}
	}
	q := store.MeasureQuery{
		Names: []store.MeasureName{store.MeasureStarted},
		First: store.DayOf(first, time.UTC) - 1, Last: store.DayOf(first, time.UTC) + 200,
	}
	for _, q.Workflow = range []verification.WorkflowID{"", onboarding} {
		got, err := t.store.Measures(t.ctx, ours, q)
		t.ok("Measures", err)
		counted := map[string]int{}
		for _, m := range got {
			for i, count := range m.Counts {
				if count > 0 {
					counted[(q.First + store.Day(i)).String()] += count
				}
			}
		}
		same(t, "starts by date", counted, want)
	}
}

func measuresOfHistory(t *trial) {
	s := simple(1).then(0, dispatched(1))
	t.save(ours, s)
	next := s.then(time.Minute, rules.DispatchFailed{Node: "pan"}, dispatched(2))
	c := next.commitAfter(2)
	c.Work = nil
	t.ok("Append", t.store.Append(t.ctx, ours, s.id, 2, c))
	q := onDays(0, 0)
	q.Names = measureNames()
	t.measured(ours, q, next)
}

func refusedMeasures(t *trial) {
	s := simple(1).then(0, dispatched(1))
	t.save(ours, s)
	next := s.then(time.Minute, answered(`{}`), completed())
	t.refused("Append at a wrong length", t.store.Append(t.ctx, ours, s.id, 5, next.commitAfter(2)), verification.ErrConflict)
	t.refused("Append of another start", t.store.Append(t.ctx, ours, s.id, 0, s.commit()), verification.ErrConflict)
	q := onDays(0, 0)
	q.Workflow, q.Names = onboarding, measureNames()
	t.measured(ours, q, s)
	errs := concurrently(func(int) error { return t.store.Append(t.ctx, ours, s.id, 2, next.commitAfter(2)) })
	if n := len(slices.DeleteFunc(errs[:], func(err error) bool { return err != nil })); n != 1 {
		t.failf("%d of concurrent appends succeeded, want 1", n)
	}
	t.measured(ours, q, next)
}

func measuresSelected(t *trial) {
	second := started()
	second.Version = 2
	other := started()
	other.Workflow = renewal
	var histories []history
	for n, s := range []rules.Started{started(), second, second, other} {
		histories = append(histories, begin(n+1, instant(0), s).then(time.Second, consent()).then(time.Minute, rules.Cancelled{}))
	}
	t.save(ours, histories...)
	for _, q := range []store.MeasureQuery{
		{Names: measureNames()},
		{Workflow: onboarding, Names: measureNames()},
		{Workflow: onboarding, Version: 2, Names: measureNames()},
		{Workflow: renewal, Names: measureNames()},
		{Workflow: unknown, Names: measureNames()},
		{Workflow: onboarding, Names: []store.MeasureName{store.MeasureStopped}},
		{Workflow: onboarding},
	} {
		q.First, q.Last = today(), today()
		t.measured(ours, q, histories...)
	}
}

func measuresOfTwoTenants(t *trial) {
	mine, yours := simple(1), simple(2).then(0, rules.Cancelled{})
	t.save(ours, mine)
	q := onDays(0, 0)
	q.Names = measureNames()
	t.measured(theirs, q)
	t.save(theirs, yours)
	t.measured(ours, q, mine)
	t.measured(theirs, q, yours)
}
