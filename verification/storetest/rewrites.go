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
		{"a rewrite restricts a run, and the next one frees it", replaces + ": summary, search keys and lists", rewriteRestricts},
		{"restricted runs are listed", "RunQuery.Restricted: selects, of the runs with rules.RedactedReference as ReferenceID, those that are restricted", restrictedAreListed},
		{"a restricted run keeps the time through a verdict", "Commit.Rewrite: No other commit changes Summary.RestrictedAt", restrictedStays},

		{"a rewrite of a history that has grown changes nothing", "RunStore.Append: returns ErrConflict if the history no longer ends at seq", rewriteOfOldHistory},
		{"a rewrite waits for the notices of its run", "RunStore.Append: A commit with Rewrite is refused with NoticePending while a notice of the run is in the queue", rewriteWaitsForNotices},
		{"a rewrite queues a notice of its own", "RunStore.Append: A notice that a rewrite itself queues does not count", rewriteQueuesNotice},
		{"a rewrite leaves the other runs as they are", replaces, rewriteOfOne},
	}
}

func operator() verification.Person {
	return verification.Person{Name: "operator", Identity: "operator#root"}
}

// redacted returns the history without personal data, an hour after its last event.
func (s history) redacted() history {
	events, err := rules.Redact(s.id, s.events, "", operator(), s.events[len(s.events)-1].At.Add(time.Hour))
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

// restricted returns the history of a run that is restricted, and what is shown of it.
func (s history) restricted() (whole, shown history) {
	events, err := rules.Restrict(s.id, s.events, "contested", operator(), s.events[len(s.events)-1].At.Add(time.Hour))
	if err != nil || events == nil {
		panic(err) // the histories of these clauses are over
	}
	return history{s.id, events}, history{s.id, rules.Shown(events)}
}

// restricts returns the commit that restricts a run.
func (s history) restricts() (history, store.Commit) {
	whole, shown := s.restricted()
	c := whole.rewrites()
	c.Summary = shown.reviewed()
	return whole, c
}

func rewriteRestricts(t *trial) {
	s := screened(1, "a")
	c := keyed(s.commit(), 1, 2)
	c.Screened = rules.Fold(s.id, s.events).ScreenedLists()
	t.ok("Append", t.store.Append(t.ctx, ours, s.id, 0, c))
	whole, c := s.restricts()
	t.ok("Append of a restriction", t.store.Append(t.ctx, ours, s.id, len(s.events), c))
	events, err := t.store.Load(t.ctx, ours, s.id, 0)
	t.ok("Load", err)
	same(t, "the history of a restricted run", events, whole.events)
	p := t.list(ours, everything(instant(48*time.Hour)))
	same(t, "the summary of a restricted run", p.Data, []rules.Summary{c.Summary})
	t.selects(ours, "with a key of before", byKeys(instant(48*time.Hour), 1))
	t.hold(sanctions, "b", time.Hour)
	t.rescreens(sanctions, 2*time.Hour)

	lifted, err := rules.LiftRestriction(s.id, whole.events, "settled", operator(), instant(3*time.Hour))
	t.ok("LiftRestriction", err)
	free := history{s.id, lifted}
	c = keyed(free.rewrites(), 2, 3)
	c.Screened = rules.Fold(s.id, lifted).ScreenedLists()
	t.ok("Append of the end of a restriction", t.store.Append(t.ctx, ours, s.id, len(whole.events), c))
	t.holds(ours, free)
	t.selects(ours, "with a key of before", byKeys(instant(48*time.Hour), 1))
	t.selects(ours, "with both keys", byKeys(instant(48*time.Hour), 2, 3), free)
	t.rescreens(sanctions, 4*time.Hour, verification.RunRef{Tenant: ours, Run: s.id})
}

func restrictedAreListed(t *trial) {
	s, redacted := whole(1), screened(2, "a")
	t.save(ours, s)
	t.save(ours, redacted)
	_, c := s.restricts()
	t.ok("Append of a restriction", t.store.Append(t.ctx, ours, s.id, len(s.events), c))
	t.ok("Append of a redaction", t.store.Append(t.ctx, ours, redacted.id, len(redacted.events), redacted.redacted().rewrites()))
	q := everything(instant(48 * time.Hour))
	q.ReferenceID = rules.RedactedReference
	same(t, "the runs without a reference id of their own", len(t.list(ours, q).Data), 2)
	q.Restricted = true
	p := t.list(ours, q)
	same(t, "the restricted runs", p.Data, []rules.Summary{c.Summary})
	same(t, "their total", p.Total, 1)
}

func restrictedStays(t *trial) {
	s := whole(1)
	t.save(ours, s)
	restricted, c := s.restricts()
	t.ok("Append of a restriction", t.store.Append(t.ctx, ours, s.id, len(s.events), c))
	before := rules.Fold(s.id, rules.Shown(restricted.events))
	next := restricted.then(time.Second, verdict("", rules.DecisionReject))
	after := rules.Fold(s.id, rules.Shown(next.events))
	t.ok("Append of a verdict", t.store.Append(t.ctx, ours, s.id, before.Seq, store.NewCommit(before, after, next.events[before.Seq:], time.UTC)))
	p := t.list(ours, everything(instant(48*time.Hour)))
	same(t, "the summary after a verdict", p.Data, []rules.Summary{after.Summary()})
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

func rewriteQueuesNotice(t *trial) {
	s := whole(1)
	t.save(ours, s)
	after := s.redacted()
	c := after.rewrites()
	c.Work[store.WorkKey{Kind: store.WorkAnnounce, Seq: len(after.events)}] = instant(time.Hour)
	t.ok("Append of a rewrite with a notice", t.store.Append(t.ctx, ours, s.id, len(s.events), c))
	t.holds(ours, after)
	w := t.takeOne(instant(2 * time.Hour))
	same(t, "the work in the queue", w.WorkKey, store.WorkKey{Kind: store.WorkAnnounce, Seq: len(after.events)})
	next := after.then(time.Second, verdict("", rules.DecisionReject))
	t.extend(ours, next, len(after.events))
	again := next.redacted()
	t.refused("Append of the next rewrite", t.store.Append(t.ctx, ours, s.id, len(next.events), again.rewrites()), verification.ErrConflict)
	t.finish(w)
	t.ok("Append of the next rewrite after the notice", t.store.Append(t.ctx, ours, s.id, len(next.events), again.rewrites()))
}

func rewriteOfOne(t *trial) {
	other, elsewhere := whole(2), whole(1)
	t.save(ours, other)
	t.save(theirs, elsewhere)
	t.holds(ours, t.rewritten(whole(1)))
	t.holds(ours, other)
	t.holds(theirs, elsewhere)
}
