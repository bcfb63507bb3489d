// The clauses on retention: runs in the order of their start, marks, and old records.

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func retention() []clause {
	const started, forget = "RetentionStore.StartedRuns: ", "RetentionStore.Forget: removes what is older than the ages: "
	return []clause{
		{"started runs come in the order of their start", started + "in the order of their start, ties by id", startedInOrder},
		{"started runs continue after a position", started + "that follow a position; at most limit", startedAfterPosition},
		{"started runs began before the time", started + "started before a time", startedBefore},
		{"started runs are of one workflow of one tenant", started + "the runs of a workflow", startedOfOne},
		{
			"a workflow without a mark has the mark of the beginning",
			"Tables.RetentionMark: one without positions if none was saved", noMark,
		},
		{"a mark is returned as it was saved last", "Tables.SaveRetentionMark: creates or replaces a mark", markIsReturned},
		{"old deliveries are forgotten", forget + "Ages.Deliveries: whose last attempt was earlier, unless another attempt is pending", oldDeliveries},
		{"old measures are forgotten", forget + "Ages.Measures: of the days before the day of this time", oldMeasures},
		{"old idempotency keys are forgotten", forget + "Ages.Keys: idempotency keys that were claimed earlier", oldKeys},
		{"old entries of the audit trail are forgotten", forget + "Ages.Audit: entries of the audit trail that are older, but those of AuditReads", oldEntries},
		{"old reads in the audit trail are forgotten", forget + "Ages.Reads: entries of AuditReads whose last time was earlier", oldReads},
		{"what is forgotten at once is bounded", "RetentionStore.Forget: at most limit records at once, and returns how many it removed", forgetsAtMost},
	}
}

// startedRuns saves nine runs, three of which started at each of three times, and returns them in the order of StartedRuns.
func (t *trial) startedRuns() (all []rules.Summary) {
	facts := []rules.Fact{completed(), asked("review"), dispatched(1)}
	for k := range 9 {
		n := k * 4 % 9 // each number comes once
		s := begin(n+1, instant(time.Duration(n/3)*time.Hour), started()).then(time.Second, facts[n%3])
		t.save(ours, s)
		all = append(all, s.summary())
	}
	slices.SortFunc(all, func(a, b rules.Summary) int {
		if store.Newer(a, b) {
			return 1
		}
		return -1
	})
	return all
}

func positionOf(s rules.Summary) store.StartedPosition {
	return store.StartedPosition{StartedAt: s.StartedAt, Run: s.ID}
}

// starts ends the clause unless StartedRuns returns the runs.
func (t *trial) starts(after store.StartedPosition, before time.Time, limit int, want ...rules.Summary) {
	got, err := t.store.StartedRuns(t.ctx, ours, onboarding, after, before, limit)
	t.ok("StartedRuns", err)
	if len(got) == 0 && len(want) == 0 {
		return
	}
	same(t, fmt.Sprintf("the runs after %v before %s", after, before), got, want)
}

func startedInOrder(t *trial) {
	all := t.startedRuns()
	t.starts(store.StartedPosition{}, instant(24*time.Hour), 100, all...)
}

func startedAfterPosition(t *trial) {
	all := t.startedRuns()
	for i := range all {
		t.starts(positionOf(all[i]), instant(24*time.Hour), 4, all[i+1:min(i+5, len(all))]...)
	}
	t.starts(store.StartedPosition{StartedAt: instant(time.Minute)}, instant(24*time.Hour), 100, all[3:]...)
}

func startedBefore(t *trial) {
	all := t.startedRuns()
	t.starts(store.StartedPosition{}, instant(2*time.Hour), 100, all[:6]...)
	t.starts(store.StartedPosition{}, instant(2*time.Hour+tick), 100, all...)
	t.starts(store.StartedPosition{}, instant(0), 100)
}

func startedOfOne(t *trial) {
	all := t.startedRuns()
	other := started()
	other.Workflow = renewal
	t.save(ours, begin(20, instant(0), other))
	t.save(theirs, simple(21))
	t.starts(store.StartedPosition{}, instant(24*time.Hour), 100, all...)
}

// markOf returns a mark with every field set.
func markOf(t verification.TenantID, w verification.WorkflowID, n int) store.RetentionMark {
	at := func(i int) store.StartedPosition {
		return store.StartedPosition{StartedAt: instant(time.Duration(n+i) * time.Hour), Run: runID(n + i)}
	}
	return store.RetentionMark{
		Tenant: t, Workflow: w, Redacted: at(1), Documents: at(2), Deleted: at(3), Keyed: at(4), KeyForm: n, KeysDone: n > 1,
		Policy: verification.Retention{KeepDays: n, RedactAfterDays: n + 1, DeleteAfterDays: n + 3, DocumentsAfterDays: n + 2, From: verification.RetentionFromStart},
		Counted: []store.CountedPolicy{
			{Policy: verification.Retention{KeepDays: n + 1, From: verification.RetentionFromEnd}},
			{Policy: verification.Retention{RedactAfterDays: n}, Since: instant(time.Duration(n) * time.Minute)},
		},
	}
}

func (t *trial) mark(m store.RetentionMark) {
	t.ok("SaveRetentionMark", t.tables.SaveRetentionMark(t.ctx, m))
}

func (t *trial) hasMark(want store.RetentionMark) {
	got, err := t.tables.RetentionMark(t.ctx, want.Tenant, want.Workflow)
	t.ok("RetentionMark", err)
	same(t, "the mark", got, want)
}

func noMark(t *trial) {
	t.mark(markOf(ours, onboarding, 1))
	t.hasMark(store.RetentionMark{Tenant: ours, Workflow: renewal})
	t.hasMark(store.RetentionMark{Tenant: theirs, Workflow: onboarding})
}

func markIsReturned(t *trial) {
	t.mark(markOf(ours, onboarding, 1))
	t.hasMark(markOf(ours, onboarding, 1))
	later := markOf(ours, onboarding, 5)
	later.Documents = store.StartedPosition{}
	t.mark(later)
	t.hasMark(later)
}

// forgets ends the clause unless Forget removes so many records.
func (t *trial) forgets(before store.Ages, limit, want int) {
	n, err := t.store.Forget(t.ctx, before, limit)
	t.ok("Forget", err)
	same(t, "the number of removed records", n, want)
}

func oldDeliveries(t *trial) {
	t.saveTenant(tenant(ours))
	t.runs(ours, 4)
	old, failed := delivery(1, rules.DeliveryDelivered, instant(0)), delivery(2, rules.DeliveryFailed, instant(time.Hour))
	pending, young := delivery(3, rules.DeliveryPending, instant(0)), delivery(4, rules.DeliveryDelivered, instant(2*time.Hour))
	t.deliver(ours, old, failed, pending, young)
	t.forgets(store.Ages{Measures: instant(0), Keys: instant(48 * time.Hour), Audit: instant(0)}, 100, 0)
	t.forgets(store.Ages{Deliveries: young.LastAt}, 100, 2)
	t.lists(ours, "", young, pending)
	t.hasNoDelivery(ours, old.Run)
	t.hasNoDelivery(ours, failed.Run)
}

func oldMeasures(t *trial) {
	first, second := whole(1), begin(2, instant(24*time.Hour), started()).then(time.Second, completed())
	t.save(ours, first, second)
	days := func(q store.MeasureQuery) store.MeasureQuery {
		q.Names = measureNames()
		return q
	}
	t.forgets(store.Ages{Measures: instant(0), Deliveries: instant(0)}, 1000, 0)
	n, err := t.store.Forget(t.ctx, store.Ages{Measures: instant(24 * time.Hour)}, 1000)
	t.ok("Forget", err)
	if n == 0 {
		t.failf("Forget has removed no measures of the first day")
	}
	t.measured(ours, days(onDays(0, 0)))
	t.measured(ours, days(onDays(1, 1)), second)
	ofWorkflow := days(onDays(0, 1))
	ofWorkflow.Workflow = onboarding
	got, err := t.store.Measures(t.ctx, ours, ofWorkflow)
	t.ok("Measures", err)
	for _, m := range got {
		if m.Counts[0] != 0 {
			t.failf("the measure %s of the first day is %d, want none", shown(m.MeasureKey), m.Counts[0])
		}
	}
}

func oldKeys(t *trial) {
	old, young := claim("old", 1, instant(0)), claim("young", 2, instant(time.Hour))
	t.claims(ours, old, old)
	t.claims(ours, young, young)
	t.forgets(store.Ages{Keys: young.At, Deliveries: instant(48 * time.Hour)}, 100, 1)
	t.finds(ours, old.IdempotencyKey, old.At, nil)
	t.finds(ours, young.IdempotencyKey, young.At, &young)
}

func oldEntries(t *trial) {
	t.saveTenant(tenant(ours))
	t.saveTenant(tenant(theirs))
	t.audit(entry(ours, 1), entry(ours, 2), entry(ours, 4), entry(ours, 7), entry(theirs, 1), entry(theirs, 7))
	t.forgets(store.Ages{Keys: instant(48 * time.Hour), Deliveries: instant(48 * time.Hour)}, 100, 0)
	t.forgets(store.Ages{Audit: entry(ours, 7).At}, 2, 2)
	t.forgets(store.Ages{Audit: entry(ours, 7).At}, 2, 1)
	t.audited(ours, store.AuditQuery{}, entry(ours, 7), entry(ours, 2))
	t.audited(theirs, store.AuditQuery{}, entry(theirs, 7))
	t.forgets(store.Ages{Audit: entry(ours, 7).At}, 2, 0)
}

func oldReads(t *trial) {
	t.saveTenant(tenant(ours))
	t.saveTenant(tenant(theirs))
	again, once := countOf(3, 5, 60), countOf(6, 2, 1)
	t.audit(entry(ours, 1), entry(ours, 2), again, entry(ours, 5), once, entry(ours, 12), entry(theirs, 2), entry(theirs, 4))
	before := store.Ages{Reads: entry(ours, 9).At}
	t.forgets(before, 3, 3)
	t.forgets(before, 3, 1)
	t.forgets(before, 3, 0)
	t.audited(ours, store.AuditQuery{}, entry(ours, 12), again, entry(ours, 1))
	t.audited(theirs, store.AuditQuery{}, entry(theirs, 4))
	t.forgets(store.Ages{Reads: again.LastAt.Add(time.Second)}, 100, 2)
	t.audited(ours, store.AuditQuery{}, entry(ours, 1))
}

func forgetsAtMost(t *trial) {
	t.saveTenant(tenant(ours))
	t.runs(ours, 5)
	for n := range 5 {
		t.deliver(ours, delivery(n+1, rules.DeliveryDelivered, instant(0)))
		c := claim(fmt.Sprint("key ", n), n, instant(0))
		t.claims(ours, c, c)
	}
	all := store.Ages{Deliveries: instant(time.Hour), Keys: instant(time.Hour)}
	for _, want := range []int{3, 3, 3, 1, 0} {
		t.forgets(all, 3, want)
	}
}
