// The clauses on the delivery ledger.

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Deliveries are the clauses on how the notices of runs fared. Every run they
// name is there.
func Deliveries() []Clause {
	const (
		save = "DeliveryStore.SaveDelivery: "
		list = "DeliveryStore.Deliveries: "
	)
	return []Clause{
		clause("a delivery comes back as it was saved",
			"DeliveryStore.Delivery: returns the delivery of a run",
			deliveryComesBack),
		clause("a delivery that was never saved is not found",
			"DeliveryStore.Delivery: or ErrNotFound",
			unknownDelivery),
		clause("a run has one delivery, and a later one replaces it",
			save+"creates or replaces the delivery of a run",
			deliveryReplaced),
		clause("the delivery tried last comes first, and of one moment the highest run id",
			list+"newest LastAt first, ties by run id from the highest",
			deliveriesInOrder),
		clause("pages of deliveries join to the whole list",
			list+"one page, and how many there are in all",
			deliveryPages),
		clause("the state filter gives the deliveries in that state",
			list+"the deliveries in a state (empty for every state), and how many there are in all",
			deliveriesByState),
		clause("a delivery whose context is over is not saved",
			save+"creates or replaces the delivery of a run, unless the context is over",
			cancelledDelivery),
		clause("the deliveries of two tenants are kept apart",
			"DeliveryStore: every method is of one tenant",
			deliveriesApart),
	}
}

// delivery is number n, every field filled in.
func delivery(n int, state verification.DeliveryState, last time.Time) verification.Delivery {
	return verification.Delivery{
		Run: runID(n), URL: "https://app.example/hooks?a=1&b=2", State: state, Attempts: n,
		FirstAt: last.Add(-time.Hour - tick), LastAt: last, NextAt: last.Add(time.Minute + tick), Class: "refused_4xx",
	}
}

// ledger is some deliveries in the order they are saved in, which is not the
// one they are listed in: three of one moment, in every state.
func ledger() []verification.Delivery {
	const n = 25
	var all []verification.Delivery
	states := deliveryStates()
	for i := range n {
		// 7 has no divisor in common with 25: every number comes once.
		k := i * 7 % n
		all = append(all, delivery(k+1, states[k%len(states)], moment(time.Duration(k/3)*tick)))
	}
	return all
}

func deliveryStates() []verification.DeliveryState {
	return []verification.DeliveryState{
		verification.DeliveryPending, verification.DeliveryDelivered, verification.DeliveryFailed,
	}
}

// runs starts the runs whose deliveries are saved then.
func (t *trial) runs(tenant verification.TenantID, most int) {
	for n := range most {
		t.save(tenant, simple(n+1))
	}
}

func (t *trial) deliver(tenant verification.TenantID, all ...verification.Delivery) {
	for _, d := range all {
		if !t.over() {
			t.ok("SaveDelivery", t.store.SaveDelivery(t.ctx, tenant, d))
		}
	}
}

// delivered wants the delivery of a run to be the one given.
func (t *trial) delivered(tenant verification.TenantID, want verification.Delivery) {
	if !t.over() {
		got, err := t.store.Delivery(t.ctx, tenant, want.Run)
		t.ok("Delivery", err)
		same(t, "the delivery", got, want)
	}
}

func (t *trial) undelivered(tenant verification.TenantID, run verification.RunID) {
	if !t.over() {
		_, err := t.store.Delivery(t.ctx, tenant, run)
		t.refused("Delivery(never saved)", err, verification.ErrNotFound)
	}
}

// ledgered wants a page of a state to be cut out of all its deliveries, which
// are in the order they are listed in.
func (t *trial) ledgered(tenant verification.TenantID, state verification.DeliveryState, q verification.PageQuery, all []verification.Delivery) {
	if t.over() {
		return
	}
	what := fmt.Sprintf("Deliveries(%q, limit %d, offset %d)", state, q.Limit, q.Offset)
	p, err := t.store.Deliveries(t.ctx, tenant, state, q)
	t.ok(what, err)
	same(t, what, p.Data, all[min(q.Offset, len(all)):min(q.Offset+q.Limit, len(all))])
	same(t, "the total of "+what, p.Total, len(all))
	same(t, "the page that "+what+" says it is", p.PageQuery, q)
}

func whole() verification.PageQuery { return verification.PageQuery{Limit: verification.MaxLimit} }

// newest puts deliveries in the order they are listed in.
func newest(all []verification.Delivery) []verification.Delivery {
	return slices.SortedFunc(slices.Values(all), func(a, b verification.Delivery) int {
		if verification.NewerDelivery(a, b) {
			return -1
		}
		return 1
	})
}

func deliveryComesBack(t *trial) {
	t.runs(ours, 2)
	full := delivery(1, verification.DeliveryPending, moment(0))
	full.URL = "https://app.example/" + prose
	bare := verification.Delivery{Run: runID(2), State: verification.DeliveryFailed, LastAt: moment(-tick)}
	t.deliver(ours, full, bare)
	t.delivered(ours, full)
	t.delivered(ours, bare)
	t.ledgered(ours, "", whole(), []verification.Delivery{full, bare})
}

func unknownDelivery(t *trial) {
	t.runs(ours, 2)
	t.ledgered(ours, "", whole(), nil)
	t.deliver(ours, delivery(1, verification.DeliveryPending, moment(0)))
	t.undelivered(ours, runID(2))
	t.undelivered(ours, runID(3))
	t.undelivered(theirs, runID(1))
}

func deliveryReplaced(t *trial) {
	t.runs(ours, 2)
	other := delivery(2, verification.DeliveryFailed, moment(time.Minute))
	t.deliver(ours, delivery(1, verification.DeliveryPending, moment(0)), other)
	// Tried again, given up, queued again at the moment of its last try, taken.
	for i, state := range []verification.DeliveryState{
		verification.DeliveryPending, verification.DeliveryFailed, verification.DeliveryPending, verification.DeliveryDelivered,
	} {
		d := delivery(1, state, moment(time.Duration(2+i/3)*time.Minute))
		d.Attempts, d.Class = i+2, fmt.Sprintf("class_%d", i)
		if state != verification.DeliveryPending {
			d.NextAt = time.Time{}
		}
		t.deliver(ours, d)
		t.delivered(ours, d)
		t.delivered(ours, other)
		t.ledgered(ours, "", whole(), []verification.Delivery{d, other})
		for _, filter := range deliveryStates() {
			var want []verification.Delivery
			for _, kept := range []verification.Delivery{d, other} {
				if kept.State == filter {
					want = append(want, kept)
				}
			}
			t.ledgered(ours, filter, whole(), want)
		}
	}
}

func deliveriesInOrder(t *trial) {
	all := ledger()
	t.runs(ours, len(all))
	t.deliver(ours, all...)
	t.ledgered(ours, "", whole(), newest(all))
}

func deliveryPages(t *trial) {
	all := ledger()
	t.runs(ours, len(all))
	t.deliver(ours, all...)
	for _, limit := range []int{1, 7, len(all), verification.MaxLimit} {
		for _, offset := range []int{0, 1, limit, len(all) - 1, len(all), 1_000_000} {
			t.ledgered(ours, "", verification.PageQuery{Limit: limit, Offset: offset}, newest(all))
		}
	}
}

func deliveriesByState(t *trial) {
	all := ledger()
	t.runs(ours, len(all))
	t.deliver(ours, all...)
	for _, state := range deliveryStates() {
		var want []verification.Delivery
		for _, d := range newest(all) {
			if d.State == state {
				want = append(want, d)
			}
		}
		t.ledgered(ours, state, whole(), want)
		t.ledgered(ours, state, verification.PageQuery{Limit: 3, Offset: 2}, want)
	}
}

func cancelledDelivery(t *trial) {
	t.runs(ours, 1)
	d := delivery(1, verification.DeliveryPending, moment(0))
	late := delivery(1, verification.DeliveryDelivered, moment(time.Minute))
	if err := t.store.SaveDelivery(cancelled(t.ctx), ours, d); err == nil {
		t.faultf("SaveDelivery under a context that is over succeeded, want an error")
	}
	t.undelivered(ours, d.Run)
	t.deliver(ours, d)
	if err := t.store.SaveDelivery(cancelled(t.ctx), ours, late); err == nil {
		t.faultf("SaveDelivery under a context that is over succeeded, want an error")
	}
	t.delivered(ours, d)
	t.ledgered(ours, "", whole(), []verification.Delivery{d})
}

func deliveriesApart(t *trial) {
	t.runs(ours, 2)
	t.runs(theirs, 1)
	mine, other := delivery(1, verification.DeliveryPending, moment(0)), delivery(2, verification.DeliveryFailed, moment(0))
	yours := delivery(1, verification.DeliveryDelivered, moment(time.Hour))
	t.deliver(ours, mine, other)
	t.undelivered(theirs, mine.Run)
	t.ledgered(theirs, "", whole(), nil)
	t.deliver(theirs, yours)
	t.delivered(ours, mine)
	t.delivered(theirs, yours)
	t.ledgered(ours, "", whole(), []verification.Delivery{other, mine})
	t.ledgered(ours, verification.DeliveryDelivered, whole(), nil)
	t.ledgered(theirs, "", whole(), []verification.Delivery{yours})
	t.ledgered(theirs, verification.DeliveryFailed, whole(), nil)
}
