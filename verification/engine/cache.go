// A bounded map that forgets what was used longest ago.

package engine

import (
	"container/list"
	"sync"
)

// cache is safe for concurrent use.
type cache[K comparable, V any] struct {
	mu    sync.Mutex
	most  int
	order *list.List // front is the newest
	items map[K]*list.Element
}

type cached[K comparable, V any] struct {
	key   K
	value V
}

func newCache[K comparable, V any](most int) *cache[K, V] {
	return &cache[K, V]{most: most, order: list.New(), items: map[K]*list.Element{}}
}

func (c *cache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.items[key]
	if !ok {
		var none V
		return none, false
	}
	c.order.MoveToFront(el)
	return el.Value.(*cached[K, V]).value, true
}

func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.items[key]; ok {
		el.Value.(*cached[K, V]).value = value
		c.order.MoveToFront(el)
		return
	}
	c.items[key] = c.order.PushFront(&cached[K, V]{key, value})
	if c.order.Len() > c.most {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		delete(c.items, oldest.Value.(*cached[K, V]).key)
	}
}
