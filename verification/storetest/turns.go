// The clauses on how the work queue shares its work: tenants take turns.

package storetest

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Turns are the clauses on whose work Take hands out.
func Turns() []Clause {
	const request = "verification.TakeRequest: "
	return []Clause{
		clause("tenants take turns, however early the work of one of them is due",
			request+"each is given its first piece before any is given its second",
			tenantsTakeTurns),
		clause("the turns go on after the tenant that was served last",
			request+"the turns go on with the tenants whose ids are higher, and then start again from the lowest",
			turnsGoOn),
		clause("a tenant is given no more than its share",
			request+"MaxPerTenant bounds the pieces of each tenant",
			tenantShare),
		clause("tenants that are excepted are given nothing",
			request+"Except are tenants that are given nothing",
			tenantsExcepted),
		clause("one kind of work is taken at a time",
			"WorkQueue.Take: leases due work of one kind",
			kindsApart),
		clause("work names the workflow of its run",
			"verification.Work: Workflow is the workflow of the run",
			workflowNamed),
	}
}

// advances asks for advances that are due.
func advances(now time.Time, max int) verification.TakeRequest {
	return verification.TakeRequest{Kind: verification.WorkAdvance, Now: now, Lease: lease, Max: max, MaxPerTenant: many}
}

// ofTenants counts pieces by tenant.
func ofTenants(work []verification.Work) map[verification.TenantID]int {
	counts := map[verification.TenantID]int{}
	for _, w := range work {
		counts[w.Tenant]++
	}
	return counts
}

func tenantsTakeTurns(t *trial) {
	for n := range 8 {
		t.start(ours, n+1, moment(0))
	}
	t.start(theirs, 21, moment(time.Minute))
	t.start(theirs, 22, moment(time.Minute))
	work, next := t.takeKind(advances(moment(time.Minute), 4))
	same(t, "the pieces of each tenant", ofTenants(work), map[verification.TenantID]int{ours: 2, theirs: 2})
	same(t, "when to ask again", next, moment(time.Minute))
	work, _ = t.takeKind(advances(moment(time.Minute), many))
	same(t, "the pieces that are left", ofTenants(work), map[verification.TenantID]int{ours: 6})
}

func turnsGoOn(t *trial) {
	const third = verification.TenantID("00000000-0000-7000-8000-00000000ffff")
	tenants := []verification.TenantID{ours, theirs, third}
	for i, tenant := range tenants {
		for n := range 4 {
			t.start(tenant, 10*i+n+1, moment(0))
		}
	}
	request := advances(moment(0), 1)
	counts := map[verification.TenantID]int{}
	for n := range 9 {
		work, _ := t.takeKind(request)
		if t.over() || len(work) != 1 {
			t.faultf("Take of one piece = %s", shown(work))
			return
		}
		request.After = work[0].Tenant
		if counts[request.After]++; counts[request.After] > n/len(tenants)+1 {
			t.faultf("after %d pieces, tenant %s was given %d", n+1, request.After, counts[request.After])
		}
	}
}

func tenantShare(t *trial) {
	for n := range 5 {
		t.start(ours, n+1, moment(0))
	}
	t.start(theirs, 9, moment(0))
	request := advances(moment(0), many)
	request.MaxPerTenant = 2
	work, next := t.takeKind(request)
	same(t, "the pieces of each tenant", ofTenants(work), map[verification.TenantID]int{ours: 2, theirs: 1})
	same(t, "when to ask again", next, moment(0))
}

func tenantsExcepted(t *trial) {
	for n := range 3 {
		t.start(ours, n+1, moment(0))
	}
	t.start(theirs, 9, moment(0))
	t.start(ours, 4, moment(time.Hour))
	for _, max := range []int{2, many} {
		request := advances(moment(0), max)
		request.Except = []verification.TenantID{ours}
		work, next := t.takeKind(request)
		for _, w := range work {
			same(t, fmt.Sprintf("the tenant of a piece, at most %d", max), w.Tenant, theirs)
		}
		if max == 2 {
			same(t, "the number of pieces", len(work), 1)
		} else {
			same(t, "the number of pieces once they are leased", len(work), 0)
		}
		if !next.After(moment(0)) {
			t.faultf("Take asks again at %s, want a later time: only an excepted tenant has due work", next)
		}
	}
}

func kindsApart(t *trial) {
	t.start(ours, 1, moment(0))
	t.end(ours, 2)
	work, next := t.takeKind(advances(moment(-time.Hour), many))
	same(t, "the pieces before anything is due", len(work), 0)
	same(t, "when an advance is due", next, moment(0))
	for _, kind := range []verification.WorkKind{verification.WorkAdvance, verification.WorkAnnounce} {
		request := advances(moment(time.Hour), many)
		request.Kind = kind
		work, _ = t.takeKind(request)
		if len(work) != 1 || work[0].Kind != kind {
			t.faultf("Take of kind %s = %s, want one piece of it", kind, shown(work))
		}
	}
}

func workflowNamed(t *trial) {
	s := t.start(ours, 1, moment(0))
	t.end(ours, 2)
	work, _ := t.take(moment(time.Hour), many)
	same(t, "the number of pieces", len(work), 2)
	for _, w := range work {
		same(t, "the workflow", w.Workflow, s.summary().Workflow)
	}
}
