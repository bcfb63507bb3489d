// What clients were told.

package enginetest

import (
	"context"
	"slices"
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// Notices is a Notifier that keeps what it is given.
type Notices struct {
	mu    sync.Mutex
	kept  []verification.Notice
	fails []error
}

// Notify keeps the notice, and answers the next error of FailWith.
func (n *Notices) Notify(_ context.Context, notice verification.Notice) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kept = append(n.kept, notice)
	if len(n.fails) == 0 {
		return nil
	}
	err := n.fails[0]
	n.fails = n.fails[1:]
	return err
}

// FailWith has the next tries fail, one for each error.
func (n *Notices) FailWith(errs ...error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fails = append(n.fails, errs...)
}

// All lists every try so far, in its order.
func (n *Notices) All() []verification.Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.kept)
}
