// Runs: start, list, read, report, cancel.

package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// startRun begins a run. The engine saves it whether or not the client stays;
// only the wait ends when the client goes.
func (a *api) startRun(w *response, r *http.Request, who caller) error {
	var b startBody
	faults, err := a.body(w, r, who, &b, b.member)
	if err != nil {
		return err
	}
	key, wrong := idempotencyKey(r.Header)
	if faults = append(faults, wrong...); len(faults) > 0 {
		return badFields(faults)
	}
	id, err := verification.ParseWorkflowID(pathParam(r, "id"))
	if err != nil {
		return missing("workflow")
	}
	prefer := preferenceOf(r.Header)
	start := engine.StartRequest{ReferenceID: b.ReferenceID, Input: b.Input, IdempotencyKey: key, Wait: prefer.wait}
	if b.RedirectURI != nil {
		start.RedirectURI = *b.RedirectURI
	}
	v, err := a.engine.Start(r.Context(), who.tenant, id, start)
	if err != nil {
		return err
	}
	w.run = v.ID
	if prefer.applied != "" {
		w.Header().Set("Preference-Applied", prefer.applied)
	}
	return a.write(w, http.StatusAccepted, runOf(v))
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
	return a.write(w, http.StatusOK, pageOf(page, runOf))
}

// readRun answers a run, or its report. Both carry an entity tag, so that
// polling is cheap.
func (a *api) readRun(w *response, r *http.Request, who caller) error {
	report, err := wantsReport(r.URL.RawQuery)
	if err != nil {
		return err
	}
	id, err := verification.ParseRunID(pathParam(r, "id"))
	if err != nil {
		return missing("run")
	}
	if report {
		return a.readReport(w, r, who, id)
	}
	d, err := a.engine.Run(r.Context(), who.tenant, id)
	if err != nil {
		return err
	}
	ref := verification.RunRef{Tenant: who.tenant, Run: id}
	e, kept := a.bodies.get(ref, d)
	if !kept {
		if e, err = a.encodeTagged(runDetailOf(d)); err != nil {
			return err
		}
		a.bodies.put(ref, d, e)
	}
	writeTagged(w, r, e)
	return nil
}

func (a *api) readReport(w *response, r *http.Request, who caller, id verification.RunID) error {
	report, err := a.engine.Report(r.Context(), who.tenant, id)
	if err != nil {
		return err
	}
	e, err := a.encodeTagged(reportOf(report))
	if err != nil {
		return err
	}
	writeTagged(w, r, e)
	return nil
}

func (a *api) encodeTagged(v any) (encoded, error) {
	body, err := a.encode.bytes(v)
	if err != nil {
		return encoded{}, err
	}
	return encoded{body: body, length: []string{strconv.Itoa(len(body))}, etag: []string{etagOf(body)}}, nil
}

// writeTagged answers a body, or that the client has it already.
func writeTagged(w *response, r *http.Request, e encoded) {
	h := w.Header()
	h["Cache-Control"] = []string{"private, no-cache"}
	h["Etag"] = e.etag
	if unchanged(r.Header, e.etag[0]) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = e.length
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(e.body) // a client that has gone cannot be told
}

func (a *api) printReport(w *response, r *http.Request, who caller) error {
	id, err := verification.ParseRunID(pathParam(r, "id"))
	if err != nil {
		return missing("run")
	}
	pdf, err := a.engine.PrintReport(r.Context(), who.tenant, id)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", `inline; filename="verification-`+string(id)+`.pdf"`)
	writeBody(w, http.StatusOK, "application/pdf", pdf)
	return nil
}

func (a *api) cancelRun(w *response, r *http.Request, who caller) error {
	if err := a.noBody(w, r); err != nil {
		return err
	}
	id, err := verification.ParseRunID(pathParam(r, "id"))
	if err != nil {
		return missing("run")
	}
	v, err := a.engine.Cancel(context.WithoutCancel(r.Context()), who.tenant, id)
	if err != nil {
		return err
	}
	return a.write(w, http.StatusOK, cancelledJSON{ID: v.ID, Status: v.Status})
}

// pathParam is a parameter of the path. chi leaves it escaped where the client
// escaped what it need not have.
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
