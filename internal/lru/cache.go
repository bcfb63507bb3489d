// Package lru provides a cache that is bounded by the size of its values.
package lru

import (
	"container/list"
	"sync"
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
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// New returns a cache of values whose sizes add up to at most max. A value larger
// than maxValue is not kept.
func New[K comparable, V any](max, maxValue int, size func(V) int) *Cache[K, V] {
	return &Cache[K, V]{max: max, maxValue: min(max, maxValue), size: size, entries: map[K]*list.Element{}}
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
	return e.Value.(*entry[K, V]).value, true //nolint:errcheck // the list holds nothing else
}

// Put replaces the value of a key. When the new value is too large, the cache
// keeps neither.
func (c *Cache[K, V]) Put(key K, value V) {
	size := c.size(value)
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	switch {
	case size > c.maxValue:
		if ok {
			c.remove(e)
		}
		return
	case ok:
		old := e.Value.(*entry[K, V]) //nolint:errcheck // the list holds nothing else
		c.total -= old.size
		old.value, old.size = value, size
		c.order.MoveToFront(e)
	default:
		c.entries[key] = c.order.PushFront(&entry[K, V]{key, value, size})
	}
	for c.total += size; c.total > c.max; {
		c.remove(c.order.Back())
	}
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
