// The deliveries of notices.

package memstore

import (
	"context"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// deliveries has the deliveries by notice, and the deliveries of each tenant and state newest
// first. The empty state has all.
type deliveries struct {
	table[noticeKey, rules.Delivery]

	lists trees[deliveryList, rules.Delivery]
}

type noticeKey struct {
	tenant verification.TenantID
	notice rules.NoticeRef
}

type deliveryList struct {
	tenant verification.TenantID
	state  rules.DeliveryState
}

// saveDelivery creates or replaces the delivery of a notice.
func (s *Store) saveDelivery(ctx context.Context, r store.DeliveryRecord) error {
	t, d := r.Tenant, r.Delivery
	d.FirstAt, d.LastAt, d.NextAt = toMicrosecond(d.FirstAt), toMicrosecond(d.LastAt), toMicrosecond(d.NextAt)
	l, ref := &s.deliveries.lists, noticeKey{t, d.Ref()}
	return s.deliveries.change(ctx, func(rows map[noticeKey]rules.Delivery) error {
		if old, ok := rows[ref]; ok {
			l.at(deliveryList{t, ""}, rules.NewerDelivery).Delete(old)
			l.at(deliveryList{t, old.State}, rules.NewerDelivery).Delete(old)
		} else {
			s.kept.add(t, sizeOfDelivery)
		}
		rows[ref] = d
		l.at(deliveryList{t, ""}, rules.NewerDelivery).Set(d)
		l.at(deliveryList{t, d.State}, rules.NewerDelivery).Set(d)
		return nil
	})
}

// removeDeliveries removes the deliveries of the notices of a run with n events.
func (s *Store) removeDeliveries(run verification.RunRef, n int) error {
	return s.deliveries.change(context.Background(), func(map[noticeKey]rules.Delivery) error {
		for seq := range n + 1 {
			s.deliveries.remove(noticeKey{run.Tenant, rules.NoticeRef{Run: run.Run, Seq: seq}}, s.kept.add)
		}
		return nil
	})
}

// remove removes a delivery, if there is one. The caller holds the lock.
func (d *deliveries) remove(key noticeKey, count func(t verification.TenantID, bytes int)) {
	if old, ok := d.rows[key]; ok {
		delete(d.rows, key)
		for _, state := range []rules.DeliveryState{"", old.State} {
			d.lists.at(deliveryList{key.tenant, state}, rules.NewerDelivery).Delete(old)
		}
		count(key.tenant, -sizeOfDelivery)
	}
}

// listDeliveries returns one page of the deliveries in a state, newest first.
func (s *Store) listDeliveries(ctx context.Context, q store.RowQuery) (p store.Page[store.Record], err error) {
	err = s.deliveries.read(ctx, func() error {
		p = readPage(s.deliveries.lists[deliveryList{q.Tenant, q.State}], q.PageQuery, func(d rules.Delivery) store.Record {
			return store.DeliveryRecord{Tenant: q.Tenant, Delivery: d}
		})
		return nil
	})
	return p, err
}
