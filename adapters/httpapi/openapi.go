// The OpenAPI document, served to whoever asks.

package httpapi

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI is the document at /openapi.yaml.
func OpenAPI() []byte { return openAPI[:len(openAPI):len(openAPI)] }

// welcome tells a visitor of the bare address where the API is described.
func (a *api) welcome(w http.ResponseWriter, r *http.Request) {
	res := responseOf(w)
	res.Header().Set("Cache-Control", "no-store")
	if err := a.write(res, http.StatusOK, welcomeJSON{Service: "verifyd", OpenAPI: "/openapi.yaml"}); err != nil {
		a.refuse(res, r, rule{}, err)
	}
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	writeBody(responseOf(w), http.StatusOK, "application/yaml", openAPI)
}
