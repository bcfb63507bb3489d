// The results of an attempt: its class, its error, and when to retry.

package webhook

import (
	"fmt"
	"net/http"
	"time"

	"github.com/verifyd/verifyd/internal/transport"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// The classes, which say how an attempt ended. rules.ClassOf returns the class of an error of Notify. A notice
// is retried after every class but delivered and gone.
const (
	classDelivered   = rules.ClassDelivered // a 2xx response
	classGone        = "gone"               // a 410 response
	classRefused     = "refused_4xx"        // another 4xx response
	classServerError = "failed_5xx"         // a 5xx response, or a status that HTTP does not define
	classRedirected  = "redirected"         // a 3xx response; redirects are not followed
	classTimeout     = rules.ClassTimeout   // no complete response in time
	classUnreachable = "unreachable"        // no connection, or no valid HTTP response
	classBlocked     = "blocked"            // the address is not allowed
	classUnsent      = "unsent"             // not signed, such as without a secret
)

// Attempt describes one attempt that has ended.
type Attempt struct {
	Notice string // the webhook-id
	Tenant verification.TenantID
	Run    verification.RunID
	Number int       // 0 for the first attempt
	At     time.Time // the webhook-timestamp before it is truncated to seconds
	Class  string    // see docs/webhooks.md
	Status int       // of the response; 0 without one
	Took   time.Duration
	Err    error // nil if delivered; its text is safe to log
}

// failure is an error of one line. Its text has the origin of the URL only, and
// nothing that was sent or received.
type failure struct {
	class          string
	origin, reason string
	cause          error // not part of the text
}

func (f *failure) Error() string { return fmt.Sprintf("notify %s: %s", f.origin, f.reason) }

func (f *failure) Unwrap() error { return f.cause }

// Class implements the interface of rules.ClassOf.
func (f *failure) Class() string { return f.class }

func classOf(status int) string {
	switch {
	case status == http.StatusGone:
		return classGone
	case status >= 200 && status < 300:
		return classDelivered
	case status >= 300 && status < 400:
		return classRedirected
	case status >= 400 && status < 500:
		return classRefused
	default:
		return classServerError
	}
}

// classify returns the class and the reason of a failed request.
func (n *notifier) classify(err error) (class, reason string) {
	kind, reason := transport.Explain(err, n.opt.Timeout)
	switch kind {
	case transport.Blocked:
		return classBlocked, reason
	case transport.Timeout:
		return classTimeout, reason
	case transport.Unreachable:
	}
	return classUnreachable, reason
}
