// A bounded map that forgets what was used longest ago.

package engine

import "sync"

// cache is safe for concurrent use.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	most    int
	entries map[K]*entry[K, V]
	ring    entry[K, V] // its next is the newest entry, its prev the oldest
}

// entry is one place in the ring.
type entry[K comparable, V any] struct {
	key        K
	value      V
	next, prev *entry[K, V]
}

func newCache[K comparable, V any](most int) *cache[K, V] {
	c := &cache[K, V]{most: most, entries: map[K]*entry[K, V]{}}
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
	c.refresh(n)
	return n.value, true
}

func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.entries[key]
	if !ok {
		n = &entry[K, V]{key: key}
		n.next, n.prev = n, n
		c.entries[key] = n
	}
	n.value = value
	c.refresh(n)
	if len(c.entries) > c.most {
		oldest := c.ring.prev
		oldest.leave()
		delete(c.entries, oldest.key)
	}
}

// refresh makes an entry the newest.
func (c *cache[K, V]) refresh(n *entry[K, V]) {
	n.leave()
	n.next, n.prev = c.ring.next, &c.ring
	n.next.prev, n.prev.next = n, n
}

func (n *entry[K, V]) leave() { n.next.prev, n.prev.next = n.prev, n.next }
