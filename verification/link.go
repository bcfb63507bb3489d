// Hosted-journey links, and where the customer is sent at the end.

package verification

import (
	"net/url"
	"time"
)

// Link is the content of the token of a hosted-journey link.
type Link struct {
	RunRef
	// WaitNumber is the number of the wait on the customer: the length of the history
	// when the run parked.
	WaitNumber int
	// ExpiresAt is the run's deadline; zero if it has none.
	ExpiresAt time.Time
}

// CallbackTarget is the content of the token of a callback URL: one dispatch.
type CallbackTarget struct {
	RunRef
	// WaitNumber is the number of the wait on the provider: the length of the history when
	// the check was dispatched.
	WaitNumber int
}

// RedirectTarget returns uri with run_id and status appended to its query,
// which is otherwise unchanged. It returns the empty string for an empty uri.
func RedirectTarget(uri string, id RunID, s Status) string {
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
