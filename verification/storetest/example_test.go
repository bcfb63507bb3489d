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

// ownStore has a DeliveryStore of its own. The memory store has the ports that are still to
// be written.
type ownStore struct {
	store.Store

	mu         sync.Mutex
	deliveries map[verification.TenantID]map[rules.NoticeRef]rules.Delivery
}

func (s *ownStore) SaveDelivery(ctx context.Context, t verification.TenantID, d rules.Delivery) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deliveries[t] == nil {
		s.deliveries[t] = map[rules.NoticeRef]rules.Delivery{}
	}
	s.deliveries[t][rules.NoticeRef{Run: d.Run, Seq: d.Seq}] = d
	return nil
}

func (s *ownStore) Delivery(ctx context.Context, t verification.TenantID, n rules.NoticeRef) (rules.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.deliveries[t][n]
	if !ok {
		return d, verification.NotFound("delivery")
	}
	return d, ctx.Err()
}

func (s *ownStore) Deliveries(
	ctx context.Context, t verification.TenantID, state rules.DeliveryState, p store.PageQuery,
) (store.Page[rules.Delivery], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []rules.Delivery
	for _, d := range s.deliveries[t] {
		if state == "" || d.State == state {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b rules.Delivery) int {
		if rules.NewerDelivery(a, b) {
			return -1
		}
		return 1
	})
	page := store.Page[rules.Delivery]{Total: len(found), PageQuery: p}
	if p.Offset < len(found) {
		page.Data = found[p.Offset:min(p.Offset+p.Limit, len(found))]
	}
	return page, ctx.Err()
}

func TestAStoreIsWrittenPortByPort(t *testing.T) {
	storetest.Some(t, func(*testing.T) storetest.Ports { // all but the ports that remove deliveries with a run, or with time
		s := &ownStore{Store: memory.New(), deliveries: map[verification.TenantID]map[rules.NoticeRef]rules.Delivery{}}
		return storetest.Ports{
			RunStore: s, WorkQueue: s, WorkflowStore: s, RowStore: s, IdempotencyStore: s, DeliveryStore: s,
			MeasureStore: s, RescreenStore: s,
		}
	})
}
