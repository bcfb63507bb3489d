// The clauses on List that are about order, pages, moments and tenants.

package storetest

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// crowd is more runs than fit on a page, several of one moment, saved in
// another order than they are listed in.
func crowd() []story {
	const n = verification.MaxLimit + 5
	var stories []story
	for i := range n {
		// 83 has no divisor in common with 205: every number comes once.
		k := i * 83 % n
		stories = append(stories, begin(k+1, moment(time.Duration(k/4)*tick), started()))
	}
	return stories
}

// paged wants one page of all runs, which are in the order they are listed in.
func (t *trial) paged(all []verification.Summary, limit, offset int) {
	q := everything(moment(time.Hour))
	q.Limit, q.Offset = limit, offset
	var got, want []verification.RunID
	for _, s := range all[min(offset, len(all)):min(offset+limit, len(all))] {
		want = append(want, s.ID)
	}
	p := t.list(ours, q)
	for _, s := range p.Data {
		got = append(got, s.ID)
	}
	what := fmt.Sprintf("List(limit %d, offset %d)", limit, offset)
	same(t, what, got, want)
	same(t, "the total of "+what, p.Total, len(all))
	same(t, "the page that "+what+" says it is", p.PageQuery, q.PageQuery)
}

func newestFirst(t *trial) {
	stories := crowd()
	t.save(ours, stories...)
	t.paged(listed(stories...), verification.MaxLimit, 0)
}

func pagesJoin(t *trial) {
	stories := crowd()
	t.save(ours, stories...)
	all := listed(stories...)
	for _, limit := range []int{1, 7, verification.DefaultLimit, verification.MaxLimit} {
		for _, offset := range []int{0, limit, 2 * limit, len(all) - limit, len(all) - 1} {
			t.paged(all, limit, offset)
		}
	}
}

func pastTheEnd(t *trial) {
	stories := crowd()[:3]
	t.save(ours, stories...)
	for _, offset := range []int{3, 4, 1_000_000} {
		t.paged(listed(stories...), 1, offset)
	}
}

// strictlyAfter walks a run over its moments, and another whose deadline comes
// first.
func strictlyAfter(t *trial) {
	walks := begin(1, moment(0), limited(3600, 900)).then(0, consent())
	reviewed := begin(2, moment(0), limited(1800, 0)).then(0, asked("review"))
	t.save(ours, walks, reviewed)
	reads := func(s story, now time.Time, status verification.Status, d verification.Decision) {
		for _, q := range append(byStatus(now), byDecision(now)...) {
			found := false
			for _, got := range t.list(ours, q).Data {
				found = found || got.ID == s.id
			}
			wanted := q.Status == status || q.Decision != "" && q.Decision == d
			if found != wanted {
				t.faultf("List(status %q, decision %q, start+%s) has run %s: %t, want %t",
					q.Status, q.Decision, now.Sub(moment(0)), s.id, found, wanted)
			}
		}
	}
	const none, review = verification.DecisionNone, verification.DecisionReview
	reads(walks, moment(0), verification.StatusInProgress, none)
	reads(walks, moment(15*time.Minute), verification.StatusInProgress, none)
	reads(walks, moment(15*time.Minute+tick), verification.StatusAbandoned, none)
	reads(walks, moment(time.Hour), verification.StatusAbandoned, none)
	reads(walks, moment(time.Hour+tick), verification.StatusExpired, none)
	reads(reviewed, moment(30*time.Minute), verification.StatusInProgress, review)
	reads(reviewed, moment(30*time.Minute+tick), verification.StatusExpired, none)
}

func backInTime(t *trial) {
	stories := lives()
	t.save(ours, stories...)
	all, at := listed(stories...), moments(stories)
	for i := range at {
		// Far ahead, then near, then back: 0, last, 1, last but one, ...
		now := at[i/2]
		if i%2 == 1 {
			now = at[len(at)-1-i/2]
		}
		for _, q := range append(byStatus(now), byDecision(now)...) {
			t.matches(all, q)
		}
	}
}

func listsApart(t *trial) {
	mine, yours := simple(1), begin(1, moment(time.Minute), limited(60, 0)).then(0, asked("review"))
	t.save(ours, mine)
	t.save(theirs, yours, begin(2, moment(time.Minute), started()))
	for _, now := range []time.Time{moment(time.Minute), moment(time.Hour)} {
		t.matches(listed(mine), everything(now))
		for _, q := range byAll(now) {
			t.matches(listed(mine), q)
		}
	}
	same(t, "the number of their runs", t.list(theirs, everything(moment(time.Minute))).Total, 2)
	nobody := t.list("e0000000-0000-7000-8000-000000000009", everything(moment(time.Minute)))
	same(t, "the number of runs of a tenant that has none", nobody.Total+len(nobody.Data), 0)
}
