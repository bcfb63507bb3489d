package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

// ledgering breaks what Deliveries gives.
func ledgering(change func(state verification.DeliveryState, q verification.PageQuery, p *verification.Page[verification.Delivery])) func(storetest.Store) storetest.Store {
	return when(func(b *broken, sound storetest.Store) {
		b.deliveries = func(ctx context.Context, t tenantID, state verification.DeliveryState, q verification.PageQuery) (verification.Page[verification.Delivery], error) {
			p, err := sound.Deliveries(ctx, t, state, q)
			change(state, q, &p)
			return p, err
		}
	})
}

// recording breaks what SaveDelivery saves.
func recording(save func(ctx context.Context, sound storetest.Store, t tenantID, d verification.Delivery) error) func(storetest.Store) storetest.Store {
	return when(func(b *broken, sound storetest.Store) {
		b.saveDelivery = func(ctx context.Context, t tenantID, d verification.Delivery) error { return save(ctx, sound, t, d) }
	})
}

func deliveryBreaches() []breach {
	type (
		state = verification.DeliveryState
		query = verification.PageQuery
		page  = verification.Page[verification.Delivery]
	)
	return []breach{
		{"a delivery comes back as it was saved", "SaveDelivery forgets the class", recording(
			func(ctx context.Context, s storetest.Store, t tenantID, d verification.Delivery) error {
				d.Class = ""
				return s.SaveDelivery(ctx, t, d)
			})},
		{"a delivery comes back as it was saved", "the list shows no next try", ledgering(func(_ state, _ query, p *page) {
			for i := range p.Data {
				p.Data[i].NextAt = p.Data[i].LastAt
			}
		})},
		{"a delivery that was never saved is not found", "Delivery makes one up", when(func(b *broken, sound storetest.Store) {
			b.delivery = func(ctx context.Context, t tenantID, run runID) (verification.Delivery, error) {
				d, err := sound.Delivery(ctx, t, run)
				if errors.Is(err, verification.ErrNotFound) {
					return verification.Delivery{Run: run}, nil
				}
				return d, err
			}
		})},
		{"a run has one delivery, and a later one replaces it", "the first one stays", recording(
			func(ctx context.Context, s storetest.Store, t tenantID, d verification.Delivery) error {
				if _, err := s.Delivery(ctx, t, d.Run); err == nil {
					return nil
				}
				return s.SaveDelivery(ctx, t, d)
			})},
		{"a run has one delivery, and a later one replaces it", "each save adds one to the list", when(func(b *broken, sound storetest.Store) {
			saves := memo[runID, int]{}
			b.saveDelivery = func(ctx context.Context, t tenantID, d verification.Delivery) error {
				n, _ := saves.get(d.Run)
				saves.set(d.Run, n+1)
				return sound.SaveDelivery(ctx, t, d)
			}
			b.deliveries = func(ctx context.Context, t tenantID, state verification.DeliveryState, q verification.PageQuery) (verification.Page[verification.Delivery], error) {
				p, err := sound.Deliveries(ctx, t, state, q)
				for _, d := range p.Data {
					n, _ := saves.get(d.Run)
					p.Data, p.Total = append(p.Data, slices.Repeat([]verification.Delivery{d}, n-1)...), p.Total+n-1
				}
				return p, err
			}
		})},
		{"a run has one delivery, and a later one replaces it", "a delivery stays listed under the state it had", when(func(b *broken, sound storetest.Store) {
			firsts := memo[runID, verification.Delivery]{}
			b.saveDelivery = func(ctx context.Context, t tenantID, d verification.Delivery) error {
				if _, ok := firsts.get(d.Run); !ok {
					firsts.set(d.Run, d)
				}
				return sound.SaveDelivery(ctx, t, d)
			}
			b.deliveries = func(ctx context.Context, t tenantID, state verification.DeliveryState, q verification.PageQuery) (verification.Page[verification.Delivery], error) {
				p, err := sound.Deliveries(ctx, t, state, q)
				for _, run := range firsts.keys() {
					if d, _ := firsts.get(run); d.State == state && !slices.ContainsFunc(p.Data, func(l verification.Delivery) bool { return l.Run == run }) {
						p.Data, p.Total = append(p.Data, d), p.Total+1
					}
				}
				return p, err
			}
		})},
		{"the delivery tried last comes first, and of one moment the highest run id", "of one moment the lowest id comes first", ledgering(
			func(_ state, _ query, p *page) {
				slices.SortFunc(p.Data, func(a, b verification.Delivery) int {
					return cmp.Or(b.LastAt.Compare(a.LastAt), cmp.Compare(a.Run, b.Run))
				})
			})},
		{"the delivery tried last comes first, and of one moment the highest run id", "the one tried first comes first", ledgering(
			func(_ state, _ query, p *page) { slices.Reverse(p.Data) })},
		{"pages of deliveries join to the whole list", "a page repeats the last of the one before", when(func(b *broken, sound storetest.Store) {
			b.deliveries = func(ctx context.Context, t tenantID, state verification.DeliveryState, q verification.PageQuery) (verification.Page[verification.Delivery], error) {
				earlier := q
				earlier.Offset = max(0, q.Offset-1)
				p, err := sound.Deliveries(ctx, t, state, earlier)
				p.PageQuery = q
				return p, err
			}
		})},
		{"pages of deliveries join to the whole list", "the total is that of the page", ledgering(
			func(_ state, _ query, p *page) { p.Total = len(p.Data) })},
		{"the state filter gives the deliveries in that state", "every state is listed", when(func(b *broken, sound storetest.Store) {
			b.deliveries = func(ctx context.Context, t tenantID, _ verification.DeliveryState, q verification.PageQuery) (verification.Page[verification.Delivery], error) {
				return sound.Deliveries(ctx, t, "", q)
			}
		})},
		{"the state filter gives the deliveries in that state", "the total is that of every state", when(func(b *broken, sound storetest.Store) {
			b.deliveries = func(ctx context.Context, t tenantID, state verification.DeliveryState, q verification.PageQuery) (verification.Page[verification.Delivery], error) {
				p, err := sound.Deliveries(ctx, t, state, q)
				all, _ := sound.Deliveries(ctx, t, "", q)
				p.Total = all.Total
				return p, err
			}
		})},
		{"a delivery whose context is over is not saved", "SaveDelivery looks at no context", recording(
			func(ctx context.Context, s storetest.Store, t tenantID, d verification.Delivery) error {
				return s.SaveDelivery(context.WithoutCancel(ctx), t, d)
			})},
		{"the deliveries of two tenants are kept apart", "deliveries are kept by their run alone", when(func(b *broken, sound storetest.Store) {
			owners := memo[runID, tenantID]{}
			b.saveDelivery = func(ctx context.Context, t tenantID, d verification.Delivery) error {
				owners.set(d.Run, t)
				return sound.SaveDelivery(ctx, t, d)
			}
			b.delivery = func(ctx context.Context, t tenantID, run runID) (verification.Delivery, error) {
				if owner, ok := owners.get(run); ok {
					t = owner
				}
				return sound.Delivery(ctx, t, run)
			}
		})},
	}
}
