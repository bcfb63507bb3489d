// The clauses on Overdue: deadlines that have passed.

package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Overdue are the clauses on runs whose deadline has passed.
func Overdue() []Clause {
	const promise = "RunStore.Overdue: "
	return []Clause{
		clause("a run is overdue strictly after its deadline",
			promise+"runs whose deadline has passed",
			overdueAfter),
		clause("the next deadline ahead is the moment to ask again",
			promise+"the moment to ask again if nothing is appended meanwhile (zero for never)",
			overdueNext),
		clause("a run that is over or has no deadline is never overdue",
			promise+"whose history does not say so yet",
			overdueLive),
		clause("overdue runs of every tenant are found",
			promise+"runs of any tenant",
			overdueEverywhere),
		clause("no more overdue runs are given than asked for, and the rest follows",
			promise+"up to most runs",
			overdueMost),
	}
}

func sorted(runs []verification.RunRef) []verification.RunRef {
	slices.SortFunc(runs, func(a, b verification.RunRef) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Run, b.Run))
	})
	return runs
}

func (t *trial) overdueAre(now time.Time, want ...verification.RunRef) (next time.Time) {
	runs, next := t.overdue(now, many)
	same(t, "Overdue(start+"+now.Sub(moment(0)).String()+")", sorted(runs), want)
	return next
}

func overdueAfter(t *trial) {
	s := begin(1, moment(0), limited(3600, 0))
	t.save(ours, s)
	t.overdueAre(moment(0))
	t.overdueAre(moment(time.Hour))
	t.overdueAre(moment(time.Hour+tick), s.ref(ours))
	t.overdueAre(moment(1000*time.Hour), s.ref(ours))
	t.overdueAre(moment(time.Hour))
}

func overdueNext(t *trial) {
	same(t, "the moment to ask again of an empty store", t.overdueAre(moment(0)), time.Time{})
	first, second := begin(1, moment(0), limited(3600, 0)), begin(2, moment(0), limited(7200, 0))
	t.save(ours, second, simple(3), first)
	same(t, "the moment to ask again before both deadlines", t.overdueAre(moment(0)), moment(time.Hour+tick))
	same(t, "the moment to ask again at the first deadline", t.overdueAre(moment(time.Hour)), moment(time.Hour+tick))
	next := t.overdueAre(moment(time.Hour+tick), first.ref(ours))
	same(t, "the moment to ask again between the deadlines", next, moment(2*time.Hour+tick))
	next = t.overdueAre(next, first.ref(ours), second.ref(ours))
	same(t, "the moment to ask again after both deadlines", next, time.Time{})
}

func overdueLive(t *trial) {
	var late []story
	for i, end := range []verification.Fact{completed(), failed(), expired(), verification.Cancelled{}} {
		s := begin(i+1, moment(0), limited(3600, 0))
		t.save(ours, s)
		t.overdueAre(moment(2*time.Hour), s.ref(ours))
		s = s.then(time.Hour, end)
		t.extend(ours, s, 1)
		t.overdueAre(moment(2 * time.Hour))
		late = append(late, s.then(time.Hour, verdict("", verification.DecisionApprove)))
	}
	t.save(ours, simple(10))
	for _, s := range late {
		t.extend(ours, s, 2)
	}
	same(t, "the moment to ask again", t.overdueAre(moment(2*time.Hour)), time.Time{})
}

func overdueEverywhere(t *trial) {
	a, b, c := begin(1, moment(0), limited(3600, 0)), begin(1, moment(0), limited(1800, 0)), begin(2, moment(0), limited(7200, 0))
	t.save(ours, a, c)
	t.save(theirs, b)
	t.overdueAre(moment(time.Hour), b.ref(theirs))
	t.overdueAre(moment(2*time.Hour), a.ref(ours), b.ref(theirs))
	t.extend(theirs, b.then(30*time.Minute, expired()), 1)
	t.overdueAre(moment(2*time.Hour), a.ref(ours))
}

func overdueMost(t *trial) {
	stories := map[verification.RunRef]story{}
	for n := range 5 {
		s := begin(n+1, moment(0), limited(int64(60*(n+1)), 0))
		stories[s.ref(ours)] = s
		t.save(ours, s)
	}
	now := moment(time.Hour)
	t.save(ours, begin(6, moment(0), limited(7200, 0)))
	for _, want := range []int{2, 2, 1, 0} {
		runs, next := t.overdue(now, 2)
		same(t, "the number of overdue runs, at most 2", len(runs), want)
		same(t, "the moment to ask again", next, moment(2*time.Hour+tick))
		for _, run := range runs {
			s, known := stories[run]
			if !known {
				t.faultf("Overdue = %s again, or never saved", shown(run))
			}
			delete(stories, run)
			if !t.over() {
				t.extend(ours, s.at(s.summary().ExpiresAt, expired()), 1)
			}
		}
	}
}
