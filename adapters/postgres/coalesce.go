// Concurrent calls with the same key share one result.

package postgres

import (
	"context"
	"sync"
)

// coalescer combines concurrent calls of a function that have the same key. A
// call that arrives while the function runs waits for the next run, so its result
// is never older than the call. No result is cached.
type coalescer[K comparable, V any] struct {
	load func(context.Context, K) (V, error)

	mu      sync.Mutex
	running map[K]*call[V] // the next call of each key; nil when no caller waits
}

// call is one run of the function, and its result once done is closed.
type call[V any] struct {
	done  chan struct{}
	value V
	err   error
}

func newCoalescer[K comparable, V any](load func(context.Context, K) (V, error)) *coalescer[K, V] {
	return &coalescer[K, V]{load: load, running: map[K]*call[V]{}}
}

// get calls the function, or waits for a run that begins after get was called.
// The context of the function does not end with ctx.
func (c *coalescer[K, V]) get(ctx context.Context, key K) (V, error) {
	var zero V
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	c.mu.Lock()
	next, running := c.running[key]
	if !running {
		c.running[key] = nil
		c.mu.Unlock()
		first := &call[V]{done: make(chan struct{})}
		c.run(context.WithoutCancel(ctx), key, first)
		return first.value, first.err
	}
	if next == nil {
		next = &call[V]{done: make(chan struct{})}
		c.running[key] = next
	}
	c.mu.Unlock()
	select {
	case <-next.done:
		return next.value, next.err
	case <-ctx.Done():
		return zero, ctx.Err()
	}
}

// run calls the function for p, and starts the next run if callers wait for one.
func (c *coalescer[K, V]) run(ctx context.Context, key K, p *call[V]) {
	p.value, p.err = c.load(ctx, key)
	close(p.done)
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.running[key]
	if next == nil {
		delete(c.running, key)
		return
	}
	c.running[key] = nil
	go c.run(ctx, key, next)
}
