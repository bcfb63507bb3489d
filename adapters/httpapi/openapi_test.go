// Tests of the OpenAPI document: it is served, and has every route.

package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

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

// A generator of types reads an object that says neither as one without any property.
func TestOpenObjectsSayThatTheyAreOpen(t *testing.T) {
	var document any
	must(t, yaml.Unmarshal(httpapi.OpenAPI(), &document))
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["type"] == "object" && v["properties"] == nil && v["additionalProperties"] == nil {
				t.Errorf("%s has neither properties nor additionalProperties", path)
			}
			for key, below := range v {
				walk(path+"/"+key, below)
			}
		case []any:
			for i, below := range v {
				walk(fmt.Sprintf("%s/%d", path, i), below)
			}
		}
	}
	walk("", document)
}
