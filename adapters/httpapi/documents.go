// Documents: the files that customers uploaded.

package httpapi

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

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
