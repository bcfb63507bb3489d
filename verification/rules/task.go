// Tasks: what the engine does next for a run.

package rules

import (
	"slices"
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

// Task returns what the engine does next for the run at a given time. If it waits for several checks, a retry that is
// due comes first, then a call, and a wait ends at the first of their times.
func (r Run) Task(now time.Time) Task {
	var first Task
	for i := range r.Waits {
		if task := r.Waits[i].Task(now); task.before(first) {
			first = task
		}
	}
	return first
}

// before reports whether a task comes before another one of the same run.
func (t Task) before(other Task) bool {
	if t.Kind == TaskWait && other.Kind == TaskWait {
		return t.At.Before(other.At)
	}
	order := func(k TaskKind) int {
		return slices.Index([]TaskKind{TaskRedispatch, TaskCheck, TaskPoll, TaskWait, TaskNone}, k)
	}
	return order(t.Kind) < order(other.Kind)
}

// Task returns what the engine does next for one of the checks that a run waits for.
func (w Wait) Task(now time.Time) Task {
	switch w.Kind {
	case WaitResult:
		return Task{Kind: TaskCheck}
	case WaitPoll, WaitCustomer:
		if w.Kind == WaitCustomer && w.At.IsZero() { // there is nothing to poll
			return Task{}
		}
		if now.Before(w.At) {
			return Task{Kind: TaskWait, At: w.At}
		}
		return Task{Kind: TaskPoll}
	case WaitRetry:
		if now.Before(w.At) {
			return Task{Kind: TaskWait, At: w.At}
		}
		return Task{Kind: TaskRedispatch}
	case WaitNothing, WaitReview:
	}
	return Task{}
}

// Request returns the provider call of one of the checks that a run waits for.
// It fails if a template of the node cannot be rendered.
func (r Run) Request(p workflow.Program, t verification.TenantID, w Wait) (verification.CheckRequest, error) {
	step, _ := r.Step(w.Node)
	req := verification.CheckRequest{
		Tenant: t, Run: r.ID, ReferenceID: r.Started.ReferenceID, StartedAt: r.StartedAt,
		Zone: r.Started.Zone, Node: w.Node, Key: step.Key, Dispatch: w.Dispatch,
		IdempotencyKey: string(r.ID) + "/" + string(w.Node) + "/" + strconv.Itoa(w.Dispatch),
		Input:          r.Started.Input, Needs: p.Needs(w.Node),
	}
	if tpl := p.Template(w.Node); tpl != nil {
		with, err := tpl.Render(r.scopeAt(w.Node))
		if err != nil {
			return verification.CheckRequest{}, err
		}
		req.With = with
	}
	return req, nil
}
