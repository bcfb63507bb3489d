// A host as its clients see it.

package linear

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Host runs operations on one run. Refusals that the contract defines are outputs;
// an error is a bug.
type Host interface {
	Do(ctx context.Context, in Input) (Output, error)
}

// EngineHost is a Host that calls an engine.
type EngineHost struct {
	Engine   *engine.Engine
	Tenant   verification.TenantID
	Workflow verification.WorkflowID // of this run alone
	Input    verification.Data       // of the run
	Run      *Run
}

// Run is the run of a trial, shared by its hosts. Its ID is empty until a start or a
// list has returned it.
type Run struct {
	mu sync.Mutex
	id verification.RunID
}

// is sets the ID and returns an error if there was another one.
func (r *Run) is(id verification.RunID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.id != "" && r.id != id {
		return fmt.Errorf("there are two runs, %s and %s", r.id, id)
	}
	r.id = id
	return nil
}

func (r *Run) known() verification.RunID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

// Do runs one operation.
func (d EngineHost) Do(ctx context.Context, in Input) (Output, error) {
	switch in.Op {
	case OpStart:
		return refused(d.start(ctx, in))
	case OpList:
		return d.list(ctx, in)
	case OpWake:
		d.Engine.Wake()
		return Output{Answer: Done}, nil
	case OpPassLease, OpAdvance, OpSettled, OpShown:
		return Output{}, fmt.Errorf("no host can %s", in.Op)
	case OpSubmit, OpVerdict, OpAskAgain, OpCancel, OpRead, OpReport:
	}
	run := d.Run.known()
	if run == "" {
		if out, err := d.list(ctx, Input{Op: OpList}); err != nil || !out.Listed {
			return Output{Answer: NotFound}, err
		}
		run = d.Run.known()
	}
	return refused(d.operate(ctx, run, in))
}

// start starts the run, or returns the run of the idempotency key.
func (d EngineHost) start(ctx context.Context, in Input) (Output, error) {
	v, err := d.Engine.Start(ctx, d.Tenant, d.Workflow, engine.StartRequest{
		ReferenceID: "trial", Input: d.Input, IdempotencyKey: string(d.Workflow), Wait: &in.Wait,
	})
	if err != nil {
		return Output{}, err
	}
	return Output{Answer: Done, View: viewed(v), Started: micros(v.StartedAt)}, d.Run.is(v.ID)
}

// operate runs an operation on a run that has been started.
func (d EngineHost) operate(ctx context.Context, run verification.RunID, in Input) (out Output, err error) {
	switch in.Op {
	case OpSubmit:
		var r engine.SignalResult
		r, err = d.Engine.Submit(ctx, d.Tenant, run, engine.SubmitRequest{Signal: in.Signal, Payload: payload(in)})
		out.Answer = r.Result
	case OpVerdict:
		var r engine.SignalResult
		r, err = d.Engine.GiveVerdict(ctx, d.Tenant, run, rules.GiveVerdict{
			Decision: rules.Decision(in.Decision), Notes: in.Notes,
		}, "")
		out.Answer, out.Decision = r.Result, string(r.Decision)
	case OpAskAgain:
		var r engine.SignalResult
		r, err = d.Engine.AskAgain(ctx, d.Tenant, run, rules.AskAgain{
			Step: verification.NodeID(in.Step), Reasons: []string{"blurred"}, By: "asha", Identity: "asha",
		}, "")
		out.Answer = r.Result
	case OpCancel:
		var v rules.RunView
		v, err = d.Engine.Cancel(ctx, d.Tenant, run)
		out.Answer, out.View = Done, viewed(v)
	case OpRead:
		var r rules.RunDetail
		r, err = d.Engine.Run(ctx, d.Tenant, run)
		out.Answer, out.View = Done, read(r)
	case OpReport:
		var r rules.Report
		if r, err = d.Engine.Report(ctx, d.Tenant, run); err == nil {
			out.Answer = Done
			out.View, err = reported(r)
		}
	case OpStart, OpList, OpWake, OpPassLease, OpAdvance, OpSettled, OpShown:
		return out, fmt.Errorf("%s is not about a run that has been started", in.Op)
	}
	return out, err
}

// list lists the runs of the workflow. The page and its total must agree.
func (d EngineHost) list(ctx context.Context, in Input) (Output, error) {
	page, err := d.Engine.Runs(ctx, d.Tenant, store.RunQuery{
		PageQuery: store.PageQuery{Limit: 10}, Workflow: d.Workflow,
		Status: rules.Status(in.Status), Decision: rules.Decision(in.Decision),
	})
	switch {
	case err != nil:
		return Output{}, err
	case page.Total == 0 && len(page.Data) == 0:
		return Output{Answer: Done}, nil
	case page.Total == 1 && len(page.Data) == 1:
		return Output{Answer: Done, Listed: true, View: viewed(page.Data[0])}, d.Run.is(page.Data[0].ID)
	}
	return Output{}, fmt.Errorf("the list of one run holds %d and counts %d", len(page.Data), page.Total)
}

// refused converts an expected error to an output.
func refused(out Output, err error) (Output, error) {
	var e *verification.Error
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, verification.ErrNotFound):
		return Output{Answer: NotFound}, nil
	case errors.Is(err, verification.ErrInFlight):
		return Output{Answer: InFlight}, nil
	case errors.Is(err, verification.ErrNotOpen):
		return Output{Answer: NotOpen}, nil
	case errors.Is(err, verification.ErrInvalid):
		return Output{Answer: Invalid}, nil
	case errors.Is(err, rules.ErrNoRounds):
		return Output{Answer: NoRounds}, nil
	case errors.Is(err, verification.ErrConflict) && errors.As(err, &e):
		for _, s := range rules.Statuses() {
			if strings.Contains(e.Message, "is "+string(s)) {
				return Output{Answer: Conflict + string(s)}, nil
			}
		}
	}
	return out, err
}

func payload(in Input) verification.Data {
	consent := strings.HasPrefix(in.Signal, string(Consent))
	switch {
	case in.Payload == Bad:
		return verification.Data(`{"wrong":true}`)
	case consent && in.Payload == Declined:
		return verification.Data(`{"consent_status":"declined"}`)
	case consent:
		return verification.Data(`{"consent_status":"success"}`)
	}
	return verification.Data(`{"pan":"ABCDE1234F"}`)
}

func viewed(v rules.RunView) View {
	s := View{Status: string(v.Status), Completed: micros(v.CompletedAt)}
	if v.Action != nil {
		s.Action, s.Signal, s.Linked = string(v.Action.Type), v.Action.SignalName, v.Action.URL != ""
	}
	return s.failed(v.Error)
}

func (s View) failed(e *rules.RunError) View {
	if e != nil {
		s.Code, s.FailedOn = string(e.Code), e.Check
	}
	return s
}

func (s View) decided(d rules.Decision, notes string, at time.Time, flags []rules.Flag) View {
	s.Decision, s.Notes, s.Resolved = string(d), notes, micros(at)
	var nodes []string
	for _, f := range flags {
		nodes = append(nodes, string(f.NodeID))
	}
	s.Flags = strings.Join(nodes, " ")
	return s
}

func read(r rules.RunDetail) View {
	s := viewed(r.RunView).decided(r.Decision, r.Notes, r.ResolvedAt, r.Flags)
	for _, c := range r.Checks { // those of a group as one
		if status := string(c.Status); s.Check == "" || s.Check == "passed" || status == "running" || status == "pending" {
			s.Check = status
		}
	}
	return s
}

func reported(r rules.Report) (View, error) {
	s := View{Status: string(r.Run.Status), Completed: micros(r.Run.CompletedAt)}.
		failed(r.Error).decided(r.Decision, r.Notes, r.ResolvedAt, r.Flags)
	s.NeedsReview = r.Summary.NeedsReview
	for _, c := range r.Cards {
		s.Dispatches += c.Dispatches
		if c.Status == rules.CardNeedsReview && !strings.Contains(" "+s.Flags+" ", " "+string(c.NodeID)+" ") {
			return s, fmt.Errorf("the card of %s needs a review, and reviews does not say so", c.NodeID)
		}
	}
	return s, nil
}

// micros returns a time in microseconds, or 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
