// Exchanges with a vendor, for tools.

package rest

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// Exchange is one request to the vendor, with its secrets masked.
type Exchange struct {
	Method  string      `json:"method"`
	URL     string      `json:"url"`
	Header  http.Header `json:"header"`
	Body    string      `json:"body"`              // at most 64 KiB
	Status  int         `json:"status"`            // 0 without a response
	Failure string      `json:"failure,omitempty"` // why there is no response, or no complete one
	// Response is the body of the response, at most 64 KiB. It may have personal data.
	Response string `json:"response,omitempty"`
}

const maxTrace = 64 << 10 // bytes of a body

// trace reports an exchange: it builds the request again, with masks for its secrets.
func (p *compiled) trace(r *request, run verification.RunRef, vars map[string]any, status int, response []byte, failed error) {
	if p.opt.Trace == nil {
		return
	}
	masked := maps.Clone(vars)
	masked["secret"] = p.masks
	made, err := r.build(context.Background(), p, run, masked)
	if err != nil {
		return // the request with its secrets was built
	}
	defer closeBody(made)
	if p.auth.header != "" {
		made.Header.Set(p.auth.header, p.auth.masked)
	}
	x := Exchange{Method: made.Method, URL: made.URL.String(), Header: made.Header, Status: status, Response: p.masked(response)}
	if made.Body != nil {
		body, _ := io.ReadAll(io.LimitReader(made.Body, maxTrace)) // what can be read is shown
		x.Body = string(body)
	}
	if failed != nil {
		x.Failure = p.failure(failed).Error()
	}
	p.opt.Trace(x)
}

// masked returns a body, as far as it is traced, without the secrets that it repeats: those
// of the declaration, as they are and as JSON writes them, and the credentials of the request.
func (p *compiled) masked(body []byte) string {
	secrets := []string{p.auth.credentials()}
	for _, v := range p.secrets {
		if s, ok := v.(string); ok {
			quoted, _ := json.Marshal(s)
			secrets = append(secrets, s, strings.Trim(string(quoted), `"`))
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	text := string(body)
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, mask)
		}
	}
	return strings.ToValidUTF8(text[:min(len(text), maxTrace)], "\ufffd")
}
