// The deliveries of notices.

package memory

import (
	"context"
	"sync"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

type deliveries struct {
	mu      sync.RWMutex
	tenants map[verification.TenantID]*tenantDeliveries
}

// tenantDeliveries has the deliveries of one tenant by run, and those of each state
// newest first. The empty state has all.
type tenantDeliveries struct {
	byRun  map[verification.RunID]verification.Delivery
	states map[verification.DeliveryState]*btree.BTreeG[verification.Delivery]
}

// SaveDelivery creates or replaces the delivery of a run.
func (s *Store) SaveDelivery(ctx context.Context, t verification.TenantID, d verification.Delivery) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.deliveries.mu.Lock()
	defer s.deliveries.mu.Unlock()
	all := s.deliveries.tenants[t]
	if all == nil {
		all = &tenantDeliveries{
			byRun:  map[verification.RunID]verification.Delivery{},
			states: map[verification.DeliveryState]*btree.BTreeG[verification.Delivery]{},
		}
		s.deliveries.tenants[t] = all
	}
	if old, ok := all.byRun[d.Run]; ok {
		all.state("").Delete(old)
		all.state(old.State).Delete(old)
	}
	all.byRun[d.Run] = d
	all.state("").Set(d)
	all.state(d.State).Set(d)
	return nil
}

// Delivery returns the delivery of a run, or ErrNotFound.
func (s *Store) Delivery(ctx context.Context, t verification.TenantID, run verification.RunID) (verification.Delivery, error) {
	if err := ctx.Err(); err != nil {
		return verification.Delivery{}, err
	}
	s.deliveries.mu.RLock()
	defer s.deliveries.mu.RUnlock()
	if all := s.deliveries.tenants[t]; all != nil {
		if d, ok := all.byRun[run]; ok {
			return d, nil
		}
	}
	return verification.Delivery{}, verification.NotFound("delivery")
}

// Deliveries returns one page of the deliveries in a state, newest first.
func (s *Store) Deliveries(ctx context.Context, t verification.TenantID, state verification.DeliveryState, q verification.PageQuery) (verification.Page[verification.Delivery], error) {
	s.deliveries.mu.RLock()
	defer s.deliveries.mu.RUnlock()
	all := s.deliveries.tenants[t]
	if err := ctx.Err(); err != nil || all == nil {
		return verification.Page[verification.Delivery]{PageQuery: q}, err
	}
	return readPage(all.states[state], q, func(d verification.Delivery) verification.Delivery { return d }), nil
}

func (d *tenantDeliveries) state(state verification.DeliveryState) *btree.BTreeG[verification.Delivery] {
	tree := d.states[state]
	if tree == nil {
		tree = newTree(verification.NewerDelivery)
		d.states[state] = tree
	}
	return tree
}
