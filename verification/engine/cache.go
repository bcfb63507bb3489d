// Cache: the runs that this host has in memory.

package engine

import (
	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// runCache is the cache of runs. Of a large run, it has only the ID, and its lane has the run.
type runCache struct {
	*lru.Cache[verification.RunRef, rules.Run]

	lanes *lanes
}

func newRunCache(bytes int, l *lanes) runCache {
	size := func(r rules.Run) int { return r.Size() }
	return runCache{lru.New[verification.RunRef](bytes, largeRun, size), l}
}

// newest returns the run of s as s or the cache has it.
func (s *session) newest() rules.Run {
	if run := s.runs.cached(s.ref); run.Seq > s.run.Seq || s.run.Seq == 0 {
		return run
	}
	return s.run
}

// cached returns a run as it was last read or changed, without history if it is neither
// in the cache nor in its lane.
func (c runCache) cached(ref verification.RunRef) rules.Run {
	run, _ := c.Get(ref)
	if run.Seq == 0 {
		run = c.lanes.run(ref)
	}
	run.ID = ref.Run
	return run
}

// fold returns run after events, and caches it. Of a restricted run it is what may be read: see rules.Shown.
func (c runCache) fold(ref verification.RunRef, run rules.Run, events []rules.Event) rules.Run {
	if len(events) > 0 {
		if run.Seq == 0 {
			events = rules.Shown(events)
		}
		run = run.EvolveAll(events)
		c.remember(ref, run)
	}
	return run
}

// remember caches a run.
func (c runCache) remember(ref verification.RunRef, run rules.Run) {
	if run.Size() > largeRun {
		c.lanes.keep(ref, run)
		run = rules.Run{ID: run.ID}
	} else {
		c.lanes.drop(ref)
	}
	c.Put(ref, run)
}

// forget drops what was cached of a run.
func (c runCache) forget(ref verification.RunRef) {
	c.Delete(ref)
	c.lanes.drop(ref)
}

// ForgetRuns drops the runs that are in memory, so that they are read again. A host calls it when the store may have lost
// changes that the host knows.
func (e *Engine) ForgetRuns() {
	e.runs.Clear()
	e.lanes.clear()
}

// knownLarge reports whether a run was large when this host last read or changed it.
func (c runCache) knownLarge(ref verification.RunRef) bool {
	run, ok := c.Get(ref)
	return ok && run.Seq == 0
}
