// The clauses on the delivery ledger.

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// deliveries returns the clauses. They save only deliveries of runs that exist.
func deliveries() []clause {
	const (
		save = "Tables.SaveDelivery: "
		list = "Tables.Deliveries: "
	)
	return []clause{
		{"a delivery is returned as it was saved", "Tables.Delivery: returns the delivery of a notice", deliveryIsReturned},
		{"each notice of a run has a delivery", "Tables.Delivery: returns the delivery of a notice", deliveryOfEachNotice},
		{"an unknown delivery is not found", "Tables.Delivery: or ErrNotFound", unknownDelivery},
		{"a notice has one delivery, which a later one replaces", save + "creates or replaces the delivery of a notice", deliveryReplaced},
		{"deliveries are listed by last attempt, newest first, then by run id from the highest", list + "in the order of NewerDelivery", deliveriesInOrder},
		{"the pages of deliveries add up to the whole list", list + "one page, and the number of all matches", deliveryPages},
		{"the state filter selects the deliveries in a state", list + "the deliveries in a state (empty for every state), and the number of all matches", deliveriesByState},
		{"a delivery with a cancelled context is not saved", save + "creates or replaces the delivery of a notice, unless the context is done", cancelledDelivery},
		{"two tenants have separate deliveries", "Tables.Delivery: of one tenant", deliveriesOfTwoTenants},
	}
}

// delivery returns the delivery of run number n, with every field set.
func delivery(n int, state rules.DeliveryState, last time.Time) rules.Delivery {
	return rules.Delivery{
		Run: runID(n), URL: "https://app.example/hooks?a=1&b=2", State: state, Attempts: n,
		FirstAt: last.Add(-time.Hour - tick), LastAt: last, NextAt: last.Add(time.Minute + tick), Class: "refused_4xx", Event: "run.completed",
	}
}

// ledger returns deliveries in every state, three at each time, in another order
// than that of the list.
func ledger() []rules.Delivery {
	const n = 25
	var all []rules.Delivery
	states := deliveryStates()
	for i := range n {
		// 7 has no divisor in common with 25: every number comes once.
		k := i * 7 % n
		all = append(all, delivery(k+1, states[k%len(states)], instant(time.Duration(k/3)*tick)))
	}
	return all
}

func deliveryStates() []rules.DeliveryState {
	return []rules.DeliveryState{
		rules.DeliveryPending, rules.DeliveryDelivered, rules.DeliveryFailed,
	}
}

// runs saves runs 1 to count, which may have deliveries.
func (t *trial) runs(tenant verification.TenantID, count int) {
	for n := range count {
		t.save(tenant, simple(n+1))
	}
}

func (t *trial) deliver(tenant verification.TenantID, all ...rules.Delivery) {
	for _, d := range all {
		t.ok("SaveDelivery", t.tables.SaveDelivery(t.ctx, tenant, d))
	}
}

// hasDelivery ends the clause unless the store has a delivery.
func (t *trial) hasDelivery(tenant verification.TenantID, want rules.Delivery) {
	got, err := t.tables.Delivery(t.ctx, tenant, want.Ref())
	t.ok("Delivery", err)
	same(t, "the delivery", got, want)
}

func (t *trial) hasNoDelivery(tenant verification.TenantID, run verification.RunID) {
	_, err := t.tables.Delivery(t.ctx, tenant, rules.NoticeRef{Run: run})
	t.refused("Delivery(an unknown one)", err, verification.ErrNotFound)
}

// pagesOf returns the function that reads pages of the deliveries in a state.
func (t *trial) pagesOf(tenant verification.TenantID, state rules.DeliveryState) func(store.PageQuery) (store.Page[rules.Delivery], error) {
	return func(p store.PageQuery) (store.Page[rules.Delivery], error) {
		return t.tables.Deliveries(t.ctx, tenant, state, p)
	}
}

// lists ends the clause unless these are all deliveries in a state.
func (t *trial) lists(tenant verification.TenantID, state rules.DeliveryState, all ...rules.Delivery) {
	page(t, fmt.Sprintf("Deliveries(%q)", state), firstPage(), all, t.pagesOf(tenant, state))
}

// newest returns deliveries in the order of the list.
func newest(all []rules.Delivery) []rules.Delivery {
	return slices.SortedFunc(slices.Values(all), func(a, b rules.Delivery) int {
		if rules.NewerDelivery(a, b) {
			return -1
		}
		return 1
	})
}

// inState returns the deliveries in a state.
func inState(s rules.DeliveryState, all ...rules.Delivery) []rules.Delivery {
	return slices.DeleteFunc(slices.Clone(all), func(d rules.Delivery) bool { return d.State != s })
}

func deliveryIsReturned(t *trial) {
	t.runs(ours, 2)
	full := delivery(1, rules.DeliveryPending, instant(0))
	full.URL = "https://app.example/" + oddText
	bare := rules.Delivery{Run: runID(2), State: rules.DeliveryFailed, LastAt: instant(-tick)}
	t.deliver(ours, full, bare)
	t.hasDelivery(ours, full)
	t.hasDelivery(ours, bare)
	t.lists(ours, "", full, bare)
}

// deliveryOfEachNotice delivers three notices of one run at the same time.
func deliveryOfEachNotice(t *trial) {
	t.runs(ours, 1)
	end := delivery(1, rules.DeliveryDelivered, instant(0))
	reviewed, flagged := end, end
	reviewed.Seq, reviewed.Event, reviewed.State = 7, workflow.NoticeReviewed, rules.DeliveryFailed
	flagged.Seq, flagged.Event = 11, workflow.NoticeFlagged
	t.deliver(ours, reviewed, end, flagged)
	for _, d := range []rules.Delivery{end, reviewed, flagged} {
		t.hasDelivery(ours, d)
	}
	t.lists(ours, "", flagged, reviewed, end)
	t.lists(ours, rules.DeliveryFailed, reviewed)
}

func unknownDelivery(t *trial) {
	t.runs(ours, 2)
	t.lists(ours, "")
	t.deliver(ours, delivery(1, rules.DeliveryPending, instant(0)))
	t.hasNoDelivery(ours, runID(2))
	t.hasNoDelivery(ours, runID(3))
	t.hasNoDelivery(theirs, runID(1))
}

func deliveryReplaced(t *trial) {
	t.runs(ours, 2)
	other := delivery(2, rules.DeliveryFailed, instant(time.Minute))
	t.deliver(ours, delivery(1, rules.DeliveryPending, instant(0)), other)
	// Retried, given up, queued again with the time of its last attempt, delivered.
	for i, state := range []rules.DeliveryState{
		rules.DeliveryPending, rules.DeliveryFailed, rules.DeliveryPending, rules.DeliveryDelivered,
	} {
		d := delivery(1, state, instant(time.Duration(2+i/3)*time.Minute))
		d.Attempts, d.Class = i+2, fmt.Sprintf("class_%d", i)
		if state != rules.DeliveryPending {
			d.NextAt = time.Time{}
		}
		t.deliver(ours, d)
		t.hasDelivery(ours, d)
		t.hasDelivery(ours, other)
		t.lists(ours, "", d, other)
		for _, filter := range deliveryStates() {
			t.lists(ours, filter, inState(filter, d, other)...)
		}
	}
}

func deliveriesInOrder(t *trial) {
	all := ledger()
	t.runs(ours, len(all))
	t.deliver(ours, all...)
	t.lists(ours, "", newest(all)...)
}

func deliveryPages(t *trial) {
	all := ledger()
	t.runs(ours, len(all))
	t.deliver(ours, all...)
	pages(t, "Deliveries", newest(all), t.pagesOf(ours, ""))
}

func deliveriesByState(t *trial) {
	all := ledger()
	t.runs(ours, len(all))
	t.deliver(ours, all...)
	for _, state := range deliveryStates() {
		want := inState(state, newest(all)...)
		t.lists(ours, state, want...)
		page(t, "Deliveries", store.PageQuery{Limit: 3, Offset: 2}, want, t.pagesOf(ours, state))
	}
}

func cancelledDelivery(t *trial) {
	t.runs(ours, 1)
	d := delivery(1, rules.DeliveryPending, instant(0))
	late := delivery(1, rules.DeliveryDelivered, instant(time.Minute))
	if err := t.tables.SaveDelivery(cancelled(t.ctx), ours, d); err == nil {
		t.failf("SaveDelivery with a cancelled context succeeded, want an error")
	}
	t.hasNoDelivery(ours, d.Run)
	t.deliver(ours, d)
	if err := t.tables.SaveDelivery(cancelled(t.ctx), ours, late); err == nil {
		t.failf("SaveDelivery with a cancelled context succeeded, want an error")
	}
	t.hasDelivery(ours, d)
	t.lists(ours, "", d)
}

func deliveriesOfTwoTenants(t *trial) {
	t.runs(ours, 2)
	t.runs(theirs, 1)
	mine, other := delivery(1, rules.DeliveryPending, instant(0)), delivery(2, rules.DeliveryFailed, instant(0))
	yours := delivery(1, rules.DeliveryDelivered, instant(time.Hour))
	t.deliver(ours, mine, other)
	t.hasNoDelivery(theirs, mine.Run)
	t.lists(theirs, "")
	t.deliver(theirs, yours)
	t.hasDelivery(ours, mine)
	t.hasDelivery(theirs, yours)
	t.lists(ours, "", other, mine)
	t.lists(ours, rules.DeliveryDelivered)
	t.lists(theirs, "", yours)
	t.lists(theirs, rules.DeliveryFailed)
}
