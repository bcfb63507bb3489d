// Keeps the reports that were printed last, up to a number of bytes.

package pdf

import (
	"container/list"
	"sync"
)

// cache forgets what was not asked for the longest. Safe for concurrent use.
type cache struct {
	most int // bytes

	mu    sync.Mutex
	bytes int
	order *list.List // of *kept, the latest in front
	items map[key]*list.Element
}

// kept is a printed report. Its bytes are never changed.
type kept struct {
	key key
	out []byte
}

// newCache makes a cache of so many bytes; one of less than none keeps nothing.
func newCache(most int) *cache {
	return &cache{most: most, order: list.New(), items: map[key]*list.Element{}}
}

func (c *cache) find(k key) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[k]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	item, ok := e.Value.(*kept)
	if !ok {
		return nil, false
	}
	return item.out, true
}

func (c *cache) keep(k key, out []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[k]; ok || len(out) > c.most {
		return
	}
	c.items[k] = c.order.PushFront(&kept{k, out})
	c.bytes += len(out)
	for c.bytes > c.most {
		last := c.order.Back()
		item, ok := c.order.Remove(last).(*kept)
		if !ok {
			return
		}
		delete(c.items, item.key)
		c.bytes -= len(item.out)
	}
}
