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

// SaveDelivery creates or replaces the delivery of a notice.
func (s *Store) SaveDelivery(ctx context.Context, t verification.TenantID, d rules.Delivery) error {
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

// Delivery returns the delivery of a notice, or ErrNotFound.
func (s *Store) Delivery(ctx context.Context, t verification.TenantID, n rules.NoticeRef) (rules.Delivery, error) {
	return s.deliveries.get(ctx, noticeKey{t, n}, "delivery")
}

// Deliveries returns one page of the deliveries in a state, newest first.
func (s *Store) Deliveries(
	ctx context.Context, t verification.TenantID, state rules.DeliveryState, q store.PageQuery,
) (p store.Page[rules.Delivery], err error) {
	err = s.deliveries.read(ctx, func() error {
		p = readPage(s.deliveries.lists[deliveryList{t, state}], q, func(d rules.Delivery) rules.Delivery { return d })
		return nil
	})
	return p, err
}
