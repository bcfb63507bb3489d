// Documents: uploading a file for a signal, and reading what customers uploaded.

package httpapi

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
)

// maxForm is the maximum length of a form with a file, in bytes: the file, and what
// surrounds it.
const maxForm = verification.MaxDocumentBytes + 64<<10

// uploadDocument saves the one file of a form for the field that the run waits for. It
// does not keep the file in memory.
func (a *api) uploadDocument(w *response, r *http.Request, who caller) error {
	part, parts, err := filePart(w, r)
	if err != nil {
		return err
	}
	id, err := verification.ParseRunID(pathParam(r, "id"))
	if err != nil {
		return missing("run")
	}
	content := &formFile{part: part, parts: parts, left: verification.MaxDocumentBytes}
	d, err := a.engine.UploadForSignal(r.Context(), who.tenant, id, part.FormName(), content)
	if content.err != nil {
		return content.err
	}
	if err != nil {
		// Many clients read no response before they have sent the body.
		if _, unread := io.Copy(io.Discard, content); unread != nil {
			w.Header().Set("Connection", "close")
		}
		return refusedFile(err)
	}
	return a.write(w, http.StatusOK, apitypes.NewDocument(d))
}

// filePart returns the first part of a form, which must be a file.
func filePart(w *response, r *http.Request) (*multipart.Part, *multipart.Reader, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil || media != "multipart/form-data" || params["boundary"] == "" || len(r.Header["Content-Type"]) > 1:
		return nil, nil, errNotForm
	case r.ContentLength > maxForm:
		return nil, nil, errFileSize
	}
	parts := multipart.NewReader(http.MaxBytesReader(w.Unwrap(), r.Body, maxForm), params["boundary"])
	part, err := parts.NextRawPart()
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil, errOneFile
	case err != nil:
		return nil, nil, formError(err)
	case part.FormName() == "" || part.FileName() == "":
		return nil, nil, errOneFile
	}
	return part, parts, nil
}

// formError returns the error for a form that cannot be read.
func formError(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return errFileSize
	}
	return errCutOff
}

// formFile reads the file of a form. It fails if the file is too long or another part
// follows, so that such a file is not saved. It keeps its error, to tell it from an error
// of the document store.
type formFile struct {
	part  *multipart.Part
	parts *multipart.Reader
	left  int // bytes that the file may still have
	err   error
}

// Read implements io.Reader.
func (f *formFile) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.part.Read(p)
	f.left -= n
	switch {
	case f.left < 0:
		f.err = errFileSize
	case errors.Is(err, io.EOF):
		switch _, more := f.parts.NextRawPart(); {
		case more == nil:
			f.err = errOneFile
		case !errors.Is(more, io.EOF):
			f.err = formError(more)
		default:
			return n, io.EOF
		}
	case err != nil:
		f.err = formError(err)
	}
	return n, f.err
}

// refusedFile returns the error of an upload. A file that is refused has 422 with the
// reason, which is for the customer.
func refusedFile(err error) error {
	if e, ok := errors.AsType[*verification.Error](err); ok && errors.Is(e.Kind, verification.ErrInvalid) {
		return full(http.StatusUnprocessableEntity, "The file is not accepted.", detailsOf(e.Fields)).as("file_not_accepted")
	}
	return err
}

// readDocument answers with a document that an answer of the run names. A browser shows
// it only if it is an image, and runs nothing in it.
func (a *api) readDocument(w *response, r *http.Request, who caller) error {
	id, err := verification.ParseRunID(pathParam(r, "id"))
	if err != nil {
		return missing("run")
	}
	d, content, err := a.engine.OpenDocument(r.Context(), who.tenant, id, pathParam(r, "document_id"))
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it was only read
	h := w.Header()
	h.Set("Content-Type", d.MediaType)
	h.Set("Content-Length", strconv.FormatInt(d.Size, 10))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	disposition := "attachment"
	if strings.HasPrefix(d.MediaType, "image/") {
		disposition = "inline"
	}
	h.Set("Content-Disposition", disposition+`; filename="`+d.ID+`"`)
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(w, content); err != nil {
		panic(http.ErrAbortHandler) // the status is sent: break the connection, so that the client notices
	}
	return nil
}
