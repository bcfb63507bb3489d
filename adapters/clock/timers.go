// The timers of a manual clock, in the order in which they fire.

package clock

import (
	"container/heap"
	"context"
	"time"
)

// timer is a function to call or a sleeper to wake at a given time.
type timer struct {
	at    time.Time
	order uint64 // of registration, for timers of the same time
	index int    // in the heap, or one of the two below

	call func() // nil for a sleeper

	ctx   context.Context // of a sleeper; once it is done, the sleeper counts as awake
	woken chan struct{}   // of a sleeper; closed when the timer fires
}

// The index of a timer that is not in the heap.
const (
	done     = -1 // it has fired or was stopped
	starting = -2 // it was due when it was set, and its goroutine has not begun
)

// timers is a heap ordered by time, then by registration.
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
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface; call add instead.
func (h *timers) Push(x any) {
	t, _ := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop implements heap.Interface; call remove instead.
func (h *timers) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.index = done
	return t
}

func (h *timers) add(t *timer) { heap.Push(h, t) }

// remove removes a timer, and reports whether it was still set.
func (h *timers) remove(t *timer) bool {
	if t.index < 0 {
		return false
	}
	heap.Remove(h, t.index)
	return true
}
