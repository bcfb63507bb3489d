// How notices fared, a ledger for each tenant.

package memory

import (
	"context"
	"sync"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// ledgers holds the deliveries of every tenant.
type ledgers struct {
	mu sync.RWMutex
	of map[verification.TenantID]*ledger
}

// ledger holds the deliveries of one tenant, one a run, and orders those of
// each state newest first. The empty state holds them all.
type ledger struct {
	kept  map[verification.RunID]verification.Delivery
	order map[verification.DeliveryState]*btree.BTreeG[verification.Delivery]
}

func newLedgers() ledgers {
	return ledgers{of: map[verification.TenantID]*ledger{}}
}

func newLedger() *ledger {
	return &ledger{
		kept:  map[verification.RunID]verification.Delivery{},
		order: map[verification.DeliveryState]*btree.BTreeG[verification.Delivery]{},
	}
}

// SaveDelivery creates or replaces the delivery of a run.
func (s *Store) SaveDelivery(ctx context.Context, t verification.TenantID, d verification.Delivery) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.ledgers.mu.Lock()
	defer s.ledgers.mu.Unlock()
	l := s.ledgers.of[t]
	if l == nil {
		l = newLedger()
		s.ledgers.of[t] = l
	}
	if old, ok := l.kept[d.Run]; ok {
		l.in("").Delete(old)
		l.in(old.State).Delete(old)
	}
	l.kept[d.Run] = d
	l.in("").Set(d)
	l.in(d.State).Set(d)
	return nil
}

// Delivery returns the delivery of a run, or ErrNotFound.
func (s *Store) Delivery(ctx context.Context, t verification.TenantID, run verification.RunID) (verification.Delivery, error) {
	if err := ctx.Err(); err != nil {
		return verification.Delivery{}, err
	}
	s.ledgers.mu.RLock()
	defer s.ledgers.mu.RUnlock()
	if l := s.ledgers.of[t]; l != nil {
		if d, ok := l.kept[run]; ok {
			return d, nil
		}
	}
	return verification.Delivery{}, notFound("delivery")
}

// Deliveries returns one page of those in a state, newest first.
func (s *Store) Deliveries(ctx context.Context, t verification.TenantID, state verification.DeliveryState, q verification.PageQuery) (verification.Page[verification.Delivery], error) {
	p := verification.Page[verification.Delivery]{PageQuery: q}
	if err := ctx.Err(); err != nil {
		return p, err
	}
	s.ledgers.mu.RLock()
	defer s.ledgers.mu.RUnlock()
	l := s.ledgers.of[t]
	if l == nil || l.order[state] == nil {
		return p, nil
	}
	order := l.order[state]
	p.Total = order.Len()
	first, ok := order.GetAt(q.Offset)
	if !ok || q.Limit < 1 {
		return p, nil
	}
	order.Ascend(first, func(d verification.Delivery) bool {
		p.Data = append(p.Data, d)
		return len(p.Data) < q.Limit
	})
	return p, nil
}

// in is the tree of one state.
func (l *ledger) in(state verification.DeliveryState) *btree.BTreeG[verification.Delivery] {
	tree := l.order[state]
	if tree == nil {
		tree = btree.NewBTreeGOptions(verification.NewerDelivery, btree.Options{NoLocks: true})
		l.order[state] = tree
	}
	return tree
}
