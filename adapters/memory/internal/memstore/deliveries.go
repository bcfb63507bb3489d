// The deliveries of notices.

package memstore

import (
	"context"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// deliveries has the deliveries by notice, and the deliveries of each tenant and state newest
// first. The empty state has all.
type deliveries struct {
	table[noticeKey, verification.Delivery]

	lists trees[deliveryList, verification.Delivery]
}

type noticeKey struct {
	tenant verification.TenantID
	notice verification.NoticeRef
}

type deliveryList struct {
	tenant verification.TenantID
	state  verification.DeliveryState
}

// SaveDelivery creates or replaces the delivery of a notice.
func (s *Store) SaveDelivery(ctx context.Context, t verification.TenantID, d verification.Delivery) error {
	l, ref := &s.deliveries.lists, noticeKey{t, d.Ref()}
	return s.deliveries.change(ctx, func(rows map[noticeKey]verification.Delivery) error {
		if old, ok := rows[ref]; ok {
			l.at(deliveryList{t, ""}, verification.NewerDelivery).Delete(old)
			l.at(deliveryList{t, old.State}, verification.NewerDelivery).Delete(old)
		} else {
			s.kept.add(t, sizeOfDelivery)
		}
		rows[ref] = d
		l.at(deliveryList{t, ""}, verification.NewerDelivery).Set(d)
		l.at(deliveryList{t, d.State}, verification.NewerDelivery).Set(d)
		return nil
	})
}

// Delivery returns the delivery of a notice, or ErrNotFound.
func (s *Store) Delivery(ctx context.Context, t verification.TenantID, n verification.NoticeRef) (verification.Delivery, error) {
	return s.deliveries.get(ctx, noticeKey{t, n}, "delivery")
}

// Deliveries returns one page of the deliveries in a state, newest first.
func (s *Store) Deliveries(
	ctx context.Context, t verification.TenantID, state verification.DeliveryState, q store.PageQuery,
) (p store.Page[verification.Delivery], err error) {
	err = s.deliveries.read(ctx, func() error {
		p = readPage(s.deliveries.lists[deliveryList{t, state}], q, func(d verification.Delivery) verification.Delivery { return d })
		return nil
	})
	return p, err
}
