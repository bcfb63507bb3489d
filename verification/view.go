// A run as the API shows it, as of a moment.

package verification

import (
	"slices"
	"time"
)

// RunView is a run as lists show it.
type RunView struct {
	ID          RunID
	WorkflowID  WorkflowID
	ReferenceID string
	Status      Status
	StartedAt   time.Time
	CompletedAt time.Time // zero until terminal
	Action      *Action   // nil unless a live run waits on a human
	Error       *RunError // of a failed or expired run
}

// RunDetail is a run as it is read alone.
type RunDetail struct {
	RunView
	Checks     []Check
	Decision   Decision
	Notes      string
	ResolvedAt time.Time // zero without a verdict
	Reviews    []ReviewFlag
	// Revision is the length of the history behind this view.
	Revision int
}

// View is the run as lists show it at a moment. The URL of a customer's
// action is left to the engine.
func (s Summary) View(now time.Time) RunView {
	v := RunView{
		ID: s.ID, WorkflowID: s.Workflow, ReferenceID: s.ReferenceID,
		Status: s.StatusAt(now), StartedAt: s.StartedAt, CompletedAt: s.CompletedAt, Error: s.Error,
	}
	if s.expired(now) {
		e := deadlineError(s.Waiting == ActionCustomerInput)
		v.CompletedAt, v.Error = s.ExpiresAt, &e
	}
	if s.Waiting != "" && !v.Status.Terminal() {
		v.Action = &Action{Type: s.Waiting, SignalName: s.Signal}
	}
	return v
}

// Detail is the run as it reads alone at a moment.
func (r Run) Detail(now time.Time) RunDetail {
	r = r.AsOf(now)
	d := RunDetail{
		RunView: r.Summary().View(now), Checks: r.Checks(), Reviews: r.Reviews(),
		Decision: r.Decision(), Revision: r.Seq,
	}
	d.Notes, d.ResolvedAt = r.resolution()
	return d
}

// Checks lists the run's checks in execution order, one entry a key: where
// several nodes share a key, the one reached last tells.
func (r Run) Checks() []Check {
	var checks []Check
	var reached []int
	for _, s := range r.Steps {
		if s.Type != NodeCheck {
			continue
		}
		c := Check{Key: s.Key, Label: s.Label, Status: s.Status, Data: s.Data}
		i := slices.IndexFunc(checks, func(c Check) bool { return c.Key == s.Key })
		if i < 0 {
			checks, reached = append(checks, c), append(reached, s.reached)
		} else if s.reached > reached[i] {
			checks[i], reached[i] = c, s.reached
		}
	}
	return checks
}

// resolution is what goes with a decision that a reviewer gave.
func (r Run) resolution() (notes string, at time.Time) {
	if r.Decision().Verdict() {
		return r.Verdict.Notes, r.Verdict.At
	}
	return "", time.Time{}
}
