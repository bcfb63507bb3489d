// Package lru provides a cache that is bounded by the size of its values.
package lru

import (
	"container/list"
	"sync"
	"time"
)

// Cache is a map that drops the least recently used values when their sizes add
// up to more than its limit. Make one with New; it is safe for concurrent use.
type Cache[K comparable, V any] struct {
	max, maxValue int
	size          func(V) int

	mu      sync.Mutex
	total   int
	entries map[K]*list.Element
	order   list.List // of *entry[K, V], the most recently used first

	after  func(time.Duration, func()) (stop func() bool) // nil for a cache that does not age
	turns  int                                            // so far
	ticked bool                                           // the next turn has its timer
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int
	turn  int // the number of turns when it was last used
}

// turnEvery is the time between two turns.
const turnEvery = 5 * time.Minute

// New returns a cache of values whose sizes add up to at most max. A value larger
// than maxValue is not kept.
func New[K comparable, V any](max, maxValue int, size func(V) int) *Cache[K, V] {
	return &Cache[K, V]{max: max, maxValue: min(max, maxValue), size: size, entries: map[K]*list.Element{}}
}

// Aging makes the cache drop values 5 to 10 minutes after their last use, and returns it. It must be called
// before the cache is used. after is AfterFunc of a clock; it is called while the cache has values.
func (c *Cache[K, V]) Aging(after func(time.Duration, func()) (stop func() bool)) *Cache[K, V] {
	c.after = after
	return c
}

// turn drops what was not used since the turn before the last one.
func (c *Cache[K, V]) turn() {
	c.mu.Lock()
	c.turns++
	for e := c.order.Back(); e != nil && e.Value.(*entry[K, V]).turn < c.turns-1; e = c.order.Back() { //nolint:errcheck // the list holds nothing else
		c.remove(e)
	}
	c.ticked = len(c.entries) > 0
	again := c.ticked
	c.mu.Unlock()
	if again {
		c.after(turnEvery, c.turn)
	}
}

// Clear drops all values.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.order.Init()
	c.total = 0
}

// Get returns the value of a key, if it is kept.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	found := e.Value.(*entry[K, V]) //nolint:errcheck // the list holds nothing else
	found.turn = c.turns
	return found.value, true
}

// Put replaces the value of a key. When the new value is too large, the cache
// keeps neither.
func (c *Cache[K, V]) Put(key K, value V) {
	if c.put(key, value, c.size(value)) {
		c.after(turnEvery, c.turn)
	}
}

// put is Put. ages reports whether the cache had no timer, and needs one now.
func (c *Cache[K, V]) put(key K, value V, size int) (ages bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	switch {
	case size > c.maxValue:
		if ok {
			c.remove(e)
		}
		return false
	case ok:
		old := e.Value.(*entry[K, V]) //nolint:errcheck // the list holds nothing else
		c.total -= old.size
		old.value, old.size, old.turn = value, size, c.turns
		c.order.MoveToFront(e)
	default:
		c.entries[key] = c.order.PushFront(&entry[K, V]{key, value, size, c.turns})
	}
	for c.total += size; c.total > c.max; {
		c.remove(c.order.Back())
	}
	ages = c.after != nil && !c.ticked
	c.ticked = c.ticked || ages
	return ages
}

// Delete drops the value of a key.
func (c *Cache[K, V]) Delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.remove(e)
	}
}

func (c *Cache[K, V]) remove(e *list.Element) {
	old := c.order.Remove(e).(*entry[K, V]) //nolint:errcheck // the list holds nothing else
	delete(c.entries, old.key)
	c.total -= old.size
}
