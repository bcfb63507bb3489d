// Entries: work that a clock for tests waits for.

package runner

import "github.com/verifyd/verifyd/verification"

// Entry is one call of Enter of an ActivityTracker, which Leave ends once. A nil Entry is none. It belongs to one
// goroutine at a time, and may be handed over.
type Entry struct{ of verification.ActivityTracker }

// Enter calls Enter.
func Enter(of verification.ActivityTracker) *Entry {
	of.Enter()
	return &Entry{of}
}

// Leave calls Leave, unless it has done so before.
func (e *Entry) Leave() {
	if e == nil || e.of == nil {
		return
	}
	e.of.Leave()
	e.of = nil
}
