// Those who wait for a run to come to rest.

package engine

import (
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// watchers wakes whoever waits for a run to come to rest on this host.
type watchers struct {
	mu   sync.Mutex
	runs map[verification.RunRef]map[chan struct{}]struct{}
}

// add returns a channel that holds a token once the run has come to rest, and a
// function that ends the watch.
func (w *watchers) add(ref verification.RunRef) (woken <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[verification.RunRef]map[chan struct{}]struct{}{}
	}
	if w.runs[ref] == nil {
		w.runs[ref] = map[chan struct{}]struct{}{}
	}
	w.runs[ref][c] = struct{}{}
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.runs[ref], c)
		if len(w.runs[ref]) == 0 {
			delete(w.runs, ref)
		}
	}
}

func (w *watchers) wake(ref verification.RunRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.runs[ref] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
