// A cache of printed reports, bounded by bytes.

package pdf

import (
	"container/list"
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// key identifies what is printed: the digest identifies the recorded history of
// the run, and the status may change with time alone.
type key struct {
	tenant verification.TenantID
	run    verification.RunID
	digest string
	status verification.Status
}

func keyOf(t verification.TenantID, r verification.Report) key {
	return key{t, r.Run.ID, r.Digest, r.Run.Status}
}

// cache evicts the least recently used report. It is safe for concurrent use.
type cache struct {
	max int // bytes

	mu    sync.Mutex
	bytes int
	order *list.List // of *printedReport, the most recently used first
	items map[key]*list.Element
}

// printedReport is immutable.
type printedReport struct {
	key key
	out []byte
}

// newCache returns a cache of max bytes; a negative number caches nothing.
func newCache(maxBytes int) *cache {
	return &cache{max: maxBytes, order: list.New(), items: map[key]*list.Element{}}
}

func (c *cache) get(k key) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[k]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	item, ok := e.Value.(*printedReport)
	if !ok {
		return nil, false
	}
	return item.out, true
}

func (c *cache) add(k key, out []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[k]; ok || len(out) > c.max {
		return
	}
	c.items[k] = c.order.PushFront(&printedReport{k, out})
	c.bytes += len(out)
	for c.bytes > c.max {
		item, ok := c.order.Remove(c.order.Back()).(*printedReport)
		if !ok {
			return
		}
		delete(c.items, item.key)
		c.bytes -= len(item.out)
	}
}
