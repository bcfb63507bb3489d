// The timers of a manual clock, the next one first.

package clock

import (
	"container/heap"
	"context"
	"time"
)

// timer is something to be done at a moment: a function to call, or a sleeper
// to wake.
type timer struct {
	at    time.Time
	order uint64 // of registration; parts timers of the same moment
	place int    // in the heap, or one of the two below

	call func() // nil for a sleeper

	ctx   context.Context // of a sleeper: once it is done, the sleeper is on its way
	woken chan struct{}   // of a sleeper: closed at its moment
}

// The places of a timer that is not in the heap.
const (
	over     = -1 // it fired, or was stopped
	starting = -2 // it was due when it was set, and its goroutine has not begun
)

// timers is a heap by moment, then by registration.
type timers []*timer

func (h timers) Len() int { return len(h) }

func (h timers) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].order < h[j].order
}

func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push is for container/heap: use add.
func (h *timers) Push(x any) {
	t, _ := x.(*timer)
	t.place = len(*h)
	*h = append(*h, t)
}

// Pop is for container/heap: use remove.
func (h *timers) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.place = over
	return t
}

func (h *timers) add(t *timer) { heap.Push(h, t) }

// remove takes out a timer that is still set, and tells whether it was.
func (h *timers) remove(t *timer) bool {
	if t.place < 0 {
		return false
	}
	heap.Remove(h, t.place)
	return true
}
