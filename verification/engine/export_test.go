package engine

import "github.com/verifyd/verifyd/verification"

// InLane returns how many commands and reads use the lane of a run.
func InLane(e *Engine, ref verification.RunRef) int {
	e.lanes.mu.Lock()
	defer e.lanes.mu.Unlock()
	if in := e.lanes.of[ref]; in != nil {
		return in.users
	}
	return 0
}
