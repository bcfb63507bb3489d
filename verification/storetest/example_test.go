// An example of a store that is written port by port. docs/writing-an-adapter.md explains it.

package storetest_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/storetest"
)

// ownStore keeps the deliveries itself. The memory store has the tables and ports that are still to
// be written.
type ownStore struct {
	store.Store

	mu         sync.Mutex
	deliveries map[string]store.DeliveryRecord // by their keys
}

func (s *ownStore) Change(ctx context.Context, rows []store.Record) error {
	d, ok := rows[0].(store.DeliveryRecord)
	if !ok {
		return s.Store.Change(ctx, rows)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() == nil {
		s.deliveries[store.KeyOf(d)] = d
	}
	return ctx.Err()
}

func (s *ownStore) Row(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
	if kind != store.RecordDelivery {
		return s.Store.Row(ctx, kind, key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.deliveries[key]
	if !ok {
		return nil, verification.NotFound("delivery")
	}
	return d, ctx.Err()
}

func (s *ownStore) Rows(ctx context.Context, q store.RowQuery) (store.Page[store.Record], error) {
	if q.Kind != store.RecordDelivery {
		return s.Store.Rows(ctx, q)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []store.DeliveryRecord
	for _, d := range s.deliveries {
		if d.Tenant == q.Tenant && (q.State == "" || d.Delivery.State == q.State) {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b store.DeliveryRecord) int {
		if rules.NewerDelivery(a.Delivery, b.Delivery) {
			return -1
		}
		return 1
	})
	page := store.Page[store.Record]{Total: len(found), PageQuery: q.PageQuery}
	for _, d := range found[min(q.Offset, len(found)):min(q.Offset+q.Limit, len(found))] {
		page.Data = append(page.Data, d)
	}
	return page, ctx.Err()
}

func TestAStoreIsWrittenPortByPort(t *testing.T) {
	storetest.Some(t, func(*testing.T) storetest.Ports { // all but the ports that remove deliveries with a run, or with time
		s := &ownStore{Store: memory.New(), deliveries: map[string]store.DeliveryRecord{}}
		return storetest.Ports{
			RunStore: s, WorkQueue: s, WorkflowStore: s, RowStore: s, MeasureStore: s, RescreenStore: s,
		}
	})
}
