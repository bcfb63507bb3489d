// Tests of the OpenAPI document: it is served, and has every route.

package httpapi_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v4"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/verification"
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

// A later version may add members to a response or a notice, and a generated client must accept them. A request with an unknown member is
// refused.
func TestResponsesAreOpenAndRequestsAreClosed(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(httpapi.OpenAPI())
	must(t, err)
	seen := map[*openapi3.Schema]bool{}
	var walk func(path string, ref *openapi3.SchemaRef, closed bool)
	walk = func(path string, ref *openapi3.SchemaRef, closed bool) {
		if ref == nil || seen[ref.Value] {
			return
		}
		s := ref.Value
		seen[s] = true
		is := s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has
		if s.Type.Is("object") && len(s.Properties) > 0 && is != closed {
			t.Errorf("%s: the object is closed: %t, want %t", path, is, closed)
		}
		for name, p := range s.Properties {
			walk(path+"."+name, p, closed)
		}
		walk(path+"[]", s.Items, closed)
		for _, one := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
			walk(path, one, closed)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				for _, media := range response.Value.Content {
					walk(method+" "+path+" "+status, media.Schema, false)
				}
			}
			if operation.RequestBody == nil {
				continue
			}
			for _, media := range operation.RequestBody.Value.Content {
				walk(method+" "+path+" request", media.Schema, true)
			}
		}
	}
	walk("Notice", doc.Components.Schemas["Notice"], false)
}

// The log and a header name the surface that an account lacks, and the body stays the one of the contract.
func TestARefusedSurfaceIsNamed(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, setup{options: httpapi.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}})
	a.account("narrow", enginetest.Tenant, verification.SurfaceSignals)
	got := a.do(http.MethodGet, "/v1/runs", "", "client-id: narrow")
	got.is(403, `{"error":"service account not authorized for this surface"}`)
	if header := got.Header.Get("X-Required-Surface"); header != "runs" || !strings.Contains(log.String(), "required_surface=runs") {
		t.Errorf("the header names %q, and the log says %s", header, log.String())
	}
}
