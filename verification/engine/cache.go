// A map of bounded size that drops what was used longest ago.

package engine

import "sync"

// cache is safe for concurrent use.
type cache[K comparable, V any] struct {
	max    int         // the sum of the sizes that are kept
	size   func(V) int // of one value
	maxOne int         // a larger value is not kept

	mu      sync.Mutex
	total   int
	entries map[K]*entry[K, V]
	ring    entry[K, V] // its next is the newest entry, its prev the oldest
}

// entry is one element of the ring.
type entry[K comparable, V any] struct {
	key        K
	value      V
	size       int
	next, prev *entry[K, V]
}

// newCache returns a cache of values whose sizes add up to max at most, each of
// them maxOne at most.
func newCache[K comparable, V any](max, maxOne int, size func(V) int) *cache[K, V] {
	c := &cache[K, V]{max: max, maxOne: maxOne, size: size, entries: map[K]*entry[K, V]{}}
	c.ring.next, c.ring.prev = &c.ring, &c.ring
	return c
}

func (c *cache[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.entries[key]
	if !ok {
		return value, false
	}
	n.leave()
	c.enter(n)
	return n.value, true
}

func (c *cache[K, V]) put(key K, value V) {
	size := c.size(value)
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.entries[key]; ok {
		c.drop(old)
	}
	if size > c.maxOne {
		return
	}
	n := &entry[K, V]{key: key, value: value, size: size}
	c.entries[key] = n
	c.total += size
	c.enter(n)
	for c.total > c.max {
		c.drop(c.ring.prev)
	}
}

func (c *cache[K, V]) drop(n *entry[K, V]) {
	n.leave()
	delete(c.entries, n.key)
	c.total -= n.size
}

// enter makes an entry the newest.
func (c *cache[K, V]) enter(n *entry[K, V]) {
	n.next, n.prev = c.ring.next, &c.ring
	n.next.prev, n.prev.next = n, n
}

func (n *entry[K, V]) leave() { n.next.prev, n.prev.next = n.prev, n.next }
