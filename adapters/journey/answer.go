// The post of an answer.

package journey

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// answer handles the post of a step. It redirects the browser back to the link
// with 303, or shows the form again with its problems.
func (s *site) answer(w http.ResponseWriter, r *http.Request) {
	if s.crossSite(r) {
		s.refuse(w, s.visitor(w, r), web.ErrCrossSite)
		return
	}
	v, j, err := s.open(w, r)
	if err != nil {
		s.refuse(w, v, err)
		return
	}
	if j.Step == nil {
		s.redirect(w, v, markSent)
		return
	}
	f, err := readForm(w, r, j.Step, func(f form, field workflow.InputField, name string, content io.Reader) error {
		return s.upload(r, v, j, f, field, name, content)
	})
	if err == nil && f.wait() != j.Step.WaitNumber {
		err = &verification.Error{Kind: verification.ErrNotOpen, Subject: "signal"}
	}
	var shown bool                                                                         // only another screen is shown
	mark, translate, ahead := "", f.values["do"] == "language", f.values["do"] == "upload" // see page.Switches and writeUploads
	if err == nil && !translate && !ahead {
		shown, err = s.turn(r, v, j, &f)
	}
	if err == nil && !translate && !ahead && !shown {
		mark, err = s.deliver(r, v, j, &f)
	}
	switch {
	case errors.Is(err, errInterrupted):
		w.WriteHeader(http.StatusBadRequest) // the browser has gone away
	case errors.Is(err, verification.ErrNotOpen):
		s.redirect(w, v, markMoved)
	case err != nil:
		s.refuse(w, v, err)
	case ahead:
		writeUploads(w, f)
	case f.failed():
		s.write(w, http.StatusUnprocessableEntity, "step", stepPage(v, j, f))
	case translate, shown:
		s.write(w, http.StatusOK, "step", stepPage(v, j, f))
	default:
		s.redirect(w, v, mark)
	}
}

// writeUploads writes what became of the files of a post, for the script of the page: it
// sends them ahead of the answer, to show how far they are and to repeat what was cut off.
// The answer then names them, as after a refused post.
func writeUploads(w http.ResponseWriter, f form) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"files": f.uploads, "problems": f.problems}) // the customer may have gone away
}

// redirect redirects the browser to the link, with a mark in its query unless
// mark is empty.
func (s *site) redirect(w http.ResponseWriter, v visitor, mark string) {
	w.Header().Set("Location", v.with(mark)) // a relative URL works behind any proxy
	w.WriteHeader(http.StatusSeeOther)
}

// turn leads to another screen of the form, and reports whether it did: back, or on if the
// engine finds no problem up to the present one. From the last screen, the answer is
// delivered.
func (s *site) turn(r *http.Request, v visitor, j engine.Journey, f *form) (shown bool, err error) {
	step := j.Step
	screen := f.screen(step)
	switch {
	case f.changeRows(step):
		return true, nil
	case f.values["do"] == "back":
		clear(f.problems)
		f.goTo(max(screen-1, 0))
		return true, nil
	case f.values["do"] == "opt_out", screen == len(screens(step))-1:
		return false, nil
	}
	payload, err := verification.NewData(payloadOf(step, *f, v.catalog))
	if err == nil {
		err = s.engine.CheckAnswer(r.Context(), j, step.WaitNumber, payload)
	}
	if refusal, ok := errors.AsType[*verification.Error](err); ok && errors.Is(err, verification.ErrInvalid) {
		f.addProblems(step, refusal.Fields, v.catalog)
		f.keepProblemsUpTo(step, screen)
		err = nil
	}
	if f.failed() {
		screen = f.firstProblem(step, screen) - 1
	}
	f.goTo(screen + 1)
	return true, err
}

// deliver sends the answer to the engine and returns the mark of the redirect.
// It adds the problems that the engine finds to the form.
func (s *site) deliver(r *http.Request, v visitor, j engine.Journey, f *form) (mark string, err error) {
	step := j.Step
	payload, err := verification.NewData(payloadOf(step, *f, v.catalog))
	if err == nil {
		j.Language = v.Lang()
		j, err = s.engine.AnswerJourney(r.Context(), j, step.WaitNumber, payload)
	}
	if refusal, ok := errors.AsType[*verification.Error](err); ok && errors.Is(err, verification.ErrInvalid) {
		f.addProblems(step, refusal.Fields, v.catalog)
		f.goTo(f.firstProblem(step, f.screen(step)))
		return "", nil
	}
	switch {
	case err != nil:
	case j.Step == nil:
		mark = markSent // the run may be over when the browser follows the redirect
	case step.Type == workflow.NodeConsent && f.values["consent"] == declined:
		mark = markDeclined
	}
	return mark, err
}

// upload sends one file to the engine. It adds the problem of a refused file to
// the form; an error ends the whole post.
func (s *site) upload(r *http.Request, v visitor, j engine.Journey, f form, field workflow.InputField, name string, content io.Reader) error {
	sent := &requestReader{from: content}
	d, err := s.engine.UploadDocument(r.Context(), j, j.Step.WaitNumber, field.Name, sent)
	switch {
	case err == nil:
		f.uploads[field.Name] = upload{ID: d.ID, Name: name}
		delete(f.problems, field.Name)
		return nil
	case sent.err != nil:
		return readError(sent.err)
	case errors.Is(err, verification.ErrNotOpen), errors.Is(err, verification.ErrNotFound):
		return err
	}
	refusal, ok := errors.AsType[*verification.Error](err)
	switch {
	case ok && errors.Is(err, verification.ErrInvalid):
		f.problems[field.Name] = v.fileProblem(field, refusal.Fields)
	case errors.Is(err, verification.ErrUnavailable):
		v.log.Warn("document not saved", "error", err)
		f.problems[field.Name] = v.Message("file.busy")
	default:
		return err
	}
	return nil
}

// requestReader records an error of the request body, to tell it from an error of
// the document store.
type requestReader struct {
	from io.Reader
	err  error
}

// Read implements io.Reader.
func (r *requestReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
