// The OpenAPI document, and the response to GET /.

package httpapi

import (
	_ "embed"
	"net/http"

	"github.com/verifyd/verifyd/adapters/apitypes"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the document that is served at /openapi.yaml.
func OpenAPI() []byte { return openAPI[:len(openAPI):len(openAPI)] }

// welcome answers GET / with the path of the OpenAPI document.
func (a *api) welcome(w http.ResponseWriter, r *http.Request) {
	res := responseOf(w)
	res.Header().Set("Cache-Control", "no-store")
	if err := a.write(res, http.StatusOK, apitypes.Welcome{Service: "verifyd", OpenAPI: "/openapi.yaml"}); err != nil {
		a.refuse(res, r, rule{}, err)
	}
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	writeBody(responseOf(w), http.StatusOK, "application/yaml", openAPI)
}
