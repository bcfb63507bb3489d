// Taking an answer: read, deliver, and send the customer on.

package journey

import (
	"errors"
	"io"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// answer takes the post of a step. Unless something is wrong with it the
// browser is sent back to the link by 303, which then shows what is open.
func (s *site) answer(w http.ResponseWriter, r *http.Request) {
	v := s.visitor(r)
	if s.crossSite(r) {
		s.refuse(w, v, errCrossSite)
		return
	}
	j, err := s.open(r)
	if err != nil {
		s.refuse(w, v, err)
		return
	}
	if j.Step == nil {
		s.onward(w, v, markSent)
		return
	}
	token := chi.URLParam(r, "token")
	f, err := readForm(w, r, j.Step, func(f form, field verification.InputField, name string, content io.Reader) error {
		paced, done := s.paces.reader(r.Context(), j.Tenant.ID, content)
		defer done()
		return s.keep(r, v, token, j.Step.Wait, f, field, name, paced)
	})
	if err == nil && f.wait() != j.Step.Wait {
		err = &verification.Error{Kind: verification.ErrNotOpen, Subject: "signal"}
	}
	mark := ""
	if err == nil {
		mark, err = s.deliver(r, v, token, j.Step, &f)
	}
	switch {
	case errors.Is(err, errBroken):
		w.WriteHeader(http.StatusBadRequest) // for nobody
	case errors.Is(err, verification.ErrNotOpen):
		s.onward(w, v, markMoved)
	case err != nil:
		s.refuse(w, v, err)
	case f.failed():
		s.write(w, http.StatusUnprocessableEntity, "step", stepPage(v, j, f))
	default:
		s.onward(w, v, mark)
	}
}

// onward sends the browser to the link itself, with the mark of what happened;
// no mark when another step is open.
func (s *site) onward(w http.ResponseWriter, v visitor, mark string) {
	to := v.again()
	switch {
	case mark == "":
	case v.chosen == "":
		to += "?" + mark
	default:
		to += "&" + mark
	}
	// Relative, so that it is right behind any proxy.
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// deliver hands the answer to the engine, and returns the mark of the page that
// comes next. The form tells what the engine refuses.
func (s *site) deliver(r *http.Request, v visitor, token string, step *engine.JourneyStep, f *form) (mark string, err error) {
	var j engine.Journey
	payload, err := verification.NewData(payloadOf(step, *f, v.words))
	if err == nil {
		j, err = s.engine.AnswerJourney(r.Context(), token, step.Wait, payload)
	}
	if refusal, ok := errors.AsType[*verification.Error](err); ok && errors.Is(err, verification.ErrInvalid) {
		f.tell(step, refusal.Fields, v.words)
		return "", nil
	}
	if err == nil && j.Step == nil {
		mark = markSent // the run is over, or may be before the browser gets there
	}
	return mark, err
}

// keep hands one file to the engine. A file that will not do is told in the
// form; an error ends the whole post.
func (s *site) keep(r *http.Request, v visitor, token string, wait int, f form, field verification.InputField, name string, content io.Reader) error {
	sent := &wire{from: content}
	d, err := s.engine.UploadDocument(r.Context(), token, wait, field.Name, sent)
	switch {
	case err == nil:
		f.uploads[field.Name] = upload{ID: d.ID, Name: name}
		delete(f.faults, field.Name)
		return nil
	case sent.err != nil:
		return broken(sent.err)
	case errors.Is(err, verification.ErrNotOpen), errors.Is(err, verification.ErrNotFound):
		return err
	}
	refusal, ok := errors.AsType[*verification.Error](err)
	switch {
	case ok && errors.Is(err, verification.ErrInvalid):
		f.faults[field.Name] = v.fileFault(field, refusal.Fields)
	case errors.Is(err, verification.ErrUnavailable):
		s.log.WarnContext(r.Context(), "document not kept", "error", err)
		f.faults[field.Name] = v.texts["file.busy"]
	default:
		return err
	}
	return nil
}

// wire remembers what went wrong on the way from the browser.
type wire struct {
	from io.Reader
	err  error
}

// Read reads on.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}
