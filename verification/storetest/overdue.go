// The clauses on Overdue: deadlines that have passed.

package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func overdue() []clause {
	const promise = "RunStore.Overdue: "
	return []clause{
		{"a run is overdue after its deadline, not at it", promise + "runs whose deadline has passed", overdueAfter},
		{"next is just after the earliest deadline to come", promise + "the time at which to call again, unless something is appended earlier; zero for never", overdueNext},
		{"a run that has ended or has no deadline is never overdue", promise + "live runs whose deadline has passed", overdueLive},
		{"overdue runs of every tenant are found", promise + "live runs whose deadline has passed", overdueOfEveryTenant},
		{"Overdue returns up to its limit, and the rest later", promise + "up to limit runs", overdueLimit},
		{"tenants take turns in Overdue, however early one tenant's deadlines are", promise + "each is given its first run before any is given its second", overdueTurns},
	}
}

func sorted(runs []verification.RunRef) []verification.RunRef {
	slices.SortFunc(runs, func(a, b verification.RunRef) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Run, b.Run))
	})
	return runs
}

func (t *trial) overdueAre(now time.Time, want ...verification.RunRef) (next time.Time) {
	runs, next := t.overdue(now, noLimit)
	same(t, "Overdue(start+"+now.Sub(instant(0)).String()+")", sorted(runs), want)
	return next
}

func overdueAfter(t *trial) {
	s := begin(1, instant(0), limited(3600, 0))
	t.save(ours, s)
	t.overdueAre(instant(0))
	t.overdueAre(instant(time.Hour))
	t.overdueAre(instant(time.Hour+tick), s.ref(ours))
	t.overdueAre(instant(1000*time.Hour), s.ref(ours))
	t.overdueAre(instant(time.Hour))
}

func overdueNext(t *trial) {
	same(t, "the next time of an empty store", t.overdueAre(instant(0)), time.Time{})
	first, second := begin(1, instant(0), limited(3600, 0)), begin(2, instant(0), limited(7200, 0))
	t.save(ours, second, simple(3), first)
	same(t, "the next time before both deadlines", t.overdueAre(instant(0)), instant(time.Hour+tick))
	same(t, "the next time at the first deadline", t.overdueAre(instant(time.Hour)), instant(time.Hour+tick))
	next := t.overdueAre(instant(time.Hour+tick), first.ref(ours))
	same(t, "the next time between the deadlines", next, instant(2*time.Hour+tick))
	next = t.overdueAre(next, first.ref(ours), second.ref(ours))
	same(t, "the next time after both deadlines", next, time.Time{})
}

func overdueLive(t *trial) {
	var late []history
	for i, end := range []verification.Fact{completed(), failed(), expired(), verification.Cancelled{}} {
		s := begin(i+1, instant(0), limited(3600, 0))
		t.save(ours, s)
		t.overdueAre(instant(2*time.Hour), s.ref(ours))
		s = s.then(time.Hour, end)
		t.extend(ours, s, 1)
		t.overdueAre(instant(2 * time.Hour))
		late = append(late, s.then(time.Hour, verdict("", verification.DecisionApprove)))
	}
	t.save(ours, simple(10))
	for _, s := range late {
		t.extend(ours, s, 2)
	}
	same(t, "the next time", t.overdueAre(instant(2*time.Hour)), time.Time{})
}

func overdueOfEveryTenant(t *trial) {
	a, b, c := begin(1, instant(0), limited(3600, 0)), begin(1, instant(0), limited(1800, 0)), begin(2, instant(0), limited(7200, 0))
	t.save(ours, a, c)
	t.save(theirs, b)
	t.overdueAre(instant(time.Hour), b.ref(theirs))
	t.overdueAre(instant(2*time.Hour), a.ref(ours), b.ref(theirs))
	t.extend(theirs, b.then(30*time.Minute, expired()), 1)
	t.overdueAre(instant(2*time.Hour), a.ref(ours))
}

func overdueLimit(t *trial) {
	histories := map[verification.RunRef]history{}
	for n := range 5 {
		s := begin(n+1, instant(0), limited(int64(60*(n+1)), 0))
		histories[s.ref(ours)] = s
		t.save(ours, s)
	}
	now := instant(time.Hour)
	t.save(ours, begin(6, instant(0), limited(7200, 0)))
	for _, want := range []int{2, 2, 1, 0} {
		runs, next := t.overdue(now, 2)
		same(t, "the number of overdue runs, limit 2", len(runs), want)
		same(t, "the next time", next, instant(2*time.Hour+tick))
		for _, run := range runs {
			s, known := histories[run]
			if !known {
				t.failf("Overdue = %s, which was returned before or never saved", shown(run))
			}
			delete(histories, run)
			t.extend(ours, s.at(s.summary().ExpiresAt, expired()), 1)
		}
	}
}

func overdueTurns(t *trial) {
	for n := range 8 {
		t.save(ours, begin(n+1, instant(0), limited(60, 0)))
	}
	late := begin(1, instant(0), limited(3600, 0))
	t.save(theirs, begin(2, instant(0), limited(1800, 0)), late)
	if runs, _ := t.overdue(instant(time.Hour), 8); slices.Contains(runs, late.ref(theirs)) {
		t.failf("Overdue(limit 8) = %s, want no run at its deadline", shown(runs))
	}
	for _, limit := range []int{2, 4, 9} {
		runs, _ := t.overdue(instant(2*time.Hour), limit)
		counts := map[verification.TenantID]int{}
		for _, run := range runs {
			counts[run.Tenant]++
		}
		want := map[verification.TenantID]int{ours: limit - min(limit/2, 2), theirs: min(limit/2, 2)}
		same(t, fmt.Sprintf("the runs of each tenant, limit %d", limit), counts, want)
		if limit < 4 && slices.Contains(runs, late.ref(theirs)) {
			t.failf("Overdue(limit %d) = %s, want the run with their earliest deadline", limit, shown(runs))
		}
	}
}
