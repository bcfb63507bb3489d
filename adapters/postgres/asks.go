// Questions that many ask at once: one answer for all who wait for it.

package postgres

import (
	"context"
	"sync"
)

// asks puts questions of one kind together. Who asks while an answer is on its
// way waits for the next one, so that nobody is told what was true before he
// asked. Nothing is kept.
type asks[K comparable, V any] struct {
	ask func(context.Context, K) (V, error)

	mu   sync.Mutex
	open map[K]*question[V]
}

// question is one that is being asked: the answer under way, and the one that
// those wait for who came since.
type question[V any] struct {
	next *answer[V] // nil while nobody waits for it
}

// answer is told to all who wait for it.
type answer[V any] struct {
	ready chan struct{}
	value V
	err   error
}

func newAsks[K comparable, V any](ask func(context.Context, K) (V, error)) *asks[K, V] {
	return &asks[K, V]{ask: ask, open: map[K]*question[V]{}}
}

// get asks, or waits for one who does. What ask is given does not end with the
// ctx of one caller.
func (a *asks[K, V]) get(ctx context.Context, key K) (V, error) {
	var none V
	if err := ctx.Err(); err != nil {
		return none, err
	}
	a.mu.Lock()
	q := a.open[key]
	if q == nil {
		a.open[key] = &question[V]{}
		a.mu.Unlock()
		mine := &answer[V]{ready: make(chan struct{})}
		a.answer(context.WithoutCancel(ctx), key, mine)
		return mine.value, mine.err
	}
	if q.next == nil {
		q.next = &answer[V]{ready: make(chan struct{})}
	}
	mine := q.next
	a.mu.Unlock()
	select {
	case <-mine.ready:
		return mine.value, mine.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// answer asks for one answer, and has those who came meanwhile answered next.
func (a *asks[K, V]) answer(ctx context.Context, key K, to *answer[V]) {
	to.value, to.err = a.ask(ctx, key)
	close(to.ready)
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.open[key]
	if q.next == nil {
		delete(a.open, key)
		return
	}
	next := q.next
	q.next = nil
	go a.answer(ctx, key, next)
}
