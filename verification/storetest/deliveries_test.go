package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// ledgering breaks the results of Deliveries.
func ledgering(change func(state rules.DeliveryState, q store.PageQuery, p *store.Page[rules.Delivery])) breakage {
	return listing(func(ctx context.Context, sound stores, t tenantID, state rules.DeliveryState, q store.PageQuery) (store.Page[rules.Delivery], error) {
		p, err := sound.Deliveries(ctx, t, state, q)
		change(state, q, &p)
		return p, err
	})
}

// listing replaces Rows for deliveries.
func listing(
	list func(ctx context.Context, sound stores, t tenantID, state rules.DeliveryState, q store.PageQuery) (store.Page[rules.Delivery], error),
) breakage {
	return func(b *broken, sound stores) {
		b.RowsFunc = func(ctx context.Context, q store.RowQuery) (store.Page[store.Record], error) {
			if q.Kind != store.RecordDelivery {
				return sound.Rows(ctx, q)
			}
			p, err := list(ctx, sound, q.Tenant, q.State, q.PageQuery)
			rows := store.Page[store.Record]{Total: p.Total, PageQuery: p.PageQuery}
			for _, d := range p.Data {
				rows.Data = append(rows.Data, store.DeliveryRecord{Tenant: q.Tenant, Delivery: d})
			}
			return rows, err
		}
	}
}

// recording replaces Change for deliveries.
func recording(save func(ctx context.Context, sound stores, t tenantID, d rules.Delivery) error) breakage {
	return func(b *broken, sound stores) {
		b.ChangeFunc = func(ctx context.Context, rows []store.Record) error {
			if r, ok := rows[0].(store.DeliveryRecord); ok {
				return save(ctx, sound, r.Tenant, r.Delivery)
			}
			return sound.Change(ctx, rows)
		}
	}
}

func deliveryBreaches() []breach {
	type (
		state = rules.DeliveryState
		query = store.PageQuery
		page  = store.Page[rules.Delivery]
	)
	return []breach{
		{"a delivery is returned as it was saved", "SaveDelivery forgets the class", recording(
			func(ctx context.Context, s stores, t tenantID, d rules.Delivery) error {
				d.Class = ""
				return s.SaveDelivery(ctx, t, d)
			})},
		{"a delivery is returned as it was saved", "the list shows no next attempt", ledgering(func(_ state, _ query, p *page) {
			for i := range p.Data {
				p.Data[i].NextAt = p.Data[i].LastAt
			}
		})},
		{"each notice of a run has a delivery", "a run has one delivery", recording(
			func(ctx context.Context, s stores, t tenantID, d rules.Delivery) error {
				d.Seq = 0
				return s.SaveDelivery(ctx, t, d)
			})},
		{"an unknown delivery is not found", "Delivery makes one up", readingRows(store.RecordDelivery, func(_ string, r store.DeliveryRecord, err error) (store.DeliveryRecord, error) {
			if errors.Is(err, verification.ErrNotFound) {
				return store.DeliveryRecord{}, nil
			}
			return r, err
		})},
		{"a notice has one delivery, which a later one replaces", "the first one stays", recording(
			func(ctx context.Context, s stores, t tenantID, d rules.Delivery) error {
				if _, err := s.Delivery(ctx, t, d.Ref()); err == nil {
					return nil
				}
				return s.SaveDelivery(ctx, t, d)
			})},
		{"a notice has one delivery, which a later one replaces", "each save adds one to the list", func(b *broken, sound stores) {
			saves := memo[runID, int]{}
			recording(func(ctx context.Context, sound stores, t tenantID, d rules.Delivery) error {
				n, _ := saves.get(d.Run)
				saves.set(d.Run, n+1)
				return sound.SaveDelivery(ctx, t, d)
			})(b, sound)
			listing(func(ctx context.Context, sound stores, t tenantID, state rules.DeliveryState, q store.PageQuery) (store.Page[rules.Delivery], error) {
				p, err := sound.Deliveries(ctx, t, state, q)
				for _, d := range p.Data {
					n, _ := saves.get(d.Run)
					p.Data, p.Total = append(p.Data, slices.Repeat([]rules.Delivery{d}, n-1)...), p.Total+n-1
				}
				return p, err
			})(b, sound)
		}},
		{"a notice has one delivery, which a later one replaces", "a delivery stays listed under the state it had", func(b *broken, sound stores) {
			firsts := memo[runID, rules.Delivery]{}
			recording(func(ctx context.Context, sound stores, t tenantID, d rules.Delivery) error {
				if _, ok := firsts.get(d.Run); !ok {
					firsts.set(d.Run, d)
				}
				return sound.SaveDelivery(ctx, t, d)
			})(b, sound)
			listing(func(ctx context.Context, sound stores, t tenantID, state rules.DeliveryState, q store.PageQuery) (store.Page[rules.Delivery], error) {
				p, err := sound.Deliveries(ctx, t, state, q)
				for _, run := range firsts.keys() {
					if d, _ := firsts.get(run); d.State == state && !slices.ContainsFunc(p.Data, func(l rules.Delivery) bool { return l.Run == run }) {
						p.Data, p.Total = append(p.Data, d), p.Total+1
					}
				}
				return p, err
			})(b, sound)
		}},
		{"deliveries are listed by last attempt, newest first, then by run id from the highest", "at equal times the lowest id comes first", ledgering(
			func(_ state, _ query, p *page) {
				slices.SortFunc(p.Data, func(a, b rules.Delivery) int {
					return cmp.Or(b.LastAt.Compare(a.LastAt), cmp.Compare(a.Run, b.Run))
				})
			})},
		{"deliveries are listed by last attempt, newest first, then by run id from the highest", "the one tried first comes first", ledgering(
			func(_ state, _ query, p *page) { slices.Reverse(p.Data) })},
		{"the pages of deliveries add up to the whole list", "a page repeats the last of the one before", func(b *broken, sound stores) {
			listing(func(ctx context.Context, sound stores, t tenantID, state rules.DeliveryState, q store.PageQuery) (store.Page[rules.Delivery], error) {
				earlier := q
				earlier.Offset = max(0, q.Offset-1)
				p, err := sound.Deliveries(ctx, t, state, earlier)
				p.PageQuery = q
				return p, err
			})(b, sound)
		}},
		{"the pages of deliveries add up to the whole list", "the total is that of the page", ledgering(
			func(_ state, _ query, p *page) { p.Total = len(p.Data) })},
		{"the state filter selects the deliveries in a state", "every state is listed", func(b *broken, sound stores) {
			listing(func(ctx context.Context, sound stores, t tenantID, _ rules.DeliveryState, q store.PageQuery) (store.Page[rules.Delivery], error) {
				return sound.Deliveries(ctx, t, "", q)
			})(b, sound)
		}},
		{"the state filter selects the deliveries in a state", "the total is that of every state", func(b *broken, sound stores) {
			listing(func(ctx context.Context, sound stores, t tenantID, state rules.DeliveryState, q store.PageQuery) (store.Page[rules.Delivery], error) {
				p, err := sound.Deliveries(ctx, t, state, q)
				all, _ := sound.Deliveries(ctx, t, "", q)
				p.Total = all.Total
				return p, err
			})(b, sound)
		}},
		{"a delivery with a cancelled context is not saved", "SaveDelivery looks at no context", recording(
			func(ctx context.Context, s stores, t tenantID, d rules.Delivery) error {
				return s.SaveDelivery(context.WithoutCancel(ctx), t, d)
			})},
		{"two tenants have separate deliveries", "deliveries are kept by their run alone", func(b *broken, sound stores) {
			owners := memo[runID, tenantID]{}
			recording(func(ctx context.Context, sound stores, t tenantID, d rules.Delivery) error {
				owners.set(d.Run, t)
				return sound.SaveDelivery(ctx, t, d)
			})(b, sound)
			b.RowFunc = func(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
				parts := strings.Split(key, store.KeySeparator)
				if owner, ok := owners.get(runID(parts[1])); ok {
					parts[0] = string(owner)
				}
				return sound.Row(ctx, kind, strings.Join(parts, store.KeySeparator))
			}
		}},
	}
}
