// The clauses on deletions: nothing is left of a run but its measures.

package storetest

import (
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func deletions() []clause {
	const removes = "Commit.Delete: removes the run with all that the store keeps of it, so that it is not found any more"
	return []clause{
		{"a deleted run is not found", removes, deletedIsGone},
		{"a deleted run is in no list", removes, deletedIsInNoList},
		{"a deleted run has no work", removes, deletedHasNoWork},
		{"nothing is appended to a deleted run", removes, deletedTakesNothing},
		{"a deletion of a history that has grown changes nothing", "RunStore.Append: returns ErrConflict if the history no longer ends at seq", deletionOfOldHistory},
		{"a deletion waits for the notices of its run", "RunStore.Append: both are refused with NoticePending while a notice of the run is in the queue", deletionWaitsForNotices},
		{"a deletion leaves the other runs as they are", removes, deletionOfOne},
	}
}

// deletes returns the commit that removes a run.
func (history) deletes() store.Commit { return store.Commit{Delete: true} }

// deleted saves a history and removes its run.
func (t *trial) deleted(s history) {
	t.save(ours, s)
	t.ok("Append of a deletion", t.store.Append(t.ctx, ours, s.id, len(s.events), s.deletes()))
}

func (t *trial) gone(s history) {
	for _, after := range []int{0, len(s.events)} {
		_, err := t.store.Load(t.ctx, ours, s.id, after)
		t.refused("Load of a deleted run", err, verification.ErrNotFound)
	}
}

func deletedIsGone(t *trial) {
	s := whole(1)
	t.deleted(s)
	t.gone(s)
	_, err := t.store.Claim(t.ctx, ours, s.id, rules.Claim{By: "asha", At: instant(0), Until: instant(time.Hour)})
	t.refused("Claim of a deleted run", err, verification.ErrNotFound)
	t.refused("Append of another deletion", t.store.Append(t.ctx, ours, s.id, len(s.events), s.deletes()), verification.ErrConflict)
}

func deletedIsInNoList(t *trial) {
	s, other := whole(1), whole(2)
	t.ok("Append", t.store.Append(t.ctx, ours, s.id, 0, keyed(s.commit(), 1)))
	t.save(ours, other)
	t.ok("Append of a deletion", t.store.Append(t.ctx, ours, s.id, len(s.events), s.deletes()))
	t.selects(ours, "with a key of the deleted run", byKeys(instant(48*time.Hour), 1))
	for _, q := range []store.RunQuery{{}, {Workflow: s.summary().Workflow}, {Status: rules.StatusCompleted}} {
		q.PageQuery, q.Now = firstPage(), instant(48*time.Hour)
		p := t.list(ours, q)
		same(t, "the runs in the list", p.Data, []rules.Summary{other.summary()})
		same(t, "the total of the list", p.Total, 1)
	}
}

func deletedHasNoWork(t *trial) {
	s := simple(1)
	c := s.commit()
	c.Work = store.DueWork{{Kind: store.WorkAdvance}: instant(0), expireKey(): instant(0), {Kind: store.WorkRecheck}: instant(0)}
	t.ok("Append", t.store.Append(t.ctx, ours, s.id, 0, c))
	t.ok("Append of a deletion", t.store.Append(t.ctx, ours, s.id, len(s.events), s.deletes()))
	t.takeNone(instant(time.Hour))
	t.expires(instant(time.Hour))
	recheck, _ := t.takeKind(due(store.WorkKey{Kind: store.WorkRecheck}, instant(time.Hour)))
	same(t, "the rechecks that are due", len(recheck), 0)
}

func deletionEndsScreening(t *trial) {
	s := screened(1, "a")
	t.deleted(s)
	t.hold(sanctions, "b", time.Hour)
	t.rescreens(sanctions, 2*time.Hour)
}

func deletedHasNoDelivery(t *trial) {
	s := whole(1)
	t.save(ours, s)
	sent := delivery(1, rules.DeliveryDelivered, instant(0))
	t.ok("SaveDelivery", t.tables.SaveDelivery(t.ctx, ours, sent))
	t.ok("Append of a deletion", t.store.Append(t.ctx, ours, s.id, len(s.events), s.deletes()))
	_, err := t.tables.Delivery(t.ctx, ours, sent.Ref())
	t.refused("Delivery of a deleted run", err, verification.ErrNotFound)
	p, err := t.tables.Deliveries(t.ctx, ours, "", firstPage())
	t.ok("Deliveries", err)
	same(t, "the deliveries", p.Total, 0)
}

func deletionKeepsMeasures(t *trial) {
	s := whole(1)
	t.deleted(s)
	q := onDays(0, 1)
	q.Names = measureNames()
	t.measured(ours, q, s)
}

func deletedTakesNothing(t *trial) {
	s := whole(1)
	t.deleted(s)
	next := s.then(time.Second, verdict("", rules.DecisionReject))
	t.refused("Append to a deleted run", t.store.Append(t.ctx, ours, s.id, len(s.events), next.commitAfter(len(s.events))), verification.ErrConflict)
	for seq := 1; seq < len(next.events); seq++ {
		late := next.commitAfter(seq)
		t.refused("Append to an earlier history", t.store.Append(t.ctx, ours, s.id, seq, late), verification.ErrConflict)
		late.Work = nil
		t.refused("Append of events only", t.store.Append(t.ctx, ours, s.id, seq, late), verification.ErrConflict)
	}
	t.refused("Append without events to a deleted run", t.store.Append(t.ctx, ours, s.id, len(s.events), store.Commit{
		Summary: s.summary(), Work: store.AdvanceAt(instant(0)),
	}), verification.ErrConflict)
	t.gone(s)
	t.takeNone(instant(time.Hour))
	errs := concurrently(func(caller int) error {
		s := whole(2 + caller/2)
		if caller%2 == 0 {
			return t.store.Append(t.ctx, ours, s.id, 0, s.commit())
		}
		return nil
	})
	for _, err := range errs {
		t.ok("Append", err)
	}
	errs = concurrently(func(caller int) error {
		s := whole(2 + caller/2)
		if caller%2 == 0 {
			return t.store.Append(t.ctx, ours, s.id, len(s.events), s.deletes())
		}
		return t.store.Append(t.ctx, ours, s.id, len(s.events), s.then(time.Second, verdict("", rules.DecisionReject)).commitAfter(len(s.events)))
	})
	for n := range callers / 2 {
		s := whole(2 + n)
		switch deleted, appended := errs[2*n] == nil, errs[2*n+1] == nil; {
		case deleted == appended:
			t.failf("a deletion and an append at once = %v, %v; want one of them to be saved", errs[2*n], errs[2*n+1])
		case deleted:
			t.gone(s)
		default:
			t.holds(ours, s.then(time.Second, verdict("", rules.DecisionReject)))
		}
	}
}

func deletionOfOldHistory(t *trial) {
	s := whole(1)
	t.save(ours, s)
	next := s.then(time.Second, verdict("", rules.DecisionReject))
	t.extend(ours, next, len(s.events))
	t.refused("Append of a deletion", t.store.Append(t.ctx, ours, s.id, len(s.events), s.deletes()), verification.ErrConflict)
	t.refused("Append of a deletion of no run", t.store.Append(t.ctx, ours, runID(2), 3, s.deletes()), verification.ErrConflict)
	t.refused("Append of a deletion by another tenant", t.store.Append(t.ctx, theirs, s.id, len(next.events), s.deletes()), verification.ErrConflict)
	t.holds(ours, next)
}

func deletionWaitsForNotices(t *trial) {
	s := whole(1)
	t.ok("Append", t.store.Append(t.ctx, ours, s.id, 0, s.announcing()))
	t.refused("Append of a deletion", t.store.Append(t.ctx, ours, s.id, len(s.events), s.deletes()), verification.ErrConflict)
	t.holds(ours, s)
	t.finish(t.takeOne(instant(time.Hour)))
	t.ok("Append of a deletion after the notice", t.store.Append(t.ctx, ours, s.id, len(s.events), s.deletes()))
	t.gone(s)
}

func deletionOfOne(t *trial) {
	other, elsewhere := whole(2), whole(1)
	t.save(ours, other)
	t.save(theirs, elsewhere)
	t.deleted(whole(1))
	t.holds(ours, other)
	t.holds(theirs, elsewhere)
}
