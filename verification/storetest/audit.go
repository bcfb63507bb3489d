// The clauses on the audit trail.

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

func audits() []clause {
	const (
		adds  = "AuditStore.AppendAudit: "
		lists = "AuditStore.AuditEntries: "
	)
	return []clause{
		{"an entry of the audit trail is returned as it was added", adds + "adds entries", entryIsReturned},
		{
			"a count of the audit trail grows",
			adds + "its Count grows by the Count of the new one, its At is the earlier one and its LastAt the later one, and nothing else changes", countGrows,
		},
		{"the audit trail is listed newest first", lists + "newest first by ID", entriesInOrder},
		{"each filter of the audit trail selects entries", lists + "returns the entries that the query selects", entriesByFilter},
		{"a time selects counts by their last time", "AuditQuery.From: A count is selected if any of its times may be", countsByTime},
		{"a list of the audit trail is continued", "AuditQuery.Before: only entries before the one with this ID", entriesContinued},
		{"two tenants have separate audit trails", "AuditEntry.Tenant: every entry is of one tenant", entriesOfTwoTenants},
		{"an append adds its entries to the audit trail", "Commit.Audit: is added to the audit trail", entriesOfAppend},
		{"a refused append adds nothing to the audit trail", "RunStore.Append: applies the commit c, all or nothing", entriesOfRefusedAppend},
		{"entries with a cancelled context are not added", adds + "adds entries, unless the context is done", cancelledEntries},
	}
}

// entry returns entry number n, which is n minutes after the start, with every field set but Count.
func entry(tenant verification.TenantID, n int) store.AuditEntry {
	at := instant(time.Duration(n)*time.Minute + tick)
	return store.AuditEntry{
		Tenant: tenant, ID: store.AuditID(at, fmt.Sprint(n)), At: at,
		Actor:  verification.Actor{Kind: verification.ActorReviewer, ID: fmt.Sprint("asha ", n%2), Name: "Asha " + oddText, Role: verification.RoleReviewer},
		Action: someActions()[n%3], Run: runID(n % 4), Document: "front " + oddText, Subject: "subject", Detail: "detail",
	}
}

// someActions returns actions that read, and one that does not.
func someActions() []store.AuditAction {
	return []store.AuditAction{store.AuditRunRead, store.AuditVerdictGiven, store.AuditPersonSearched}
}

// counted returns the count of entry number n, whose last time is minutes after the first.
func countOf(n, count, minutes int) store.AuditEntry {
	e := entry(ours, n)
	e.Count, e.LastAt = count, e.At.Add(time.Duration(minutes)*time.Minute)
	return e
}

func (t *trial) audit(entries ...store.AuditEntry) {
	t.ok("AppendAudit", t.store.AppendAudit(t.ctx, entries))
}

// audited ends the clause unless a query selects these entries.
func (t *trial) audited(tenant verification.TenantID, q store.AuditQuery, want ...store.AuditEntry) {
	if q.Limit == 0 {
		q.Limit = store.MaxAuditLimit
	}
	got, err := t.store.AuditEntries(t.ctx, tenant, q)
	t.ok("AuditEntries", err)
	same(t, "the entries of "+shown(q), got, want)
}

// trail adds entries in another order than that of the list, and returns them in its order.
func (t *trial) trail() (all []store.AuditEntry) {
	const n = 25
	for i := range n {
		t.audit(entry(ours, i*7%n)) // 7 has no divisor in common with 25: every number comes once
		all = append(all, entry(ours, n-1-i))
	}
	return all
}

func entryIsReturned(t *trial) {
	bare := store.AuditEntry{Tenant: ours, ID: store.AuditID(instant(0), ""), At: instant(0)}
	t.audited(ours, store.AuditQuery{})
	t.audit(entry(ours, 1), bare)
	t.audit()
	t.audited(ours, store.AuditQuery{}, entry(ours, 1), bare)
}

func countGrows(t *trial) {
	first, other := countOf(1, 3, 2), entry(ours, 2)
	t.audit(first, other)
	more := countOf(1, 4, 5)
	more.Detail, more.Actor.Name = "another", "Another"
	t.audit(more)
	t.audit(other)
	first.Count, first.LastAt = 7, more.LastAt
	t.audited(ours, store.AuditQuery{}, other, first)
	late := countOf(1, 1, 3)
	late.At = late.At.Add(-time.Second)
	t.audit(late)
	first.Count, first.At = 8, late.At
	t.audited(ours, store.AuditQuery{}, other, first)
}

func countsByTime(t *trial) {
	early, late, other := countOf(3, 2, 1), countOf(6, 2, 60), entry(ours, 9)
	t.audit(early, late, other)
	t.audited(ours, store.AuditQuery{From: early.LastAt}, other, late, early)
	t.audited(ours, store.AuditQuery{From: early.LastAt.Add(time.Second)}, other, late)
	t.audited(ours, store.AuditQuery{From: other.At.Add(time.Minute)}, late)
	t.audited(ours, store.AuditQuery{From: other.At.Add(time.Minute), Until: late.At})
	t.audited(ours, store.AuditQuery{From: late.LastAt, Until: late.At.Add(time.Second)}, late)
}

func entriesInOrder(t *trial) {
	t.audited(ours, store.AuditQuery{}, t.trail()...)
}

func entriesByFilter(t *trial) {
	all := t.trail()
	from, until := all[20].At, all[4].At
	for _, q := range []store.AuditQuery{
		{Actor: "asha 1"},
		{Actor: "asha"},
		{Action: someActions()[1]},
		{Run: runID(3)},
		{Changes: true},
		{Changes: true, Run: runID(1), Limit: 2},
		{From: from},
		{Until: until},
		{From: from, Until: until},
		{Actor: "asha 0", Action: someActions()[2], Run: runID(2), From: from, Until: until},
		{Limit: 3, Actor: "asha 1"},
		{Limit: 1, Until: until},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(e store.AuditEntry) bool { return !q.Matches(e) })
		if q.Limit > 0 {
			want = want[:q.Limit]
		}
		t.audited(ours, q, want...)
	}
}

func entriesContinued(t *trial) {
	all := t.trail()
	for _, limit := range []int{1, 7, 24, 25} {
		for _, after := range []int{0, 1, 12, 23, 24} {
			t.audited(ours, store.AuditQuery{Limit: limit, Before: all[after].ID}, all[after+1:min(after+1+limit, len(all))]...)
		}
	}
	t.audited(ours, store.AuditQuery{Before: all[10].ID, Until: all[4].At, Limit: 2}, all[11:13]...)
	t.audited(ours, store.AuditQuery{Before: all[4].ID, Until: all[10].At, Limit: 2}, all[11:13]...)
}

func entriesOfTwoTenants(t *trial) {
	mine, yours := entry(ours, 1), entry(theirs, 1)
	yours.Detail = "yours"
	t.audit(mine, yours)
	t.audited(ours, store.AuditQuery{}, mine)
	t.audited(theirs, store.AuditQuery{}, yours)
}

func entriesOfAppend(t *trial) {
	s := simple(1)
	c := s.commit()
	c.Audit = []store.AuditEntry{entry(ours, 1), entry(ours, 2)}
	t.add(ours, s.id, 0, c)
	t.audited(ours, store.AuditQuery{}, entry(ours, 2), entry(ours, 1))
	longer := s.then(time.Second, completed())
	c = longer.commitAfter(len(s.events))
	c.Audit = []store.AuditEntry{entry(ours, 3)}
	t.add(ours, s.id, len(s.events), c)
	t.holds(ours, longer)
	t.add(ours, s.id, len(longer.events), store.Commit{Summary: longer.summary(), Work: store.DueWork{}, Audit: []store.AuditEntry{entry(ours, 4)}})
	t.add(ours, s.id, len(longer.events), store.Commit{Delete: true, Audit: []store.AuditEntry{entry(ours, 5)}})
	t.gone(longer)
	t.audited(ours, store.AuditQuery{}, entry(ours, 5), entry(ours, 4), entry(ours, 3), entry(ours, 2), entry(ours, 1))
}

func entriesOfRefusedAppend(t *trial) {
	s := simple(1).then(time.Second, completed())
	t.save(ours, s)
	for i, c := range []store.Commit{simple(1).then(time.Second, completed()).commitAfter(1), {Summary: s.summary(), Work: store.DueWork{}}, s.deletes()} {
		c.Audit = []store.AuditEntry{entry(ours, i)}
		t.refused("Append to an earlier length", t.store.Append(t.ctx, ours, s.id, len(s.events)-1, c), verification.ErrConflict)
	}
	t.audited(ours, store.AuditQuery{})
}

func cancelledEntries(t *trial) {
	if err := t.store.AppendAudit(cancelled(t.ctx), []store.AuditEntry{entry(ours, 1)}); err == nil {
		t.failf("AppendAudit with a cancelled context succeeded, want an error")
	}
	t.audited(ours, store.AuditQuery{})
}
