// Runs: start, list, read, cancel, redact.

package httpapi

import (
	"context"
	"net/http"
	"net/url"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// startRun starts a run. When the client disconnects, the wait ends, but the run
// is saved all the same.
func (a *api) startRun(w *response, r *http.Request, who caller) error {
	var b startBody
	problems, err := a.body(w, r, who, &b)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(r.Header, problems)
	if err != nil {
		return err
	}
	id, _ := verification.ParseWorkflowID(pathParam(r, "id")) // an invalid id has no workflow
	prefer := preferenceOf(r.Header)
	start := engine.StartRequest{ReferenceID: b.ReferenceID, Input: b.Input, IdempotencyKey: key, Wait: prefer.wait}
	if b.RedirectURI != nil {
		start.RedirectURI = *b.RedirectURI
	}
	v, err := a.engine.Start(r.Context(), who.tenant, id, start)
	if err != nil {
		return err
	}
	w.LogRun(v.ID)
	if prefer.applied != "" {
		w.Header().Set("Preference-Applied", prefer.applied)
	}
	return a.write(w, http.StatusAccepted, apitypes.NewRun(v))
}

func (a *api) listRuns(w *response, r *http.Request, who caller) error {
	q, err := runQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	page, err := a.engine.Runs(r.Context(), who.tenant, q)
	if err != nil {
		return err
	}
	return a.write(w, http.StatusOK, apitypes.NewPage(page, apitypes.NewRun))
}

// readRun answers with a run or its report. Both have an entity tag, so that
// polling is cheap.
func (a *api) readRun(w *response, r *http.Request, who caller) error {
	report, err := wantsReport(r.URL.RawQuery)
	if err != nil {
		return err
	}
	id, _ := verification.ParseRunID(pathParam(r, "id")) // an invalid id has no run
	if report {
		return a.readReport(w, r, who, id)
	}
	d, err := a.engine.Run(r.Context(), who.tenant, id)
	if err != nil {
		return err
	}
	e, err := a.encodeDetail(verification.RunRef{Tenant: who.tenant, Run: id}, d)
	if err == nil {
		writeTagged(w, r, e)
	}
	return err
}

func (a *api) readReport(w *response, r *http.Request, who caller, id verification.RunID) error {
	report, err := a.engine.Report(r.Context(), who.tenant, id)
	if err != nil {
		return err
	}
	e, err := a.encodeTagged(apitypes.NewReport(report))
	if err == nil {
		writeTagged(w, r, e)
	}
	return err
}

func (a *api) cancelRun(w *response, r *http.Request, who caller) error {
	if err := a.noBody(w, r); err != nil {
		return err
	}
	id, _ := verification.ParseRunID(pathParam(r, "id")) // an invalid id has no run
	v, err := a.engine.Cancel(context.WithoutCancel(r.Context()), who.tenant, id)
	if err != nil {
		return err
	}
	return a.write(w, http.StatusOK, apitypes.Cancelled{ID: v.ID, Status: v.Status})
}

func (a *api) redactRun(w *response, r *http.Request, who caller) error {
	if err := a.noBody(w, r); err != nil {
		return err
	}
	id, _ := verification.ParseRunID(pathParam(r, "id")) // an invalid id has no run
	d, err := a.engine.Redact(context.WithoutCancel(r.Context()), who.tenant, id, "", verification.Person{Name: who.name})
	if err != nil {
		return err
	}
	e, err := a.encodeDetail(verification.RunRef{Tenant: who.tenant, Run: id}, d) // nothing else of the run stays in the cache
	if err == nil {
		writeBody(w, http.StatusOK, "application/json", e.body)
	}
	return err
}

// pathParam returns a parameter of the path. chi does not decode it if the path
// has escapes that are not necessary.
func pathParam(r *http.Request, name string) string {
	value := r.PathValue(name)
	if r.URL.RawPath == "" {
		return value
	}
	if decoded, err := url.PathUnescape(value); err == nil {
		return decoded
	}
	return value
}
