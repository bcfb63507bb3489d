// Documents and printed reports of a run.

package runpage

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification"
)

// isImage reports whether a document is shown in pages: no file of another type ever is.
func isImage(mediaType string) bool {
	t, ok := verification.FileTypeOf(mediaType)
	return ok && t.Image()
}

// Document sends an uploaded file of a run, and logs who has seen it. The browser
// must not run or guess anything in it, and keeps no copy.
func (p *Pages) Document(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	run, d, content, err := p.openDocument(r, s)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it is only read
	logViewed(s, run, d)
	disposition := "inline"
	if !isImage(d.MediaType) {
		disposition = `attachment; filename="` + d.ID + `"`
	}
	headDocument(w, d.MediaType, d.Size, disposition)
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(w, content); err != nil {
		s.Log.Warn("document not sent", "run", run, "document", d.ID, "error", err)
	}
	return nil
}

// openDocument opens the document that a request is about. The caller closes the content.
func (p *Pages) openDocument(r *http.Request, s shell.Session) (run verification.RunID, d verification.Document, content io.ReadCloser, err error) {
	if run, err = runOf(r); err != nil {
		return run, d, nil, err
	}
	open := p.shell.Engine.OpenDocument
	if s.May(verification.RoleAuditor) {
		open = p.shell.Engine.OpenDocumentInFull
	}
	d, content, err = open(r.Context(), s.Tenant, run, chi.URLParam(r, "document"))
	return run, d, content, err
}

const mediaPDF = "application/pdf"

// FirstPage sends the first page of a PDF as an image, as document sends one.
func (p *Pages) FirstPage(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	run, d, content, err := p.openDocument(r, s)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it is only read
	if p.DrawPage == nil || d.MediaType != mediaPDF {
		return verification.NotFound("page")
	}
	page, err := p.DrawPage(r.Context(), s.Tenant, d, content)
	if err != nil {
		if refused, ok := errors.AsType[*verification.Error](err); ok {
			s.Log.Warn("document not drawn", "tenant", s.Tenant, "run", run, "document", d.ID, "error", err, "cause", refused.Cause)
		}
		return err
	}
	logViewed(s, run, d)
	headDocument(w, "image/jpeg", int64(len(page)), "inline")
	_, _ = w.Write(page) // the reader may have gone away
	return nil
}

// logViewed logs that the person sees a document, before it is sent.
func logViewed(s shell.Session, run verification.RunID, d verification.Document) {
	s.Log.Info("document viewed", "tenant", s.Tenant, "reviewer", s.Name, "identity", s.Identity, "run", run, "document", d.ID, "sha256", d.SHA256)
}

// headDocument sets the headers of a file from a stranger.
func headDocument(w http.ResponseWriter, mediaType string, size int64, disposition string) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	h.Set("Content-Disposition", disposition)
}

// Report sends the printed report of a run; with ?for=file, the one for the file.
func (p *Pages) Report(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	pdf, name, err := p.printed(r, s)
	if err != nil {
		return p.lacking(w, r, s, err)
	}
	attach(w, mediaPDF, name, pdf)
	return nil
}

// ReportSignature sends the signature of what reportPDF sends.
func (p *Pages) ReportSignature(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	if p.SignReport == nil {
		return verification.NotFound("page")
	}
	pdf, name, err := p.printed(r, s)
	if err != nil {
		return p.lacking(w, r, s, err)
	}
	signature, err := p.SignReport(pdf)
	if err != nil {
		return err
	}
	attach(w, "application/jose", name+".jws", signature)
	return nil
}

// printed returns the printed report that a request is about, and the name of its file.
func (p *Pages) printed(r *http.Request, s shell.Session) (pdf []byte, name string, err error) {
	run, err := runOf(r)
	if err != nil {
		return nil, "", err
	}
	name = "report-"
	switch q := r.URL.Query(); {
	case q.Get("for") == "file":
		name = "file-"
		pdf, err = p.shell.Engine.PrintFile(r.Context(), s.Tenant, run, q.Get("allow_missing") == "1")
	case q.Has("for"):
		return nil, "", verification.InvalidField("report", "for", `must be "file", or left out`)
	default:
		pdf, err = p.shell.Engine.PrintReport(r.Context(), s.Tenant, run)
	}
	return pdf, name + string(run) + ".pdf", err
}

// lacking shows the run again if its report was not printed for want of a font, with a link that
// prints it all the same. It returns any other error.
func (p *Pages) lacking(w http.ResponseWriter, r *http.Request, s shell.Session, err error) error {
	e, ok := errors.AsType[*verification.Error](err)
	if !ok || !errors.Is(e.Kind, verification.ErrConflict) || e.Subject != "report" {
		return err
	}
	return p.showRun(w, r, s, http.StatusConflict, keptVerdict{Lacking: e.Message})
}

// attach sends a file for the browser to save.
func attach(w http.ResponseWriter, mediaType, name string, content []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, _ = w.Write(content) // the reader may have gone away
}

// runOf returns the run in the path of a request.
func runOf(r *http.Request) (verification.RunID, error) {
	id, err := verification.ParseRunID(chi.URLParam(r, "run"))
	if err != nil {
		return "", verification.NotFound("run")
	}
	return id, nil
}
