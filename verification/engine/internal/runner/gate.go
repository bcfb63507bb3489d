// The gate: many runs are driven beside each other, or one alone.

package runner

import (
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// gate lets many runs be driven at once, or one alone. It needs no lock of the runner.
type gate struct {
	activity verification.ActivityTracker

	mu      sync.Mutex
	driven  int             // runs that are driven beside each other
	alone   bool            // a run is driven alone, or waits until it is
	last    chan struct{}   // the run waits on it until driven is 0; nil if none waits
	waiting []chan struct{} // runs that wait until alone is false
}

// enter waits until no run is driven alone; leave must follow.
func (g *gate) enter() {
	g.mu.Lock()
	if !g.alone {
		g.driven++
		g.mu.Unlock()
		return
	}
	free := make(chan struct{})
	g.waiting = append(g.waiting, free)
	g.mu.Unlock()
	g.activity.Leave()
	<-free // until the trial ends, which is bounded
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.driven--; g.driven == 0 && g.last != nil {
		g.activity.Enter()
		close(g.last)
		g.last = nil
	}
}

// enterAlone waits until no run is driven; leaveAlone must follow. One run may do so at a time.
func (g *gate) enterAlone() {
	g.mu.Lock()
	g.alone = true
	if g.driven == 0 {
		g.mu.Unlock()
		return
	}
	free := make(chan struct{})
	g.last = free
	g.mu.Unlock()
	g.activity.Leave()
	<-free // until the steps under way are done
}

func (g *gate) leaveAlone() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.alone = false
	for _, free := range g.waiting {
		g.driven++
		g.activity.Enter()
		close(free)
	}
	g.waiting = nil
}
