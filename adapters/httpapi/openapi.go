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

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	writeBody(responseOf(w), http.StatusOK, "application/yaml", openAPI)
}
