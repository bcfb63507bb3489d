// The clauses on how Take shares its work between tenants.

package storetest

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

func turns() []clause {
	const request = "store.TakeRequest: "
	return []clause{
		{"tenants take turns, however early one tenant's work is due", request + "each is given its first piece before any is given its second", ofEveryKind(tenantsTakeTurns)},
		{"the turns continue after the tenant that was served last", request + "tenants with higher ids come first, then the order starts again at the lowest id", ofEveryKind(turnsContinue)},
		{"a tenant gets at most MaxPerTenant pieces", request + "MaxPerTenant bounds the pieces of each tenant", ofEveryKind(maxPerTenant)},
		{"excepted tenants get nothing", request + "Except lists tenants that are given nothing", ofEveryKind(exceptedTenants)},
		{"excepted runs stay in the queue, and others are taken", request + "ExceptRuns lists runs whose work stays in the queue", ofEveryKind(exceptedRuns)},
		{"Take returns work of one kind", "WorkQueue.Take: leases due work of one kind", oneKind},
		{"work names the workflow of its run", "store.Work: Workflow is the workflow of the run", workflowOfWork},
	}
}

// due requests all due work of the kind and list of a key.
func due(of store.WorkKey, now time.Time) store.TakeRequest {
	return store.TakeRequest{Kind: of.Kind, List: of.List, Now: now, Lease: lease, Max: noLimit, MaxPerTenant: noLimit}
}

// advances requests due advances.
func advances(now time.Time, max int) store.TakeRequest {
	r := due(advanceKey(), now)
	r.Max = max
	return r
}

// kinds returns a key of every kind of work.
func kinds() []store.WorkKey {
	return []store.WorkKey{advanceKey(), announceKey(), expireKey(), rescreenKey(sanctions)}
}

// ofEveryKind returns a check that calls f for each kind of work.
func ofEveryKind(f func(t *trial, k kind)) func(*trial) {
	return func(t *trial) {
		for i, key := range kinds() {
			f(t, kind{key, 100 * i})
		}
	}
}

// kind is a kind of work. Its runs have numbers of their own.
type kind struct {
	key   store.WorkKey
	first int
}

// queue saves a run that has a piece of work of the kind.
func (k kind) queue(t *trial, tenant verification.TenantID, n int, at time.Time) history {
	s := simple(k.first + n)
	c := s.commit()
	c.Work[k.key] = at
	t.add(tenant, s.id, 0, c)
	return s
}

// due requests up to max pieces of the kind.
func (k kind) due(now time.Time, max int) store.TakeRequest {
	r := due(k.key, now)
	r.Max = max
	return r
}

// byTenant counts pieces by tenant.
func byTenant(work []store.Work) map[verification.TenantID]int {
	counts := map[verification.TenantID]int{}
	for _, w := range work {
		counts[w.Tenant]++
	}
	return counts
}

func tenantsTakeTurns(t *trial, k kind) {
	for n := range 8 {
		k.queue(t, ours, n+1, instant(0))
	}
	k.queue(t, theirs, 21, instant(time.Minute))
	k.queue(t, theirs, 22, instant(time.Minute))
	work, next := t.takeKind(k.due(instant(time.Minute), 4))
	same(t, "the pieces of each tenant", byTenant(work), map[verification.TenantID]int{ours: 2, theirs: 2})
	same(t, "the next time", next, instant(time.Minute))
	work, _ = t.takeKind(k.due(instant(time.Minute), noLimit))
	same(t, "the remaining pieces", byTenant(work), map[verification.TenantID]int{ours: 6})
}

func turnsContinue(t *trial, k kind) {
	const third = verification.TenantID("00000000-0000-7000-8000-00000000ffff")
	tenants := []verification.TenantID{ours, theirs, third}
	for i, tenant := range tenants {
		for n := range 4 {
			k.queue(t, tenant, 10*i+n+1, instant(0))
		}
	}
	request := k.due(instant(0), 1)
	counts := map[verification.TenantID]int{}
	for n := range 9 {
		work, _ := t.takeKind(request)
		if len(work) != 1 {
			t.failf("Take of one piece = %s", shown(work))
		}
		request.After = work[0].Tenant
		if counts[request.After]++; counts[request.After] > n/len(tenants)+1 {
			t.failf("after %d pieces, tenant %s was given %d", n+1, request.After, counts[request.After])
		}
	}
}

func maxPerTenant(t *trial, k kind) {
	for n := range 5 {
		k.queue(t, ours, n+1, instant(0))
	}
	k.queue(t, theirs, 9, instant(0))
	request := k.due(instant(0), noLimit)
	request.MaxPerTenant = 2
	work, next := t.takeKind(request)
	same(t, "the pieces of each tenant", byTenant(work), map[verification.TenantID]int{ours: 2, theirs: 1})
	same(t, "the next time", next, instant(0))
}

func exceptedTenants(t *trial, k kind) {
	for n := range 3 {
		k.queue(t, ours, n+1, instant(0))
	}
	k.queue(t, theirs, 9, instant(0))
	k.queue(t, ours, 4, instant(time.Hour))
	for _, max := range []int{2, noLimit} {
		request := k.due(instant(0), max)
		request.Except = []verification.TenantID{ours}
		work, next := t.takeKind(request)
		for _, w := range work {
			same(t, fmt.Sprintf("the tenant of a piece, max %d", max), w.Tenant, theirs)
		}
		if max == 2 {
			same(t, "the number of pieces", len(work), 1)
		} else {
			same(t, "the number of pieces while they are leased", len(work), 0)
		}
		if !next.After(instant(0)) {
			t.failf("the next time = %s, want a later one: only an excepted tenant has due work", next)
		}
	}
}

func exceptedRuns(t *trial, k kind) {
	request := k.due(instant(0), 4)
	for n := range 6 { // they are due first, and are more than Max
		request.ExceptRuns = append(request.ExceptRuns, k.queue(t, ours, n+1, instant(-time.Minute)).ref(ours))
	}
	free, other := k.queue(t, ours, 7, instant(0)).ref(ours), k.queue(t, theirs, 1, instant(0)).ref(theirs)
	work, next := t.takeKind(request)
	same(t, "the pieces of each tenant", byTenant(work), map[verification.TenantID]int{ours: 1, theirs: 1})
	for _, w := range work {
		if w.RunRef != free && w.RunRef != other {
			t.failf("Take = %s, want no excepted run", shown(work))
		}
	}
	if !next.After(instant(0)) {
		t.failf("the next time = %s, want a later one: only excepted runs have due work", next)
	}
	request.ExceptRuns = nil
	work, _ = t.takeKind(request)
	same(t, "the pieces once no run is excepted", len(work), 4)
}

func oneKind(t *trial) {
	t.start(ours, 1, instant(0))
	t.end(ours, 2)
	work, next := t.takeKind(advances(instant(-time.Hour), noLimit))
	same(t, "the pieces before anything is due", len(work), 0)
	same(t, "when an advance is due", next, instant(0))
	for _, kind := range []store.WorkKind{store.WorkAdvance, store.WorkAnnounce} {
		request := advances(instant(time.Hour), noLimit)
		request.Kind = kind
		work, _ = t.takeKind(request)
		if len(work) != 1 || work[0].Kind != kind {
			t.failf("Take of kind %s = %s, want one piece of it", kind, shown(work))
		}
	}
}

func workflowOfWork(t *trial) {
	s := t.start(ours, 1, instant(0))
	t.end(ours, 2)
	work, _ := t.take(instant(time.Hour), noLimit)
	same(t, "the number of pieces", len(work), 2)
	for _, w := range work {
		same(t, "the workflow", w.Workflow, s.summary().Workflow)
	}
}
