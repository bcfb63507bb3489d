// Package fair shares a bounded number of slots among keys, such as tenants.
package fair

import (
	"container/list"
	"context"
	"sync"
)

// Limiter bounds how many slots are held at once, in all and by each key. A free
// slot goes to a waiting key that holds the fewest; keys that hold equally many
// are served round robin, and the callers of one key in the order in which they
// came. So a key with thousands of callers delays the first caller of another
// key by one slot, not by thousands. Every operation costs the same however many
// wait. A Limiter is safe for concurrent use.
type Limiter struct {
	perKey int

	mu   sync.Mutex
	free int
	keys map[string]*holder // the keys that hold a slot or wait for one
	// rings[n] has the keys that wait and hold n slots, the next to serve first.
	rings []list.List
}

// holder is one key.
type holder struct {
	key     string
	held    int
	waiting list.List     // of *waiter, the first to come first
	at      *list.Element // its element in rings[held]; nil when it is in none
}

// waiter is one call of Acquire that waits.
type waiter struct {
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
	return &Limiter{perKey: perKey, free: max, keys: map[string]*holder{}, rings: make([]list.List, perKey)}
}

// Acquire waits for a slot and returns the func that gives it back, which may be
// called more than once. When ctx ends first, Acquire returns the cause of that
// (see [context.Cause]) and holds no slot.
func (l *Limiter) Acquire(ctx context.Context, key string) (release func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l.mu.Lock()
	h := l.keys[key]
	if h == nil {
		h = &holder{key: key}
		l.keys[key] = h
	}
	w := &waiter{granted: make(chan struct{})}
	place := h.waiting.PushBack(w)
	l.enter(h)
	l.grant()
	l.mu.Unlock()

	release = sync.OnceFunc(func() { l.release(h) })
	select {
	case <-w.granted:
		return release, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.granted: // at the same time: the slot goes to the next caller
		l.giveBack(h)
	default:
		h.waiting.Remove(place)
		if h.waiting.Len() == 0 {
			l.leave(h)
		}
		l.forget(h)
	}
	return nil, context.Cause(ctx)
}

func (l *Limiter) release(h *holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveBack(h)
}

// giveBack takes a slot from a key and serves the next one.
func (l *Limiter) giveBack(h *holder) {
	l.leave(h)
	h.held--
	l.free++
	l.enter(h)
	l.forget(h)
	l.grant()
}

// grant hands out free slots for as long as a key may have one.
func (l *Limiter) grant() {
	for l.free > 0 {
		h := l.next()
		if h == nil {
			return
		}
		l.leave(h)
		h.held++
		l.free--
		first := h.waiting.Front()
		close(first.Value.(*waiter).granted) //nolint:errcheck // the list holds nothing else
		h.waiting.Remove(first)
		l.enter(h)
	}
}

// next is the key to serve next, nil for none.
func (l *Limiter) next() *holder {
	for i := range l.rings {
		if e := l.rings[i].Front(); e != nil {
			return e.Value.(*holder) //nolint:errcheck // the list holds nothing else
		}
	}
	return nil
}

// enter puts a key at the end of its ring, if it waits and may hold one more.
func (l *Limiter) enter(h *holder) {
	if h.at == nil && h.waiting.Len() > 0 && h.held < l.perKey {
		h.at = l.rings[h.held].PushBack(h)
	}
}

// leave takes a key out of its ring, if it is in one.
func (l *Limiter) leave(h *holder) {
	if h.at != nil {
		l.rings[h.held].Remove(h.at)
		h.at = nil
	}
}

// forget drops a key that neither holds a slot nor waits.
func (l *Limiter) forget(h *holder) {
	if h.held == 0 && h.waiting.Len() == 0 {
		delete(l.keys, h.key)
	}
}
