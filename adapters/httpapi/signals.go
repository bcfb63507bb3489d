// Signals: a reviewer's verdict, or the data of a customer.

package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// deliverSignal delivers a signal to a run. It checks the body before it looks
// for the run.
func (a *api) deliverSignal(w *response, r *http.Request, who caller) error {
	name := pathParam(r, "signal_name")
	var (
		submission signalBody
		verdict    reviewBody
		resubmit   resubmitBody
		body       any = &submission
	)
	switch name {
	case workflow.ReviewSignal:
		body = &verdict
	case workflow.ResubmitSignal:
		body = &resubmit
	}
	problems, err := a.body(w, r, who, body)
	if err != nil {
		return err
	}
	if err := verdict.Payload.refuse(); err != nil {
		return err
	}
	key, err := idempotencyKey(r.Header, problems)
	if err != nil {
		return err
	}
	id, err := verification.ParseRunID(pathParam(r, "run_id"))
	if err != nil {
		return missing("run")
	}
	ctx := context.WithoutCancel(r.Context())
	var result engine.SignalResult
	switch body {
	case &verdict:
		result, err = a.engine.GiveVerdict(ctx, who.tenant, id, rules.GiveVerdict{
			Decision: verdict.Payload.verdict(), Notes: verdict.Payload.Notes,
			By: who.name, Identity: who.identity,
		}, key)
	case &resubmit:
		p := resubmit.Payload
		result, err = a.engine.AskAgain(ctx, who.tenant, id, rules.AskAgain{
			Step: verification.NodeID(p.Step), Reasons: p.Reasons, Fields: p.Fields, Note: p.NoteToCustomer, By: who.name, Identity: who.identity,
		}, key)
	default:
		result, err = a.engine.Submit(ctx, who.tenant, id, engine.SubmitRequest{Signal: name, Payload: submission.Payload, IdempotencyKey: key})
	}
	var e *verification.Error
	switch {
	case errors.As(err, &e) && errors.Is(e.Kind, verification.ErrNotOpen):
		return notOpen(name)
	case err != nil:
		return err
	}
	return a.write(w, http.StatusOK, apitypes.SignalResult{OK: true, Result: result.Result, Decision: result.Decision})
}
