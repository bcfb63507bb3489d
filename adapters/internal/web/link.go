// Links that people copy, forward and click.

package web

import (
	"net/http"
	"net/url"
	"strings"
)

// LinkToken returns the token of a link from the parameter of its route, as chi.URLParam returns
// it. A program on the way may have encoded characters that need no encoding (RFC 3986, section
// 6.2.2.2), and may have taken the punctuation after a link for a part of it; no token of ours
// ends with punctuation.
func LinkToken(r *http.Request, parameter string) string {
	if r.URL.RawPath != "" { // chi has matched it, and not the decoded path
		if plain, err := url.PathUnescape(parameter); err == nil {
			parameter = plain
		}
	}
	return strings.TrimRight(parameter, ".,;:!?)]}>'\"*`’”»…。，、।")
}
