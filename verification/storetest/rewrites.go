// The clauses on rewrites: what is left of a run when its personal data is removed.

package storetest

import (
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func rewrites() []clause {
	const replaces = "Commit.Rewrite: Events are the whole history: they replace the seq events of the run, of which nothing is kept"
	return []clause{
		{"a rewrite replaces the whole history", replaces, rewriteReplaces},
		{"a rewritten run grows again", replaces, rewrittenGrows},
		{"a rewrite removes the search keys", "Commit.Rewrite: What the store keeps of the run besides is replaced, too: its search keys", rewriteRemovesKeys},

		{"a rewrite of a history that has grown changes nothing", "RunStore.Append: returns ErrConflict if the history no longer ends at seq", rewriteOfOldHistory},
		{"a rewrite waits for the notices of its run", "RunStore.Append: A commit with Rewrite is refused with NoticePending while a notice of the run is in the queue", rewriteWaitsForNotices},
		{"a rewrite leaves the other runs as they are", replaces, rewriteOfOne},
	}
}

// redacted returns the history without personal data, an hour after its last event.
func (s history) redacted() history {
	events, err := rules.Redact(s.id, s.events, verification.Person{Name: "operator", Identity: "operator#root"}, s.events[len(s.events)-1].At.Add(time.Hour))
	if err != nil || events == nil {
		panic(err) // the histories of these clauses are over
	}
	return history{s.id, events}
}

// rewrites returns the commit that replaces a history.
func (s history) rewrites() store.Commit {
	return store.Commit{Events: s.events, Summary: s.reviewed(), Work: store.AdvanceAt(time.Time{}), Rewrite: true}
}

func whole(n int) history {
	return simple(n).then(time.Second, dispatched(1)).then(time.Second, answered(`{"name":"Asha Rao"}`), completed())
}

// rewritten saves a history and its redaction.
func (t *trial) rewritten(s history) history {
	t.save(ours, s)
	after := s.redacted()
	t.ok("Append of a rewrite", t.store.Append(t.ctx, ours, s.id, len(s.events), after.rewrites()))
	return after
}

func rewriteReplaces(t *trial) {
	after := t.rewritten(whole(1))
	t.holds(ours, after)
	from, err := t.store.Load(t.ctx, ours, after.id, 2)
	t.ok("Load", err)
	same(t, "the events after 2", len(from), len(after.events)-2)
	p := t.list(ours, everything(instant(48*time.Hour)))
	same(t, "the reference id in the list", p.Data[0].ReferenceID, rules.RedactedReference)
	same(t, "the time of the redaction in the list", p.Data[0].RedactedAt, after.events[len(after.events)-1].At)
	t.refusedAppend("at the length before", ours, after, len(after.events)-1)
}

func rewrittenGrows(t *trial) {
	after := t.rewritten(whole(1))
	next := after.then(time.Second, verdict("", rules.DecisionReject))
	t.extend(ours, next, len(after.events))
	t.holds(ours, next)
	again := next.redacted()
	t.ok("Append of another rewrite", t.store.Append(t.ctx, ours, again.id, len(next.events), again.rewrites()))
	t.holds(ours, again)
}

func rewriteRemovesKeys(t *trial) {
	s := whole(1)
	t.ok("Append", t.store.Append(t.ctx, ours, s.id, 0, keyed(s.commit(), 1, 2)))
	after := s.redacted()
	t.ok("Append of a rewrite", t.store.Append(t.ctx, ours, s.id, len(s.events), after.rewrites()))
	for _, n := range []int{1, 2} {
		t.selects(ours, "with a key of before", byKeys(instant(48*time.Hour), n))
	}
}

func rewriteEndsScreening(t *trial) {
	s := screened(1, "a")
	t.save(ours, s)
	other := screened(2, "a")
	t.save(ours, other)
	after := s.redacted()
	t.ok("Append of a rewrite", t.store.Append(t.ctx, ours, s.id, len(s.events), after.rewrites()))
	t.hold(sanctions, "b", time.Hour)
	t.rescreens(sanctions, 2*time.Hour, verification.RunRef{Tenant: ours, Run: other.id})
}

func rewriteOfOldHistory(t *trial) {
	s := whole(1)
	t.save(ours, s)
	old := s.redacted()
	next := s.then(time.Second, verdict("", rules.DecisionReject))
	t.extend(ours, next, len(s.events))
	t.refused("Append of a rewrite", t.store.Append(t.ctx, ours, s.id, len(s.events), old.rewrites()), verification.ErrConflict)
	t.holds(ours, next)
	t.refused("Append of a rewrite of no run", t.store.Append(t.ctx, ours, runID(2), 3, old.rewrites()), verification.ErrConflict)
	t.refused("Append of a rewrite by another tenant", t.store.Append(t.ctx, theirs, s.id, len(next.events), next.redacted().rewrites()), verification.ErrConflict)
	t.holds(ours, next)
}

func rewriteWaitsForNotices(t *trial) {
	s := whole(1)
	t.ok("Append", t.store.Append(t.ctx, ours, s.id, 0, s.announcing()))
	after := s.redacted()
	t.refused("Append of a rewrite", t.store.Append(t.ctx, ours, s.id, len(s.events), after.rewrites()), verification.ErrConflict)
	t.holds(ours, s)
	t.finish(t.takeOne(instant(time.Hour)))
	t.ok("Append of a rewrite after the notice", t.store.Append(t.ctx, ours, s.id, len(s.events), after.rewrites()))
	t.holds(ours, after)
}

func rewriteOfOne(t *trial) {
	other, elsewhere := whole(2), whole(1)
	t.save(ours, other)
	t.save(theirs, elsewhere)
	t.holds(ours, t.rewritten(whole(1)))
	t.holds(ours, other)
	t.holds(theirs, elsewhere)
}
