// Writing of responses.

package httpapi

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
)

// encode returns the JSON of v and a line break, so that a terminal shows the
// prompt on a line of its own.
func (a *api) encode(v any) ([]byte, error) {
	body, err := json.Marshal(v, a.encoding)
	return append(body, '\n'), err
}

func (a *api) write(w *response, status int, v any) error {
	body, err := a.encode(v)
	if err != nil {
		return err
	}
	writeBody(w, status, "application/json", body)
	return nil
}

// writeBody answers with body. A failed write means that the client has gone.
func writeBody(w *response, status int, contentType string, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{contentType}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// writeTagged answers with an encoded body, or with 304 if the client has it.
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
	_, _ = w.Write(e.body) // a failed write means that the client has gone
}
