// The results of an attempt: its class, its error, and when to retry.

package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Class says how an attempt ended. verification.ClassOf returns the class of an
// error of Notify.
type Class string

// The classes. Every attempt except delivered and gone is retried.
const (
	ClassDelivered   Class = "delivered"               // answered 2xx
	ClassGone        Class = "gone"                    // answered 410
	ClassRefused     Class = "refused_4xx"             // answered another 4xx
	ClassFailed      Class = "failed_5xx"              // answered 5xx, or a status that HTTP does not define
	ClassRedirected  Class = "redirected"              // answered 3xx; redirects are not followed
	ClassTimeout     Class = verification.ClassTimeout // no complete answer in time
	ClassUnreachable Class = "unreachable"             // no connection, or no valid HTTP answer
	ClassBlocked     Class = "blocked"                 // the address is not allowed
	ClassUnsent      Class = "unsent"                  // the tenant has no secret to sign with
)

// Attempt describes one attempt that has ended.
type Attempt struct {
	Notice string // the webhook-id
	Tenant verification.TenantID
	Run    verification.RunID
	Number int       // 0 for the first attempt
	At     time.Time // the webhook-timestamp before it is cut to seconds
	Class  Class
	Status int // of the answer; 0 without one
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

// Class implements the interface of verification.ClassOf.
func (f *failure) Class() string { return string(f.class) }

// noOrigin is the origin of an invalid URL.
const noOrigin = "an invalid URL"

// originOf returns scheme and host of a URL, which are safe to log.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return noOrigin
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

// classify returns the class and the reason of a failed request. It does not quote
// the error, because the texts of net/http may hold what the receiver sent.
func (n *Notifier) classify(err error) (Class, string) {
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
		return ClassBlocked, "its port is not allowed"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return ClassTimeout, fmt.Sprintf("no complete answer within %s", n.opt.Timeout)
	case errors.As(err, &lookup):
		return ClassUnreachable, "its name cannot be resolved"
	case errors.As(err, &certificate):
		return ClassUnreachable, "its certificate is not trusted"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return ClassUnreachable, "it does not speak TLS"
	case errors.As(err, &number):
		return ClassUnreachable, number.Error()
	}
	return ClassUnreachable, "the connection broke, or the answer is not valid HTTP"
}

// maxRetryAfter is the maximum wait that a client may ask for: the longest wait of
// the retry plan.
const maxRetryAfter = 24 * time.Hour

// retryAfter parses a Retry-After header: seconds, or an HTTP date. The time is at
// most maxRetryAfter after now. It is not ok if the value is missing or invalid, or
// if the time has passed.
func retryAfter(value string, now time.Time) (at time.Time, ok bool) {
	value = strings.TrimSpace(value)
	latest := now.Add(maxRetryAfter)
	seconds, err := strconv.ParseUint(value, 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return latest, true
	case err == nil:
		at = now.Add(time.Duration(seconds) * time.Second)
	default:
		if at, err = http.ParseTime(value); err != nil {
			return time.Time{}, false
		}
	}
	if at.After(latest) {
		at = latest
	}
	return at.UTC().Truncate(time.Microsecond), at.After(now)
}
