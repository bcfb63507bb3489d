// Cache: the runs that this host has in memory.

package engine

import (
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// newest returns the run of s as s or the cache has it.
func (s *session) newest() rules.Run {
	if run := s.cached(s.ref); run.Seq > s.run.Seq || s.run.Seq == 0 {
		return run
	}
	return s.run
}

// cached returns a run as it was last read or changed, without history if it is neither
// in the cache nor in its lane.
func (e *Engine) cached(ref verification.RunRef) rules.Run {
	run, _ := e.runs.Get(ref)
	if run.Seq == 0 {
		run = e.lanes.run(ref)
	}
	run.ID = ref.Run
	return run
}

// fold returns run after events, and caches it. Of a restricted run it is what may be read: see rules.Shown.
func (e *Engine) fold(ref verification.RunRef, run rules.Run, events []rules.Event) rules.Run {
	if len(events) > 0 {
		if run.Seq == 0 {
			events = rules.Shown(events)
		}
		run = run.EvolveAll(events)
		e.remember(ref, run)
	}
	return run
}

// remember caches a run. Of a large run, the cache has only the ID, see knownLarge, and its lane has the run.
func (e *Engine) remember(ref verification.RunRef, run rules.Run) {
	if run.Size() > largeRun {
		e.lanes.keep(ref, run)
		run = rules.Run{ID: run.ID}
	} else {
		e.lanes.drop(ref)
	}
	e.runs.Put(ref, run)
}

// forget drops what was cached of a run.
func (e *Engine) forget(ref verification.RunRef) {
	e.runs.Delete(ref)
	e.lanes.drop(ref)
}

// knownLarge reports whether a run was large when this host last read or changed it.
func (e *Engine) knownLarge(ref verification.RunRef) bool {
	run, ok := e.runs.Get(ref)
	return ok && run.Seq == 0
}
