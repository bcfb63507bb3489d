// Redirects: where the customer is sent at the end.

package rules

import (
	"net/url"

	"github.com/verifyd/verifyd/verification"
)

// RedirectTarget returns uri with run_id and status appended to its query,
// which is otherwise unchanged. It returns the empty string for an empty uri.
func RedirectTarget(uri string, id verification.RunID, s Status) string {
	u, err := url.Parse(uri)
	if uri == "" || err != nil {
		return ""
	}
	added := url.Values{"run_id": {string(id)}, "status": {string(s)}}.Encode()
	if u.RawQuery == "" {
		u.RawQuery = added
	} else {
		u.RawQuery += "&" + added
	}
	return u.String()
}
