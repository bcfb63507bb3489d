// What a run needs the engine to do next.

package verification

import (
	"strconv"
	"time"
)

// TaskKind is what the engine does next for a run.
type TaskKind string

// The kinds of task.
const (
	TaskNone       TaskKind = ""           // parked, or over
	TaskCheck      TaskKind = "check"      // call the provider
	TaskPoll       TaskKind = "poll"       // ask the provider for the answer it owes
	TaskRedispatch TaskKind = "redispatch" // decide Redispatch, then call
	TaskWait       TaskKind = "wait"       // nothing before At
)

// Task is what the engine does next for a run.
type Task struct {
	Kind TaskKind
	At   time.Time // of a wait
}

// Task is what the run needs next, as of a moment.
func (r Run) Task(now time.Time) Task {
	switch r.Wait.Kind {
	case WaitAnswer:
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

// Request is the call that a run waiting for an answer makes of its provider.
// It fails when a template of the node cannot be filled in.
func (p Program) Request(t TenantID, r Run) (CheckRequest, error) {
	w := r.Wait
	step, _ := r.Step(w.Node)
	req := CheckRequest{
		Tenant: t, Run: r.ID, ReferenceID: r.Started.ReferenceID,
		Node: w.Node, Key: step.Key, Dispatch: w.Dispatch,
		IdempotencyKey: string(r.ID) + "/" + string(w.Node) + "/" + strconv.Itoa(w.Dispatch),
		Input:          r.Started.Input,
	}
	if tpl := p.templates[w.Node]; tpl != nil {
		with, err := tpl.Render(r.scope())
		if err != nil {
			return CheckRequest{}, err
		}
		req.With = with
	}
	return req, nil
}
