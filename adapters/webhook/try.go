// How a try ended, in words for a ledger and for an operator.

package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Class says how a try ended; verification.ClassOf reads it off an error of Notify.
type Class string

// The classes. Every one but ClassDelivered and ClassGone is tried again.
const (
	ClassDelivered   Class = "delivered"               // answered 2xx
	ClassGone        Class = "gone"                    // answered 410: not to be tried again
	ClassRefused     Class = "refused_4xx"             // answered another 4xx
	ClassFailed      Class = "failed_5xx"              // answered 5xx, or a status that HTTP does not know
	ClassRedirected  Class = "redirected"              // answered 3xx, which is not followed
	ClassTimeout     Class = verification.ClassTimeout // no whole answer in time
	ClassUnreachable Class = "unreachable"             // no connection, or nothing on it that can be read as an answer
	ClassBlocked     Class = "blocked"                 // the address may not be called
	ClassUnsent      Class = "unsent"                  // nothing was sent, for want of a secret to sign with
)

// Try is what is known of a try once it has ended.
type Try struct {
	Notice  string // the webhook-id
	Tenant  verification.TenantID
	Run     verification.RunID
	Attempt int       // 0 for the first
	At      time.Time // its webhook-timestamp, in full
	Class   Class
	Status  int // of the answer; 0 without one
	Took    time.Duration
	Err     error // nil when delivered; its text is safe to log
}

// failure is an error of one line: it names no more of the URL than its
// origin, and nothing of what was sent or came back.
type failure struct {
	class         Class
	origin, words string
	cause         error // its text may tell more, and is not told
}

func (f *failure) Error() string { return fmt.Sprintf("tell %s: %s", f.origin, f.words) }

func (f *failure) Unwrap() error { return f.cause }

// Class is for verification.ClassOf.
func (f *failure) Class() string { return string(f.class) }

// nowhere is the origin of what cannot be called.
const nowhere = "nobody"

// originOf is the scheme and host of a URL, which may be logged.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nowhere
	}
	return u.Scheme + "://" + u.Host
}

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
		return ClassFailed
	}
}

// reason says why there was no answer. It quotes nothing: the texts of net/http
// may hold what the other side sent.
func (n *Notifier) reason(err error) (Class, string) {
	var (
		late        net.Error
		lookup      *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		number      syscall.Errno
	)
	switch {
	case errors.Is(err, errAddress):
		return ClassBlocked, "its address is private or reserved"
	case errors.Is(err, errPort):
		return ClassBlocked, "its port may not be called"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return ClassTimeout, fmt.Sprintf("no whole answer within %s", n.opt.Timeout)
	case errors.As(err, &lookup):
		return ClassUnreachable, "its name is not known"
	case errors.As(err, &certificate):
		return ClassUnreachable, "its certificate is not trusted"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return ClassUnreachable, "it does not speak TLS"
	case errors.As(err, &number):
		return ClassUnreachable, number.Error()
	}
	return ClassUnreachable, "the connection broke, or brought nothing that can be read as an answer"
}
