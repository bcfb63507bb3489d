// The clauses on measures.

package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func measures() []clause {
	const sums = "MeasureStore.Measures: "
	return []clause{
		{"measures are added up from each cut to the next", sums + "the sums of the measures of all appends so far, in the order of name, key and version", measuresAreAdded},
		{"measures of months are the sums of their days, wherever the days begin", "MeasureQuery.Cuts: two or more ascending times, each a multiple of MeasureInterval", measuresOfMonths},
		{"totals are added up from the first cut to the last", "MeasureQuery.Totals: added up from the first cut to the last", measuresInTotal},
		{"a refused append adds no measures", "RunStore.Append: all or nothing", refusedMeasures},
		{"the measures of a workflow and of a version are selected", "MeasureQuery: Workflow, Version and Names", measuresSelected},
		{"two tenants have separate measures", "MeasureStore: every method is of one tenant", measuresOfTwoTenants},
	}
}

// measureNames returns all measures.
func measureNames() []verification.MeasureName {
	return []verification.MeasureName{
		verification.MeasureStarted, verification.MeasureEnded, verification.MeasureTransition, verification.MeasureStopped,
		verification.MeasureVerdict, verification.MeasureVerdictTime, verification.MeasureDispatchFailed, verification.MeasureDispatchTime,
	}
}

// cuts returns the times that come so long after the beginning of the interval before the
// first history.
func cuts(after ...time.Duration) (all []time.Time) {
	for _, d := range after {
		all = append(all, instant(-verification.MeasureInterval).Truncate(verification.MeasureInterval).Add(d))
	}
	return all
}

// total adds up the measures of histories that a query selects.
func total(q verification.MeasureQuery, histories ...history) (all []verification.MeasureCounts) {
	for _, s := range histories {
		for _, m := range verification.Measures(verification.Run{}, verification.Fold(s.id, s.events), s.events) {
			w := s.summary().Workflow
			at := slices.IndexFunc(q.Cuts, func(cut time.Time) bool { return cut.After(m.At) })
			sums := len(q.Cuts) - 1
			if slices.Contains(q.Totals, m.Name) {
				at, sums = min(at, 1), 1
			} else if !slices.Contains(q.Names, m.Name) {
				continue
			}
			if at < 1 || q.Workflow != "" && q.Workflow != w || q.Workflow == "" && m.Version != 0 ||
				q.Version != 0 && m.Version != 0 && m.Version != q.Version {
				continue
			}
			i := slices.IndexFunc(all, func(c verification.MeasureCounts) bool { return c.MeasureKey == m.MeasureKey })
			if i < 0 {
				i, all = len(all), append(all, verification.MeasureCounts{MeasureKey: m.MeasureKey, Counts: make([]int, sums)})
			}
			all[i].Counts[at-1] += m.Count
		}
	}
	slices.SortFunc(all, func(a, b verification.MeasureCounts) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// measured ends the clause unless a query selects the measures of histories.
func (t *trial) measured(tenant verification.TenantID, q verification.MeasureQuery, histories ...history) {
	got, err := t.store.Measures(t.ctx, tenant, q)
	t.ok("Measures", err)
	same(t, "Measures", got, total(q, histories...))
}

func measuresAreAdded(t *trial) {
	const quarter, day = verification.MeasureInterval, 24 * time.Hour
	histories := sampleRuns()
	histories = append(histories,
		begin(100, instant(30*time.Hour), started()).then(time.Minute, consent()),
		begin(101, instant(75*time.Hour), started()).then(time.Minute, dispatched(1), verification.DispatchFailed{Node: "pan"}))
	t.save(ours, histories...)
	for _, at := range [][]time.Time{
		cuts(0, day), cuts(0, quarter, 2*quarter, 3*quarter), cuts(-day, 0, quarter), cuts(0, 10*day),
		cuts(0, 20*time.Hour, 44*time.Hour, 68*time.Hour, 92*time.Hour), cuts(-30*day, 30*day), cuts(5*day, 6*day),
	} {
		t.measured(ours, verification.MeasureQuery{Names: measureNames(), Cuts: at}, histories...)
		t.measured(ours, verification.MeasureQuery{Workflow: onboarding, Names: measureNames(), Cuts: at}, histories...)
	}
	more := begin(102, instant(0), started()) // after the first read
	t.save(ours, more)
	t.measured(ours, verification.MeasureQuery{Names: measureNames(), Cuts: cuts(0, day)}, append(histories, more)...)
}

func measuresInTotal(t *trial) {
	histories := sampleRuns()
	t.save(ours, histories...)
	for _, at := range [][]time.Time{cuts(0, time.Hour), cuts(0, 30*time.Minute, 5*time.Hour, 50*time.Hour), cuts(-24*time.Hour, 0, 24*time.Hour)} {
		q := verification.MeasureQuery{Workflow: onboarding, Cuts: at, Names: measureNames()[:3], Totals: measureNames()[3:]}
		t.measured(ours, q, histories...)
		q.Names, q.Totals = nil, measureNames()
		t.measured(ours, q, histories...)
	}
}

func measuresOfMonths(t *trial) {
	const day = 24 * time.Hour
	first := time.Date(2025, 11, 30, 0, 0, 0, 0, time.UTC)
	var histories []history
	for n := range 40 { // 130 days, with the ends of five months
		at := first.Add(time.Duration(n) * (3*day + 5*time.Hour + 37*time.Minute))
		histories = append(histories, begin(n+1, at, started()).then(time.Minute, consent()).then(day, verification.Cancelled{}))
	}
	for n := range 4 { // about the midnights of a month
		at := time.Date(2026, 2, 28, 23, 30, 0, 0, time.UTC).Add(time.Duration(n) * verification.MeasureInterval)
		histories = append(histories, begin(50+n, at, started()).then(time.Minute, consent()))
	}
	t.save(ours, histories...)
	for _, from := range []time.Duration{0, -330 * time.Minute, 5 * time.Hour, day - verification.MeasureInterval} {
		var days, months []time.Time
		for n := range 140 {
			days = append(days, first.Add(from).AddDate(0, 0, n))
		}
		for n := range 7 {
			months = append(months, time.Date(2025, 11+time.Month(n), 1, 0, 0, 0, 0, time.UTC).Add(from))
		}
		ends := []time.Time{days[0], days[len(days)-1]}
		clockChanges := slices.Concat(days[:90], cutsLater(days[90:], time.Hour))
		for _, at := range [][]time.Time{days, months, ends, clockChanges} {
			t.measured(ours, verification.MeasureQuery{Workflow: onboarding, Names: measureNames(), Cuts: at}, histories...)
		}
	}
}

// cutsLater returns cuts that are moved.
func cutsLater(all []time.Time, d time.Duration) []time.Time {
	moved := slices.Clone(all)
	for i := range moved {
		moved[i] = moved[i].Add(d)
	}
	return moved
}

func refusedMeasures(t *trial) {
	s := simple(1).then(0, dispatched(1))
	t.save(ours, s)
	next := s.then(time.Minute, answered(`{}`), completed())
	t.refused("Append at a wrong length", t.store.Append(t.ctx, ours, s.id, 5, next.commitAfter(2)), verification.ErrConflict)
	t.refused("Append of another start", t.store.Append(t.ctx, ours, s.id, 0, s.commit()), verification.ErrConflict)
	t.measured(ours, verification.MeasureQuery{Workflow: onboarding, Names: measureNames(), Cuts: cuts(0, time.Hour)}, s)
	errs := concurrently(func(int) error { return t.store.Append(t.ctx, ours, s.id, 2, next.commitAfter(2)) })
	if n := len(slices.DeleteFunc(errs[:], func(err error) bool { return err != nil })); n != 1 {
		t.failf("%d of concurrent appends succeeded, want 1", n)
	}
	t.measured(ours, verification.MeasureQuery{Workflow: onboarding, Names: measureNames(), Cuts: cuts(0, time.Hour)}, next)
}

func measuresSelected(t *trial) {
	second := started()
	second.Version = 2
	other := started()
	other.Workflow = renewal
	var histories []history
	for n, s := range []verification.Started{started(), second, second, other} {
		histories = append(histories, begin(n+1, instant(0), s).then(time.Second, consent()).then(time.Minute, verification.Cancelled{}))
	}
	t.save(ours, histories...)
	for _, q := range []verification.MeasureQuery{
		{Names: measureNames()},
		{Workflow: onboarding, Names: measureNames()},
		{Workflow: onboarding, Version: 2, Names: measureNames()},
		{Workflow: renewal, Names: measureNames()},
		{Workflow: unknown, Names: measureNames()},
		{Workflow: onboarding, Names: []verification.MeasureName{verification.MeasureStopped}},
		{Workflow: onboarding},
	} {
		q.Cuts = cuts(0, time.Hour)
		t.measured(ours, q, histories...)
	}
}

func measuresOfTwoTenants(t *trial) {
	mine, yours := simple(1), simple(2).then(0, verification.Cancelled{})
	t.save(ours, mine)
	q := verification.MeasureQuery{Names: measureNames(), Cuts: cuts(0, time.Hour)}
	t.measured(theirs, q)
	t.save(theirs, yours)
	t.measured(ours, q, mine)
	t.measured(theirs, q, yours)
}
