// Tests of the OpenAPI document: it is served, and has every route.

package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/httpapi"
)

func TestTheDocumentIsServed(t *testing.T) {
	a := newAPI(t, setup{})
	got := a.do(http.MethodGet, "/openapi.yaml", "", "client-id:", "x-api-key:")
	if got.Status != http.StatusOK || string(got.Body) != string(httpapi.OpenAPI()) {
		t.Errorf("GET /openapi.yaml = %d with %d bytes, want the document", got.Status, len(got.Body))
	}
	got.header("Content-Type", "application/yaml")
}

func TestTheBareAddressSaysWhereTheDocumentIs(t *testing.T) {
	a := newAPI(t, setup{})
	a.do(http.MethodGet, "/", "", "client-id:", "x-api-key:").is(200, `{"service":"verifyd","openapi":"/openapi.yaml"}`)
	a.do(http.MethodPost, "/", "{}").header("Allow", "GET, HEAD").says(405, "Method Not Allowed")
	a.do(http.MethodGet, "/nowhere", "").says(404, "There is no such route.")
}

func TestTheDocumentIsValid(t *testing.T) {
	if _, err := contract(); err != nil {
		t.Fatal(err)
	}
}

func TestEveryDocumentedOperationIsRouted(t *testing.T) {
	a := newAPI(t, setup{})
	c, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	for _, operation := range c.Operations() {
		method, path, _ := strings.Cut(operation, " ")
		got := a.do(method, strings.NewReplacer("{", "", "}", "").Replace(path), "", "client-id:", "x-api-key:")
		want := http.StatusUnauthorized
		switch path {
		case "/openapi.yaml", "/", "/.well-known/jwks.json":
			want = http.StatusOK
		case "/callbacks/{token}":
			want = http.StatusNotFound
		}
		if got.Status != want {
			t.Errorf("%s without credentials = %d, want %d", operation, got.Status, want)
		}
	}
}
