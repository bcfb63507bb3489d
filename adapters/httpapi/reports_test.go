// Tests of the signatures of printed reports.

package httpapi_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"

	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification/engine"
)

func newSigner(t testing.TB) token.Reports {
	t.Helper()
	keys, err := token.NewKeys()
	must(t, err)
	return token.NewReports(keys)
}

// verifies reports whether a signature is of a file and of a key of the set that the API serves.
func (a *api) verifies(pdf, signature []byte) bool {
	a.t.Helper()
	keys, err := jwk.Parse(a.do(http.MethodGet, "/.well-known/jwks.json", "", "client-id:", "x-api-key:").Body)
	must(a.t, err)
	_, err = jws.Verify(signature, jws.WithKeySet(keys), jws.WithDetachedPayload(pdf))
	return err == nil
}

func TestTheSignatureIsOfTheReportThatIsPrinted(t *testing.T) {
	a := newAPI(t, setup{options: httpapi.Options{Signer: newSigner(t)}})
	id := string(a.started(simple()).ID)
	path := "/v1/runs/" + id + "/report.pdf"
	signed := map[string]string{}
	for _, query := range []string{"", "?for=file"} {
		pdf, signature := a.do(http.MethodGet, path+query, ""), a.do(http.MethodGet, path+".jws"+query, "")
		signature.says(200, "..").header("Content-Type", "application/jose").header("Cache-Control", "no-store").
			header("Content-Disposition", `attachment; filename="verification-`+id+`.pdf.jws"`)
		if !a.verifies(pdf.Body, signature.Body) {
			t.Errorf("the signature of %q does not verify: %s", query, signature.Body)
		}
		a.do(http.MethodGet, path+".jws"+query, "").is(200, string(signature.Body))
		signed[query] = string(signature.Body)
	}
	if a.verifies(a.do(http.MethodGet, path, "").Body, []byte(signed["?for=file"])) {
		t.Error("the signature of the report for the file is that of the other report")
	}
}

func TestASignatureIsGivenToWhomTheReportIs(t *testing.T) {
	a := newAPI(t, setup{options: httpapi.Options{Signer: newSigner(t)}})
	id, live := string(a.started(simple()).ID), string(a.started(journey()).ID)
	signature := "/v1/runs/" + id + "/report.pdf.jws"
	a.do(http.MethodGet, signature, "", "x-api-key:").says(401, "missing credentials")
	a.do(http.MethodGet, signature, "", "client-id: other").is(404, noRun)
	a.do(http.MethodGet, "/v1/runs/"+nowhere+"/report.pdf.jws", "").is(404, noRun)
	a.do(http.MethodGet, "/v1/runs/x/report.pdf.jws", "").is(404, noRun)
	a.do(http.MethodGet, signature+"?for=x", "").is(400, badField("for", `must be \"file\", or left out`))
	a.do(http.MethodGet, "/v1/runs/"+live+"/report.pdf.jws", "").
		is(409, `{"error":"Conflict","message":"The run is in_progress; its report is printed once it is over.","code":409,"reason":"run_not_over"}`)

	limited := newAPI(t, setup{options: httpapi.Options{Signer: newSigner(t), RateLimit: 1}})
	signature = "/v1/runs/" + string(limited.started(simple()).ID) + "/report.pdf.jws"
	limited.do(http.MethodGet, signature, "").says(200, "..")
	limited.do(http.MethodGet, signature, "").says(429, "rate_limited")
}

func TestThePublicKeysNeedNoCredentials(t *testing.T) {
	a := newAPI(t, setup{options: httpapi.Options{Signer: newSigner(t)}})
	got := a.do(http.MethodGet, "/.well-known/jwks.json", "", "client-id:", "x-api-key:").says(200, `"kty":"OKP"`).
		header("Content-Type", "application/jwk-set+json").header("Cache-Control", "public, max-age=300")
	if strings.Contains(string(got.Body), `"d"`) {
		t.Errorf("the set has a private key: %s", got.Body)
	}
}

func TestWithoutASignerNothingIsSigned(t *testing.T) {
	a := newAPI(t, setup{})
	a.do(http.MethodGet, "/v1/runs/"+string(a.started(simple()).ID)+"/report.pdf.jws", "").
		says(503, "Reports are not signed here.").header("Retry-After", "1")
	a.do(http.MethodGet, "/.well-known/jwks.json", "").is(200, `{"keys":[]}`)

	none := newAPI(t, setup{
		options: httpapi.Options{Signer: newSigner(t)},
		ports:   func(p *engine.Ports, _ *engine.Options) { p.Printer = nil },
	})
	none.do(http.MethodGet, "/v1/runs/"+string(none.started(simple()).ID)+"/report.pdf.jws", "").says(503, "Reports are not printed here.")
}

// brokenSigner cannot reach its keys.
type brokenSigner struct{}

func (brokenSigner) SignReport([]byte) ([]byte, error) { return nil, errors.New("the vault is sealed") }

func (brokenSigner) ReportKeys() ([]byte, error) { return nil, errors.New("the vault is sealed") }

func TestAnErrorOfTheSignerIsNotShown(t *testing.T) {
	a := newAPI(t, setup{options: httpapi.Options{Signer: brokenSigner{}}})
	for _, path := range []string{"/v1/runs/" + string(a.started(simple()).ID) + "/report.pdf.jws", "/.well-known/jwks.json"} {
		if got := a.do(http.MethodGet, path, "").says(500, "Internal Server Error"); strings.Contains(string(got.Body), "vault") {
			t.Errorf("GET %s = %s", path, got.Body)
		}
	}
}
