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

// Class says how an attempt ended. rules.ClassOf returns the class of an
// error of Notify.
type Class string

// The classes. A notice is retried after every class but delivered and gone.
const (
	ClassDelivered   Class = rules.ClassDelivered // a 2xx response
	ClassGone        Class = "gone"               // a 410 response
	ClassRefused     Class = "refused_4xx"        // another 4xx response
	ClassServerError Class = "failed_5xx"         // a 5xx response, or a status that HTTP does not define
	ClassRedirected  Class = "redirected"         // a 3xx response; redirects are not followed
	ClassTimeout     Class = rules.ClassTimeout   // no complete response in time
	ClassUnreachable Class = "unreachable"        // no connection, or no valid HTTP response
	ClassBlocked     Class = "blocked"            // the address is not allowed
	ClassUnsent      Class = "unsent"             // not signed, such as without a secret
)

// Attempt describes one attempt that has ended.
type Attempt struct {
	Notice string // the webhook-id
	Tenant verification.TenantID
	Run    verification.RunID
	Number int       // 0 for the first attempt
	At     time.Time // the webhook-timestamp before it is truncated to seconds
	Class  Class
	Status int // of the response; 0 without one
	Took   time.Duration
	Err    error // nil if delivered; its text is safe to log
}

// failure is an error of one line. Its text has the origin of the URL only, and
// nothing that was sent or received.
type failure struct {
	class          Class
	origin, reason string
	cause          error // not part of the text
}

func (f *failure) Error() string { return fmt.Sprintf("notify %s: %s", f.origin, f.reason) }

func (f *failure) Unwrap() error { return f.cause }

// Class implements the interface of rules.ClassOf.
func (f *failure) Class() string { return string(f.class) }

func classOf(status int) Class {
	switch {
	case status == http.StatusGone:
		return ClassGone
	case status >= 200 && status < 300:
		return ClassDelivered
	case status >= 300 && status < 400:
		return ClassRedirected
	case status >= 400 && status < 500:
		return ClassRefused
	default:
		return ClassServerError
	}
}

// classify returns the class and the reason of a failed request.
func (n *Notifier) classify(err error) (Class, string) {
	kind, reason := transport.Explain(err, n.opt.Timeout)
	switch kind {
	case transport.Blocked:
		return ClassBlocked, reason
	case transport.Timeout:
		return ClassTimeout, reason
	case transport.Unreachable:
	}
	return ClassUnreachable, reason
}
