// The clauses on copies: records are read and saved.

package storetest

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func copies() []clause {
	const records, save = "CopyStore.Records: ", "CopyStore.SaveRecords: "
	return []clause{
		{"a deleted run has no deliveries", "Commit.Delete: removes the run with all that the store keeps of it: its deliveries", deletedHasNoDelivery},
		{"records have everything that was saved", records + "yields the records of a kind", recordsOfCalls},
		{"records are in the order of their keys", records + "in the order of their keys", recordsInOrder},
		{"a store reads what saved records have", "CopyStore: A store that has the records of another one reads the same", savedRecordsAreRead},
		{"saving the records of a store changes nothing", "CopyStore: A store that has the records of another one reads the same", recordsSavedAgain},
		{"a record replaces the one with its key", save + "each in place of the one with its kind and key", recordReplaced},
		{"times of records have microseconds", "Store: keeps times to the microsecond", timesOfRecords},
		{"a saved run has no valid lease", save + "No lease of a saved run is valid any more", savedRunWithoutLease},
		{"records of a run queue no other work", "RunRecord.Work: the work of the run", savedRunQueuesNothing},
		{"an unfinished copy is remembered until it is complete", "Tables.UnfinishedCopy: returns what SetUnfinishedCopy was given last; empty at first", unfinishedCopy},
	}
}

// records returns the records of a kind.
func (t *trial) records(kind store.RecordKind) (all []store.Record) {
	for r, err := range t.store.Records(t.ctx, kind) {
		t.ok(fmt.Sprintf("Records(%s)", kind), err)
		all = append(all, r)
	}
	return all
}

func (t *trial) saveRecords(records ...store.Record) {
	t.ok("SaveRecords", t.store.SaveRecords(t.ctx, records))
}

// recordOf returns the record of a run without anything that its history does not have.
func recordOf(tenant verification.TenantID, s history) store.RunRecord {
	return store.RunRecord{Run: s.ref(tenant), Events: s.events, Summary: s.reviewed()}
}

// pieceOf returns work that is due at a time after the start.
func pieceOf(key store.WorkKey, due time.Duration) store.WorkRecord {
	return store.WorkRecord{WorkKey: key, Due: instant(due)}
}

func recordsOfCalls(t *trial) {
	t.saveTenant(tenant(ours))
	t.saveAccount(account("acme", ours))
	w, v := aWorkflow(1), version(1)
	t.saveWorkflow(ours, w, &v)
	s := simple(1).then(time.Second, asked("review"))
	c := keyed(s.commit(), 2, 1)
	c.Work[advanceKey()], c.Work[store.WorkKey{Kind: store.WorkAnnounce, Seq: 2}] = instant(time.Minute), instant(time.Hour)
	t.add(ours, s.id, 0, c)
	held := t.claim(s.id, "asha", instant(time.Minute))
	t.postpone(t.takeOne(instant(time.Minute)), instant(2*time.Minute))
	left := t.takeOne(instant(2 * time.Minute))
	left.LeftAt = instant(2 * time.Minute)
	t.releaseWork(instant(3*time.Minute), left)
	t.takeOne(instant(3 * time.Minute)) // the lease stays
	done := screened(2, "1")
	t.save(ours, done)
	request := claim("key", 1, instant(0))
	t.claims(ours, request, request)
	t.settleKey(ours, settledAs(request))
	sent := delivery(1, rules.DeliveryPending, instant(0))
	t.deliver(ours, sent)
	counted := entry(ours, 2)
	counted.Count = 2
	t.audit(counted, entry(ours, 1))
	pass := t.hold(sanctions, "1", 0)
	mark := markOf(ours, onboarding, 1)
	t.mark(mark)
	known := store.LedgerMark{ID: ledgerID, Last: 3, Applied: 2}
	owed := verification.Erasure{Ledger: ledgerID, Number: 3, Through: 4, Tenant: ours, Run: s.id, Kind: verification.ErasureHeld, At: instant(tick), StartedAt: instant(0)}
	t.ledgerMark(store.LedgerMark{}, known, owed)

	run, other := recordOf(ours, s), recordOf(ours, done)
	run.Claim, run.Keys = held, []store.SearchKey{key(1), key(2)}
	leased := pieceOf(advanceKey(), 3*time.Minute)
	leased.Attempt, leased.Lost, leased.LeftAt, leased.Leased = 1, 0, instant(2*time.Minute), true
	for _, r := range t.records(store.RecordRun) {
		if r, _ := r.(store.RunRecord); r.Run == run.Run && len(r.Work) > 0 && !r.Work[0].Due.Before(leased.Due) && !r.Work[0].Due.After(leased.Due.Add(lease)) {
			leased.Due = r.Work[0].Due
		}
	}
	run.Work = []store.WorkRecord{leased, pieceOf(store.WorkKey{Kind: store.WorkAnnounce, Seq: 2}, time.Hour)}
	other.Screened = []rules.ScreenedList{{List: sanctions, Version: "1"}}
	for kind, want := range map[store.RecordKind][]store.Record{
		store.RecordTenant:         {store.TenantRecord{Tenant: tenant(ours)}},
		store.RecordAccount:        {store.AccountRecord{Account: account("acme", ours)}},
		store.RecordWorkflow:       {store.WorkflowRecord{Tenant: ours, Workflow: w, Versions: []workflow.Version{v}}},
		store.RecordRun:            {run, other},
		store.RecordIdempotencyKey: {store.IdempotencyKeyRecord{Tenant: ours, Request: settledAs(request)}},
		store.RecordDelivery:       {store.DeliveryRecord{Tenant: ours, Delivery: sent}},
		store.RecordPass:           {store.PassRecord{Pass: pass}},
		store.RecordRetentionMark:  {store.RetentionMarkRecord{Mark: mark}},
		store.RecordAudit:          {store.AuditRecord{Entry: entry(ours, 1)}, store.AuditRecord{Entry: counted}},
		store.RecordLedger:         {store.LedgerRecord{Mark: known, Owed: []verification.Erasure{owed}}},
	} {
		same(t, "the "+string(kind), t.records(kind), want)
	}
	sums := map[store.Measure]int{}
	for _, h := range []history{s, done} {
		for _, m := range h.commit().Measures {
			n := m.Count
			m.Count = 0
			sums[m] += n
		}
	}
	for _, r := range t.records(store.RecordMeasure) {
		m, _ := r.(store.MeasureRecord)
		n := m.Count
		m.Count = 0
		if same(t, "a measure", m.Workflow, onboarding); sums[m.Measure] != n {
			t.failf("the measure %s is %d, want %d", shown(m), n, sums[m.Measure])
		}
		delete(sums, m.Measure)
	}
	if len(sums) > 0 {
		t.failf("Records have no %v", sums)
	}
}

func recordsInOrder(t *trial) {
	kinds := map[store.RecordKind]int{}
	for i, tenantID := range []verification.TenantID{theirs, ours} {
		t.saveTenant(tenant(tenantID))
		for n := 3; n > 0; n-- {
			t.saveAccount(account(fmt.Sprint("client ", n+3*i), tenantID))
			t.saveWorkflow(tenantID, aWorkflow(n), nil)
			t.mark(markOf(tenantID, aWorkflow(n).ID, n))
			s := sampleRuns()[n+1]
			t.save(tenantID, s)
			t.claims(tenantID, claim(fmt.Sprint("key ", n), n, instant(0)), claim(fmt.Sprint("key ", n), n, instant(0)))
			for _, seq := range []int{10, 0, 9} {
				d := delivery(n, rules.DeliveryPending, instant(0))
				d.Seq = seq
				t.deliver(tenantID, d)
			}
			t.audit(entry(tenantID, n))
		}
		t.hold(fmt.Sprint("list ", 2-i), "1", 0)
	}
	t.ledgerMark(store.LedgerMark{}, store.LedgerMark{ID: ledgerID})
	for _, kind := range store.RecordKinds() {
		last := ""
		for _, r := range t.records(kind) {
			if kinds[kind]++; store.KeyOf(r) <= last || store.KindOf(r) != kind {
				t.failf("the %s %q comes after %q, want the order of the keys", kind, store.KeyOf(r), last)
			}
			last = store.KeyOf(r)
		}
		if kinds[kind] == 0 { // the clauses must save one of each kind
			t.failf("Records yields no %s", kind)
		}
	}
	kinds[store.RecordMeasure] = 0
	same(t, "the number of records", kinds, map[store.RecordKind]int{
		store.RecordTenant: 2, store.RecordAccount: 6, store.RecordWorkflow: 6, store.RecordRun: 6, store.RecordMeasure: 0,
		store.RecordIdempotencyKey: 6, store.RecordDelivery: 18, store.RecordPass: 2, store.RecordRetentionMark: 6, store.RecordAudit: 6,
		store.RecordLedger: 1,
	})
}

// measureOn returns a record of a measure.
func measureOn(w verification.WorkflowID, name store.MeasureName, version, count int) store.MeasureRecord {
	return store.MeasureRecord{Tenant: ours, Workflow: w, Measure: store.Measure{
		MeasureKey: store.MeasureKey{Name: name, Key: "key", Version: version}, Day: today(), Count: count,
	}}
}

// counts ends the clause unless the sum of a measure of today is a number.
func (t *trial) counts(w verification.WorkflowID, name store.MeasureName, want int) {
	q := onDays(0, 0)
	q.Workflow, q.Names = w, []store.MeasureName{name}
	got, err := t.store.Measures(t.ctx, ours, q)
	t.ok("Measures", err)
	n := 0
	for _, m := range got {
		n += m.Counts[0]
	}
	same(t, fmt.Sprintf("the measure %s of workflow %q", name, w), n, want)
}

func savedRecordsAreRead(t *trial) {
	w := aWorkflow(1)
	w.Revision = 7
	versions := []workflow.Version{version(1), version(2)}
	s := simple(1).then(time.Second, asked("review"))
	run, claimed := recordOf(ours, s), claimOf("asha", instant(time.Minute))
	run.Claim, run.Keys = claimed, []store.SearchKey{key(1), key(2)}
	piece := pieceOf(advanceKey(), time.Minute)
	piece.Attempt, piece.Lost, piece.Alone, piece.LeftAt, piece.Leased = 3, 2, 1, instant(time.Second), true
	run.Work = []store.WorkRecord{piece, pieceOf(expireKey(), time.Hour)}
	done := recordOf(ours, screened(2, "1"))
	done.Screened = []rules.ScreenedList{{List: peps, Version: ""}, {List: sanctions, Version: "1"}}
	done.Work = []store.WorkRecord{pieceOf(rescreenKey(peps), time.Hour)}
	request, sent := settledAs(claim("key", 1, instant(0))), delivery(1, rules.DeliveryFailed, instant(0))
	sent.Seq = 4
	pass := store.RescreenPass{List: sanctions, Version: "1", Holder: host1, HeldUntil: instant(0), StartedAt: instant(-time.Hour), EndedAt: instant(-time.Minute), Runs: 3}
	owed := *erasure(s, verification.ErasureHeld)
	owed.Ledger, owed.Number = ledgerID, 9
	t.saveRecords(
		store.TenantRecord{Tenant: tenant(ours)}, store.AccountRecord{Account: account("acme", ours)},
		store.WorkflowRecord{Tenant: ours, Workflow: w, Versions: versions}, run, done,
		measureOn(onboarding, store.MeasureStarted, 0, 3), measureOn(renewal, store.MeasureStarted, 0, 4), measureOn(onboarding, store.MeasureTransition, 2, 5),
		store.IdempotencyKeyRecord{Tenant: ours, Request: request}, store.DeliveryRecord{Tenant: ours, Delivery: sent}, store.PassRecord{Pass: pass},
		store.AuditRecord{Entry: countOf(1, 2, 3)},
		store.LedgerRecord{Mark: store.LedgerMark{ID: ledgerID, Last: 9, Applied: 8}, Owed: []verification.Erasure{owed}},
	)
	t.hasLedgerMark(store.LedgerMark{ID: ledgerID, Last: 9, Applied: 8})
	t.hasTenant(tenant(ours))
	t.hasLogo(ours, tenant(ours).Logo)
	t.hasAccount(account("acme", ours))
	t.hasWorkflow(ours, w)
	for _, v := range versions {
		t.hasVersion(ours, w.ID, v)
	}
	t.holds(ours, s)
	t.holds(ours, screened(2, "1"))
	t.selects(ours, "both keys", byKeys(instant(0), 1, 2), s)
	t.claimed(s.id, instant(2*time.Minute), claimed)
	t.counts(onboarding, store.MeasureStarted, 3)
	t.counts("", store.MeasureStarted, 7)
	t.counts(onboarding, store.MeasureTransition, 5)
	t.finds(ours, request.IdempotencyKey, instant(0), &request)
	t.hasDelivery(ours, sent)
	t.passesAre(pass)
	t.audited(ours, store.AuditQuery{}, countOf(1, 2, 3))
	work := t.takeOne(instant(time.Minute))
	want := store.Work{
		WorkKey: advanceKey(), RunRef: s.ref(ours), Workflow: onboarding, Attempt: 3, Lost: 3, Alone: 1,
		LeftAt: instant(time.Second), Lease: work.Lease,
	}
	same(t, "the work", work, want)
	t.expires(instant(time.Hour), s.ref(ours))
	t.rescreens(sanctions, 2*time.Hour)
	t.rescreens(peps, 2*time.Hour, done.Run)
	t.pass(sanctions, "2", 2*time.Hour, 1)
	t.rescreens(sanctions, 2*time.Hour, done.Run)
	t.pass(peps, "2", 2*time.Hour, 1)
}

func recordsSavedAgain(t *trial) {
	for i, f := range everyFact() {
		s := simple(100 + i)
		if _, starts := f.(rules.Started); starts {
			s.events = nil
		}
		t.save(ours, s.at(instant(time.Second), f))
	}
	t.save(theirs, sampleRuns()...)
	t.save(ours, reviewHistories()...)
	counted := entry(ours, 1)
	counted.Count = 3
	t.audit(counted)
	t.ledgerMark(store.LedgerMark{}, store.LedgerMark{ID: ledgerID, Last: 9, Applied: 8})
	for _, kind := range store.RecordKinds() {
		before := t.records(kind)
		t.saveRecords(before...)
		same(t, "the "+string(kind)+" that were saved again", t.records(kind), before)
	}
}

func recordReplaced(t *trial) {
	run := recordOf(ours, simple(1).then(time.Second, asked("review")))
	run.Claim, run.Keys = claimOf("asha", instant(0)), []store.SearchKey{key(1)}
	run.Screened = []rules.ScreenedList{{List: sanctions, Version: "1"}}
	run.Work = []store.WorkRecord{pieceOf(advanceKey(), 0), pieceOf(store.WorkKey{Kind: store.WorkAnnounce, Seq: 1}, 0)}
	w, counted := aWorkflow(1), entry(ours, 1)
	counted.Count = 3
	t.saveRecords(run, measureOn(onboarding, store.MeasureStarted, 0, 3), store.WorkflowRecord{Tenant: ours, Workflow: w}, store.AuditRecord{Entry: counted})
	ended := simple(1).then(time.Minute, completed())
	next := recordOf(ours, ended)
	next.Work = []store.WorkRecord{pieceOf(advanceKey(), time.Hour)}
	w.Revision, w.Name = 5, "Another"
	t.saveRecords(next, measureOn(onboarding, store.MeasureStarted, 0, 5), store.WorkflowRecord{Tenant: ours, Workflow: w, Versions: []workflow.Version{version(1)}}, store.AuditRecord{Entry: counted})
	t.audited(ours, store.AuditQuery{}, counted)
	t.holds(ours, ended)
	same(t, "the record", t.records(store.RecordRun), []store.Record{next})
	t.queues(nil, wholeQueue(instant(0)))
	t.selects(ours, "the key of before", byKeys(instant(0), 1))
	t.takeNone(instant(time.Minute))
	t.pass(sanctions, "2", 0, 0)
	t.counts(onboarding, store.MeasureStarted, 5)
	t.counts("", store.MeasureStarted, 5)
	t.hasWorkflow(ours, w)
	t.hasVersion(ours, w.ID, version(1))
}

func timesOfRecords(t *trial) {
	records := func(later time.Duration) []store.Record { // but runs, marks and owed entries: the rules and the engine truncate their times
		at := func(after time.Duration) time.Time { return instant(after).Add(later) }
		a, w, v, e := account("acme", ours), aWorkflow(1), version(1), countOf(3, 2, 5)
		a.PreviousUntil, w.CreatedAt, v.CreatedAt, e.At, e.LastAt = at(0), at(0), at(0), e.At.Add(later), e.LastAt.Add(later)
		return []store.Record{
			store.AccountRecord{Account: a},
			store.AuditRecord{Entry: e},
			store.IdempotencyKeyRecord{Tenant: ours, Request: claim("key", 1, at(0))},
			store.WorkflowRecord{Tenant: ours, Workflow: w, Versions: []workflow.Version{v}},
			store.DeliveryRecord{Tenant: ours, Delivery: delivery(1, rules.DeliveryPending, at(0))},
			store.PassRecord{Pass: store.RescreenPass{List: sanctions, Version: "1", Holder: host1, HeldUntil: at(0), StartedAt: at(-time.Hour), EndedAt: at(-time.Minute)}},
		}
	}
	t.saveRecords(records(tick - time.Nanosecond)...)
	for _, want := range records(0) {
		same(t, "the "+string(store.KindOf(want)), t.records(store.KindOf(want)), []store.Record{want})
	}
	again, _ := records(tick - time.Nanosecond)[1].(store.AuditRecord)
	t.audit(again.Entry)
	t.audited(ours, store.AuditQuery{}, countOf(3, 4, 5))
}

func savedRunWithoutLease(t *trial) {
	s := t.start(ours, 1, instant(0))
	w := t.takeOne(instant(0))
	t.saveRecords(t.records(store.RecordRun)...)
	t.finish(w)
	if again := t.takeOne(instant(time.Hour)); again.RunRef != s.ref(ours) || again.Lost != 1 {
		t.failf("Take = %s after its lease, want the work with one lost lease", shown(again))
	}
}

func savedRunQueuesNothing(t *trial) {
	t.pass(sanctions, "2", 0, 0)
	run := recordOf(ours, screened(1, "1"))
	run.Screened = []rules.ScreenedList{{List: sanctions, Version: "1"}}
	t.saveRecords(run)
	t.rescreens(sanctions, time.Hour)
}

func unfinishedCopy(t *trial) {
	is := func(want string) {
		got, err := t.tables.UnfinishedCopy(t.ctx)
		t.ok("UnfinishedCopy", err)
		same(t, "the unfinished copy", got, want)
	}
	is("")
	for _, source := range []string{"/var/lib/verifyd", "postgres://db:5432/verifyd", ""} {
		t.ok("SetUnfinishedCopy", t.tables.SetUnfinishedCopy(t.ctx, source))
		is(source)
	}
}
