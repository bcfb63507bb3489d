// Package fair shares a bounded number of slots among keys, such as tenants.
package fair

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Limiter bounds how many slots are held at once, in all and by each key. A free
// slot goes to the waiting key that holds the fewest; keys that hold equally many
// are served round robin, and the callers of one key in order of arrival. A key
// with thousands of callers therefore delays the first caller of another key by
// one slot, not by thousands. The cost of an operation does not depend on the
// number of callers that wait. A Limiter is safe for concurrent use.
type Limiter struct {
	perKey       int
	wait, resume func() // see OnWait
	rests        int    // see Rest
	grace        time.Duration
	clock        Clock

	mu   sync.Mutex
	free int
	keys map[string]*holder // the keys that hold a slot or wait for one
	// queues[n] lists the keys that wait and hold n slots, the next to serve first.
	queues []list.List
	queued int // keys in queues
}

// holder is one key.
type holder struct {
	key     string
	held    int
	waiting list.List     // of *waiter, in order of arrival
	queued  *list.Element // its element in queues[held]; nil when it is in none
}

// waiter is one call of Acquire that waits.
type waiter struct {
	slots   int
	waits   bool // wait was called for it
	granted chan struct{}
}

// NewLimiter returns a Limiter of max slots, of which one key may hold perKey at
// once. A max below 1 counts as 1; a perKey below 1 or above max counts as max.
func NewLimiter(max, perKey int) *Limiter {
	if max < 1 {
		max = 1
	}
	if perKey < 1 || perKey > max {
		perKey = max
	}
	return &Limiter{perKey: perKey, free: max, keys: map[string]*holder{}, queues: make([]list.List, perKey)}
}

// OnWait sets functions that are called when a caller begins to wait, and before
// it continues, with its slots or without. Both are called under a lock and must
// not block. OnWait must be called before the Limiter is used.
func (l *Limiter) OnWait(wait, resume func()) { l.wait, l.resume = wait, resume }

// Clock is what a Limiter needs of a clock.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// AfterFunc calls f once d has passed. The func that it returns cancels the
	// call and reports whether it was in time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// maxRest bounds how long a key rests.
const maxRest = 5 * time.Second

// Rest makes keys pause after long uses. If a slot was held for longer than grace, it counts
// against the share of its key for the excess multiplied by times, at most 5 s, after its
// release. Other keys may have the slot at once. Long uses of one key thus take about
// 1/(1+times) of the time of each slot of its share, unless a rest reaches the 5 s. Rest must
// be called before the Limiter is used.
func (l *Limiter) Rest(times int, grace time.Duration, c Clock) {
	l.rests, l.grace, l.clock = times, grace, c
}

// Acquire waits for a slot and returns the func that releases it, which may be
// called more than once. When ctx ends first, Acquire returns its cause (see
// [context.Cause]) and holds no slot.
func (l *Limiter) Acquire(ctx context.Context, key string) (release func(), err error) {
	return l.AcquireN(ctx, key, 1)
}

// AcquireN is Acquire for n slots at once. An n below 1 counts as 1; an n above
// the share of a key counts as the share.
func (l *Limiter) AcquireN(ctx context.Context, key string, n int) (release func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if release, ok := l.TryAcquireN(key, n); ok {
		return release, nil
	}
	w := &waiter{slots: min(max(n, 1), l.perKey), granted: make(chan struct{})}
	l.mu.Lock()
	h := l.holder(key)
	position := h.waiting.PushBack(w)
	l.enqueue(h)
	l.grant()
	if !w.isGranted() && l.wait != nil {
		w.waits = true
		l.wait()
	}
	l.mu.Unlock()

	select {
	case <-w.granted:
		return l.releaser(h, w.slots), nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.isGranted() { // at the same time: the slots go to the next caller
		l.release(h, w.slots)
		return nil, context.Cause(ctx)
	}
	if w.waits {
		l.resume()
	}
	l.dequeue(h)
	h.waiting.Remove(position)
	l.enqueue(h)
	l.forget(h)
	l.grant() // a caller behind it may need fewer slots
	return nil, context.Cause(ctx)
}

// TryAcquireN is AcquireN without waiting. It reports whether the slots were free
// and no other caller waits for them.
func (l *Limiter) TryAcquireN(key string, n int) (release func(), ok bool) {
	n = min(max(n, 1), l.perKey)
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > l.free || l.queued > 0 {
		return nil, false
	}
	h := l.holder(key)
	if h.waiting.Len() > 0 || h.held+n > l.perKey {
		return nil, false
	}
	h.held += n
	l.free -= n
	return l.releaser(h, n), true
}

// holder returns the holder of a key.
func (l *Limiter) holder(key string) *holder {
	h := l.keys[key]
	if h == nil {
		h = &holder{key: key}
		l.keys[key] = h
	}
	return h
}

func (w *waiter) isGranted() bool {
	select {
	case <-w.granted:
		return true
	default:
		return false
	}
}

// releaser returns the func that releases slots, which may be called more than
// once.
func (l *Limiter) releaser(h *holder, n int) func() {
	released := false // guarded by l.mu
	var began time.Time
	if l.rests > 0 {
		began = l.clock.Now()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if released {
			return
		}
		released = true
		var rest time.Duration
		if l.rests > 0 {
			rest = min(time.Duration(l.rests)*(l.clock.Now().Sub(began)-l.grace), maxRest)
		}
		if rest <= 0 {
			l.release(h, n)
			return
		}
		l.free += n
		l.grant()
		l.clock.AfterFunc(rest, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.free -= n // as release expects
			l.release(h, n)
		})
	}
}

// release takes slots from a key and serves the next one.
func (l *Limiter) release(h *holder, n int) {
	l.dequeue(h)
	h.held -= n
	l.free += n
	l.enqueue(h)
	l.forget(h)
	l.grant()
}

// grant hands out free slots until no caller waits, or until the next caller
// needs more than are free: it is not overtaken.
func (l *Limiter) grant() {
	for l.free > 0 {
		h := l.next()
		if h == nil || h.first().slots > l.free {
			return
		}
		l.dequeue(h)
		w := h.first()
		h.waiting.Remove(h.waiting.Front())
		h.held += w.slots
		l.free -= w.slots
		if w.waits {
			l.resume()
		}
		close(w.granted)
		l.enqueue(h)
	}
}

// first returns the caller of the key that is served next.
func (h *holder) first() *waiter {
	return h.waiting.Front().Value.(*waiter) //nolint:errcheck // the list holds nothing else
}

// next returns the key to serve next, or nil.
func (l *Limiter) next() *holder {
	if l.queued == 0 {
		return nil
	}
	for i := range l.queues {
		if e := l.queues[i].Front(); e != nil {
			return e.Value.(*holder) //nolint:errcheck // the list holds nothing else
		}
	}
	return nil
}

// enqueue puts a key at the end of its queue, if the slots of its next caller are
// within the share.
func (l *Limiter) enqueue(h *holder) {
	if h.queued == nil && h.waiting.Len() > 0 && h.held+h.first().slots <= l.perKey {
		h.queued = l.queues[h.held].PushBack(h)
		l.queued++
	}
}

// dequeue takes a key out of its queue, if it is in one.
func (l *Limiter) dequeue(h *holder) {
	if h.queued != nil {
		l.queues[h.held].Remove(h.queued)
		h.queued = nil
		l.queued--
	}
}

// forget drops a key that neither holds a slot nor waits.
func (l *Limiter) forget(h *holder) {
	if h.held == 0 && h.waiting.Len() == 0 {
		delete(l.keys, h.key)
	}
}
