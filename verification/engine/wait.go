// Waiting until a run comes to rest: until it parks on a human or ends.

package engine

import (
	"context"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// pollInterval is how often a waiting request reads the run, in case another host
// drives it.
const pollInterval = 100 * time.Millisecond

// awaitRest waits until the run comes to rest, but for at most timeout, and returns
// the run as it was last read. woken is the channel of a watch of the run.
func (e *Engine) awaitRest(ctx context.Context, ref verification.RunRef, woken <-chan struct{}, run rules.Run, timeout time.Duration) rules.Run {
	if timeout <= 0 {
		return run
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for !atRest(run) {
		select {
		case <-ctx.Done():
			return run
		case <-woken: // by this host, which has just saved the run
			if saved := e.runs.cached(ref); saved.Seq > run.Seq {
				run = saved
				continue
			}
		case <-poll.C:
		}
		if fresh, err := e.load(ctx, ref); err == nil {
			run = fresh
		}
	}
	return run
}

func atRest(r rules.Run) bool {
	w := r.Wait()
	return r.Ended != "" || w.Kind == rules.WaitCustomer || w.Kind == rules.WaitReview
}

// watchers are the requests that wait for a run to come to rest on this host.
type watchers struct {
	mu   sync.Mutex
	runs map[verification.RunRef]map[chan struct{}]struct{}
}

// add returns a channel that receives a value once the run comes to rest, and a
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
