// Vendor: a stub of a registry that has its results later, and of a bank.

package demovendor

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Vendor is a stub of a registry of PANs and the names of their holders. It accepts a
// request with 202, and a second later it posts the result to the callback URL of the
// request, with the HMAC-SHA256 of the body in X-Signature. Whoever asks for the result gets
// it at any time: the vendor remembers no requests, so that it may be restarted between them.
//
// PANs that begin with ZZZ are not registered, and ABCPK4321K is Ravi Kumar's. Any
// other PAN belongs to the person of the request: the name is spelt as registries
// do, in capitals and with the last word first.
//
// It is a bank, too, with a page on which a customer shares who holds an account. A restart of the
// bank forgets what customers pressed, and they are asked again.
type Vendor struct {
	Token string // of the header Authorization: Bearer
	Hook  string // the key of the signatures
	Clock verification.Clock
	Log   *slog.Logger

	bank bank
}

// reportAfter is the time between a request and its callback.
const reportAfter = time.Second

// callbackTimeout is the timeout of one callback.
const callbackTimeout = 10 * time.Second

type lookup struct {
	PAN    string `json:"pan"`
	Name   string `json:"name"`
	Notify string `json:"notify"`
}

type result struct {
	Result string `json:"result"` // FOUND or NOT_FOUND
	Name   string `json:"name,omitempty"`
}

// ServeHTTP accepts POST /v1/holders, and responds to POST /v1/holders/result with the result. The bank is at
// /v1/sign-ins, and its page at /sign-in/.
func (v *Vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const maxBody = 64 << 10
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if strings.HasPrefix(r.URL.Path, signInPage) {
		v.bank.page(w, r)
		return
	}
	var wanted lookup
	accepts, tells, post := r.URL.Path == "/v1/holders", r.URL.Path == "/v1/holders/result", r.Method == http.MethodPost
	banks := post && r.URL.Path == signIns || r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, signIns+"/")
	switch raw, err := io.ReadAll(r.Body); {
	case !banks && (!accepts && !tells || !post):
		w.WriteHeader(http.StatusNotFound)
	case subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+v.Token)) == 0:
		w.WriteHeader(http.StatusUnauthorized)
	case banks && err == nil:
		v.bank.serve(w, r, raw)
	case err != nil || json.Unmarshal(raw, &wanted) != nil || wanted.PAN == "" || accepts && wanted.Notify == "":
		w.WriteHeader(http.StatusBadRequest)
	case tells:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(wanted.holder()) // the peer may have gone away
	default:
		w.WriteHeader(http.StatusAccepted)
		v.Clock.AfterFunc(reportAfter, func() {
			if err := v.report(wanted); err != nil {
				v.Log.Warn("the vendor of the demo cannot report a result", "error", err)
			}
		})
	}
}

// holder returns the registered name of the holder of a PAN.
func (q lookup) holder() result {
	switch {
	case strings.HasPrefix(q.PAN, "ZZZ"):
		return result{Result: "NOT_FOUND"}
	case q.PAN == "ABCPK4321K":
		return result{"FOUND", "KUMAR RAVI"}
	}
	return result{"FOUND", registered(q.Name)}
}

// registered returns a name as registries spell it.
func registered(name string) string {
	words := strings.Fields(strings.ToUpper(name))
	if last := len(words) - 1; last > 0 {
		words = slices.Insert(words[:last], 0, words[last])
	}
	return strings.Join(words, " ")
}

// report posts the result of a request.
func (v *Vendor) report(wanted lookup) error {
	body, err := json.Marshal(wanted.holder())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), callbackTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, wanted.Notify, bytes.NewReader(body))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(v.Hook))
	mac.Write(body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
