// A notifier that records notices.

package enginetest

import (
	"context"
	"slices"
	"sync"

	"github.com/verifyd/verifyd/verification/rules"
)

// Notices is a Notifier that records what it receives.
type Notices struct {
	mu       sync.Mutex
	received []rules.Notice
	errs     []error
}

// Notify records the notice, and returns the next error of FailWith.
func (n *Notices) Notify(_ context.Context, notice rules.Notice) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.received = append(n.received, notice)
	if len(n.errs) == 0 {
		return nil
	}
	err := n.errs[0]
	n.errs = n.errs[1:]
	return err
}

// FailWith makes the next attempts fail, one with each error.
func (n *Notices) FailWith(errs ...error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.errs = append(n.errs, errs...)
}

// All returns the notices of all attempts so far, in order.
func (n *Notices) All() []rules.Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.received)
}
