// Tasks: what the engine does next for a run.

package rules

import (
	"strconv"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// TaskKind is the kind of a task.
type TaskKind string

// The kinds of task.
const (
	TaskNone       TaskKind = ""           // nothing: the run is parked or over
	TaskCheck      TaskKind = "check"      // call the provider
	TaskPoll       TaskKind = "poll"       // poll the provider for its pending result
	TaskRedispatch TaskKind = "redispatch" // decide Redispatch, then call the provider
	TaskWait       TaskKind = "wait"       // do nothing before At
)

// Task is what the engine does next for a run.
type Task struct {
	Kind TaskKind
	At   time.Time // of a TaskWait; zero for the others
}

// Task returns what the engine does next for the run at a given time.
func (r Run) Task(now time.Time) Task {
	switch r.Wait.Kind {
	case WaitResult:
		return Task{Kind: TaskCheck}
	case WaitPoll:
		if now.Before(r.Wait.At) {
			return Task{Kind: TaskWait, At: r.Wait.At}
		}
		return Task{Kind: TaskPoll}
	case WaitRetry:
		if now.Before(r.Wait.At) {
			return Task{Kind: TaskWait, At: r.Wait.At}
		}
		return Task{Kind: TaskRedispatch}
	case WaitNothing, WaitCustomer, WaitReview:
	}
	return Task{}
}

// Request returns the provider call of a run whose result is outstanding.
// It fails if a template of the node cannot be rendered.
func (r Run) Request(p workflow.Program, t verification.TenantID) (verification.CheckRequest, error) {
	w := r.Wait
	step, _ := r.Step(w.Node)
	req := verification.CheckRequest{
		Tenant: t, Run: r.ID, ReferenceID: r.Started.ReferenceID, StartedAt: r.StartedAt,
		Zone: r.Started.Zone, Node: w.Node, Key: step.Key, Dispatch: w.Dispatch,
		IdempotencyKey: string(r.ID) + "/" + string(w.Node) + "/" + strconv.Itoa(w.Dispatch),
		Input:          r.Started.Input, Needs: p.Needs(w.Node),
	}
	if tpl := p.Template(w.Node); tpl != nil {
		with, err := tpl.Render(r.scope())
		if err != nil {
			return verification.CheckRequest{}, err
		}
		req.With = with
	}
	return req, nil
}

// scope returns what expressions read from the run.
func (r Run) scope() workflow.Scope {
	steps := make([]workflow.StepValues, len(r.Steps))
	for i := range r.Steps {
		s := &r.Steps[i]
		steps[i] = workflow.StepValues{Node: s.Node, Status: string(s.Status), Passed: s.Status == StepPassed, Data: s.Data, Dispatches: s.Dispatches}
	}
	return workflow.Scope{
		Input: r.Started.Input, RunID: r.ID, ReferenceID: r.Started.ReferenceID,
		StartedAt: r.StartedAt, Steps: steps,
	}
}
