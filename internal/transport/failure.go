// Failures: why a request has no answer, and when to send it again.

package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Failure is the kind of a failure.
type Failure string

// The kinds of failure.
const (
	Blocked     Failure = "blocked"     // the address is not allowed
	Timeout     Failure = "timeout"     // no complete response in time
	Unreachable Failure = "unreachable" // no connection, or no valid HTTP answer
)

// Explain returns the kind of a failed request and a reason of a few words. The
// reason does not quote err, because the texts of net/http may hold what the server
// sent. timeout is the limit that the request had.
func Explain(err error, timeout time.Duration) (Failure, string) {
	var (
		late        net.Error
		lookup      *net.DNSError
		certificate *tls.CertificateVerificationError
		operation   *net.OpError
		record      tls.RecordHeaderError
		number      syscall.Errno
	)
	switch {
	case errors.Is(err, errAddress):
		return Blocked, "its address is private or reserved, and --allow-private-networks is not set"
	case errors.Is(err, errPort):
		return Blocked, "its port is not allowed"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return Timeout, fmt.Sprintf("no complete response within %s", timeout)
	case errors.As(err, &lookup):
		return Unreachable, "its name cannot be resolved"
	case errors.As(err, &certificate):
		return Unreachable, "its certificate is not trusted"
	case errors.As(err, &operation) && operation.Op == "remote error":
		return Unreachable, "it refused the TLS connection"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return Unreachable, "it does not speak TLS"
	case errors.As(err, &number):
		return Unreachable, number.Error()
	}
	return Unreachable, "the connection broke, or the response is not valid HTTP"
}

// maxRetryAfter is the longest wait that RetryAfter returns.
const maxRetryAfter = 24 * time.Hour

// RetryAfter parses a Retry-After header: seconds, or an HTTP date. The time is at
// from now to 24 hours after it. It is not ok if the value is missing or invalid, or
// if the time has passed.
func RetryAfter(value string, now time.Time) (at time.Time, ok bool) {
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
	return at.UTC().Truncate(time.Microsecond), !at.Before(now)
}
