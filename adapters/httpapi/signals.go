// Signals: a reviewer's verdict, a customer's answer.

package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// deliverSignal delivers a signal to a run. The rules of a verdict's body come
// before the question whether there is such a run.
func (a *api) deliverSignal(w *response, r *http.Request, who caller) error {
	name := pathParam(r, "signal_name")
	deliver := a.submit
	if name == verification.ReviewSignal {
		deliver = a.giveVerdict
	}
	d, err := deliver(w, r, who, name)
	var e *verification.Error
	switch {
	case errors.As(err, &e) && errors.Is(e.Kind, verification.ErrNotOpen):
		return notOpen(name)
	case err != nil:
		return err
	}
	return a.write(w, http.StatusOK, deliveryJSON{OK: true, Result: d.Result, Decision: d.Decision})
}

func (a *api) giveVerdict(w *response, r *http.Request, who caller, _ string) (engine.SignalResult, error) {
	var b reviewBody
	faults, err := a.body(w, r, who, &b, b.member)
	if err == nil && b.Payload != nil {
		err = b.Payload.refuse()
	}
	key, wrong := idempotencyKey(r.Header)
	if faults = append(faults, wrong...); err == nil && len(faults) > 0 {
		err = badFields(faults)
	}
	if err != nil {
		return engine.SignalResult{}, err
	}
	id, err := verification.ParseRunID(pathParam(r, "run_id"))
	if err != nil {
		return engine.SignalResult{}, missing("run")
	}
	return a.engine.GiveVerdict(context.WithoutCancel(r.Context()), who.tenant, id, engine.VerdictRequest{
		Decision: verification.Decision(b.Payload.Decision), Notes: b.Payload.Notes, By: who.name, IdempotencyKey: key,
	})
}

func (a *api) submit(w *response, r *http.Request, who caller, signal string) (engine.SignalResult, error) {
	var b signalBody
	faults, err := a.body(w, r, who, &b, b.member)
	key, wrong := idempotencyKey(r.Header)
	if faults = append(faults, wrong...); err == nil && len(faults) > 0 {
		err = badFields(faults)
	}
	if err != nil {
		return engine.SignalResult{}, err
	}
	id, err := verification.ParseRunID(pathParam(r, "run_id"))
	if err != nil {
		return engine.SignalResult{}, missing("run")
	}
	return a.engine.Submit(context.WithoutCancel(r.Context()), who.tenant, id, signal, b.Payload, engine.WithIdempotencyKey(key))
}
