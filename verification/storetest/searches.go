// The clauses on search keys.

package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func searches() []clause {
	const keys = "RunQuery.Keys: selects the runs that have, of each of these choices, one of the search keys"
	const replaced = "Commit.Keys: replace the search keys of the run"
	return []clause{
		{"a search selects the runs that have all of its keys", keys, searchSelects},
		{"a search selects the runs that have one key of a choice", keys, searchChoice},
		{"a commit with search keys replaces all of them", replaced, keysReplaced},
		{"a run has the search keys of all its elements", "Commit.Keys: those of a run with 64 elements, too", keysOfElements},
		{"a commit without search keys leaves them as they are", "Commit.Keys: nil leaves them as they are", keysStay},
		{"a commit without events replaces the search keys, too", replaced, keysAlone},
		{"an append that is refused leaves the search keys", "RunStore.Append: all or nothing", keysOfRefusedAppend},
		{"search keys are combined with the other filters", "RunQuery: a run must match every filter", searchCombined},
		{"search keys select runs in the review queue", "RunQuery: a run must match every filter", searchInQueue},
		{"the pages of a search add up to the whole list", "RunStore.List: one page, in its order, and the number of all matches", pagesOfSearch},
		{"a tenant finds only its own runs by a key", "RunStore.List: the runs of the tenant", searchOfTwoTenants},
		{"runs that are saved at the same time have their own keys", replaced, keysAtOnce},
	}
}

// key returns search key number n.
func key(n int) store.SearchKey { return store.SearchKey{0: 0xff, 7: 1, 14: byte(n >> 8), 15: byte(n)} }

// keyed returns a commit with search keys, none if no number is given.
func keyed(c store.Commit, numbers ...int) store.Commit {
	c.Keys = []store.SearchKey{}
	for _, n := range numbers {
		c.Keys = append(c.Keys, key(n))
	}
	return c
}

// byKeys selects the runs that have search keys, on one page.
func byKeys(now time.Time, numbers ...int) store.RunQuery {
	q := everything(now)
	for _, n := range numbers {
		q.Keys = append(q.Keys, []store.SearchKey{key(n)})
	}
	return q
}

// selects ends the clause unless a query selects exactly the runs, in this order.
func (t *trial) selects(tenant verification.TenantID, what string, q store.RunQuery, want ...history) {
	var ids, got []verification.RunID
	for _, s := range want {
		ids = append(ids, s.id)
	}
	p := t.list(tenant, q)
	for _, s := range p.Data {
		got = append(got, s.ID)
	}
	same(t, "the runs "+what, got, ids)
	same(t, "the number of runs "+what, p.Total, len(want))
}

func searchSelects(t *trial) {
	one, two, none := simple(1), simple(2), simple(3)
	t.add(ours, one.id, 0, keyed(one.commit(), 1, 2))
	t.add(ours, two.id, 0, keyed(two.commit(), 2, 3))
	t.save(ours, none)
	now := instant(0)
	t.selects(ours, "with key 1", byKeys(now, 1), one)
	t.selects(ours, "with key 2", byKeys(now, 2), two, one)
	t.selects(ours, "with keys 2 and 3", byKeys(now, 2, 3), two)
	t.selects(ours, "with keys 1 and 3", byKeys(now, 1, 3))
	t.selects(ours, "with a key that none has", byKeys(now, 4))
	same(t, "the summary", t.list(ours, byKeys(now, 1)).Data, []rules.Summary{one.summary()})
}

func searchChoice(t *trial) {
	one, two, both, none := simple(1), simple(2), simple(3).then(0, asked("review")), simple(4)
	t.add(ours, one.id, 0, keyed(one.commit(), 1, 5))
	t.add(ours, two.id, 0, keyed(two.commit(), 2))
	t.add(ours, both.id, 0, keyed(both.commit(), 1, 2, 5))
	t.add(ours, none.id, 0, keyed(none.commit(), 3))
	choose := func(q store.RunQuery, choices ...[]store.SearchKey) store.RunQuery {
		q.Keys = choices
		return q
	}
	now, either, other := instant(0), []store.SearchKey{key(1), key(2)}, []store.SearchKey{key(5), key(6)}
	t.selects(ours, "with key 1 or 2", choose(everything(now), either), both, two, one)
	t.selects(ours, "with key 2 or 1", choose(everything(now), []store.SearchKey{key(2), key(1)}), both, two, one)
	t.selects(ours, "with key 1 or 2, and 5 or 6", choose(everything(now), either, other), both, one)
	t.selects(ours, "with key 5 or 6, and 2", choose(everything(now), other, []store.SearchKey{key(2)}), both)
	t.selects(ours, "with key 7 or 8", choose(everything(now), []store.SearchKey{key(7), key(8)}))
	q := choose(everything(now), either)
	q.Limit, q.Offset = 1, 1
	if p := t.list(ours, q); p.Total != 3 || len(p.Data) != 1 || p.Data[0].ID != two.id {
		t.differ("the second page of the runs with key 1 or 2", p, two.id)
	}
	t.selects(ours, "in the queue with key 1 or 2", choose(wholeQueue(now), either), both)
	q = choose(everything(now), either)
	q.ReferencePrefix = "no"
	t.selects(ours, "with key 1 or 2 and another reference", q)
}

func keysReplaced(t *trial) {
	s := simple(1)
	t.add(ours, s.id, 0, keyed(s.commit(), 1, 2))
	for _, next := range [][]int{{2, 3}, {}, {1}} {
		before := len(s.events)
		s = s.then(time.Second, consent(), rules.CustomerSubmitted{Node: "consent"})
		t.add(ours, s.id, before, keyed(s.commitAfter(before), next...))
		for n := 1; n <= 3; n++ {
			if slices.Contains(next, n) {
				t.selects(ours, "with a new key", byKeys(instant(time.Minute), n), s)
			} else {
				t.selects(ours, "with an old key", byKeys(instant(time.Minute), n))
			}
		}
	}
}

// keysOfElements saves what a run with the most elements has: 64 words of its own, and 8 of each of 64 elements.
func keysOfElements(t *trial) {
	const most = 64 + 64*8
	s, all := simple(1), []int(nil)
	for n := range most {
		all = append(all, n)
	}
	t.add(ours, s.id, 0, keyed(s.commit(), all...))
	for _, n := range []int{0, 63, 64, most - 1} {
		t.selects(ours, "with the key of an element", byKeys(instant(0), n), s)
	}
	before := len(s.events)
	s = s.then(time.Second, consent(), rules.CustomerSubmitted{Node: "consent"})
	t.add(ours, s.id, before, keyed(s.commitAfter(before)))
	t.selects(ours, "with the key of an element that was removed", byKeys(instant(time.Minute), most-1))
}

func keysStay(t *trial) {
	s := simple(1)
	t.add(ours, s.id, 0, keyed(s.commit(), 1))
	next := s.then(time.Second, consent())
	t.extend(ours, next, len(s.events))
	t.add(ours, s.id, len(next.events), next.only(instant(time.Minute)))
	t.selects(ours, "with the key", byKeys(instant(time.Minute), 1), s)
}

func keysAlone(t *trial) {
	s := simple(1)
	t.add(ours, s.id, 0, keyed(s.commit(), 1, 2))
	now := instant(time.Minute)
	t.refused("Append at another length", t.store.Append(t.ctx, ours, s.id, len(s.events)+1, keyed(s.only(now), 3)), verification.ErrConflict)
	t.selects(ours, "with the key of a refused append", byKeys(now, 3))
	t.add(ours, s.id, len(s.events), keyed(s.only(now), 2, 3))
	t.selects(ours, "with an old key", byKeys(now, 1))
	t.selects(ours, "with the new keys", byKeys(now, 2, 3), s)
	t.holds(ours, s)
}

func keysOfRefusedAppend(t *trial) {
	s := simple(1)
	t.add(ours, s.id, 0, keyed(s.commit(), 1))
	next := s.then(time.Second, consent())
	t.extend(ours, next, len(s.events))
	other := s.then(2*time.Second, consent())
	for seq, c := range map[int]store.Commit{0: s.commit(), len(s.events): other.commitAfter(len(s.events))} {
		t.refused("Append to a history that has changed", t.store.Append(t.ctx, ours, s.id, seq, keyed(c, 2)), verification.ErrConflict)
	}
	t.selects(ours, "with the key of a refused append", byKeys(instant(time.Minute), 2))
	t.selects(ours, "with the old key", byKeys(instant(time.Minute), 1), s)
}

func searchCombined(t *trial) {
	var all []history
	for i, s := range sampleRuns() {
		all = append(all, s)
		if i%2 == 0 {
			t.add(ours, s.id, 0, keyed(s.commit(), 1, 2))
		} else {
			t.add(ours, s.id, 0, keyed(s.commit(), 2))
		}
	}
	slices.SortFunc(all, func(a, b history) int {
		if store.Newer(a.summary(), b.summary()) {
			return -1
		}
		return 1
	})
	has := func(s history) bool {
		return slices.IndexFunc(sampleRuns(), func(o history) bool { return o.id == s.id })%2 == 0
	}
	for _, now := range []time.Time{instant(0), instant(20 * time.Minute), instant(2 * time.Hour)} {
		for _, q := range slices.Concat(byWorkflow(now), byStatus(now), byDecision(now), byReference(now), byStart(now), []store.RunQuery{everything(now)}) {
			q.Keys = byKeys(now, 2, 1).Keys
			var want []history
			for _, s := range all {
				if has(s) && q.Matches(s.summary()) {
					want = append(want, s)
				}
			}
			t.selects(ours, "with a key and "+shown(q), q, want...)
		}
	}
}

func searchInQueue(t *trial) {
	one := simple(1).then(0, asked("review"))
	two := simple(2).then(0, asked("review"))
	over := simple(3)
	for _, s := range []history{one, two, over} {
		t.add(ours, s.id, 0, keyed(s.commit(), 1, int(s.id[len(s.id)-1])))
	}
	q := wholeQueue(instant(0))
	q.Keys = byKeys(instant(0), 1).Keys
	t.selects(ours, "in the queue with a key", q, one, two)
	same(t, "their summaries", t.list(ours, q).Data, reviewed([]history{one, two}))
	q.Keys = append(q.Keys, []store.SearchKey{key(int('2'))})
	t.selects(ours, "in the queue with two keys", q, two)
	q.Order = store.DueFirst
	t.selects(ours, "in the queue by due time with two keys", q, two)
	q.Run = one.id
	t.selects(ours, "with another id", q)
}

func pagesOfSearch(t *trial) {
	var all []rules.Summary
	for n := range 20 {
		s := begin(n, instant(time.Duration(n%5)*time.Minute), started())
		if n%3 == 0 {
			t.save(ours, s)
			continue
		}
		t.add(ours, s.id, 0, keyed(s.commit(), 1, 2))
		all = append(all, s.summary())
	}
	slices.SortFunc(all, func(a, b rules.Summary) int {
		if store.Newer(a, b) {
			return -1
		}
		return 1
	})
	for _, workflow := range []verification.WorkflowID{"", onboarding} {
		pages(t, "List", all, func(p store.PageQuery) (store.Page[rules.Summary], error) {
			q := byKeys(instant(time.Hour), 1, 2)
			q.PageQuery, q.Workflow = p, workflow
			return t.store.List(t.ctx, ours, q)
		})
	}
}

func searchOfTwoTenants(t *trial) {
	one, two := simple(1), simple(2)
	t.add(ours, one.id, 0, keyed(one.commit(), 1))
	t.add(theirs, two.id, 0, keyed(two.commit(), 1))
	t.selects(ours, "of this tenant", byKeys(instant(0), 1), one)
	t.selects(theirs, "of the other tenant", byKeys(instant(0), 1), two)
}

func keysAtOnce(t *trial) {
	for n := range callers / 2 {
		t.save(ours, simple(n))
	}
	errs := concurrently(func(caller int) error { // half of them are refused
		s := simple(caller)
		return t.store.Append(t.ctx, ours, s.id, 0, keyed(s.commit(), caller, 100))
	})
	var want []history
	for caller, err := range errs {
		saved := caller >= callers/2
		switch {
		case saved:
			t.ok("Append", err)
			want = append(want, simple(caller))
			t.selects(ours, "with a key", byKeys(instant(0), caller), simple(caller))
		case !errors.Is(err, verification.ErrConflict):
			t.failf("Append to a run that exists: %w, want a conflict", err)
		default:
			t.selects(ours, "with the key of a refused append", byKeys(instant(0), caller))
		}
	}
	slices.Reverse(want)
	t.selects(ours, "with the common key", byKeys(instant(0), 100), want...)
}
