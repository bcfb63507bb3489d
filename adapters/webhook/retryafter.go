// When a client wants to be told again.

package webhook

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that a client may ask for: as long as the
// longest of the plan.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the value of a Retry-After header, in seconds or as an HTTP
// date, as of now. What asks for longer than a day is cut to a day; ok is false
// for what asks for nothing: no value, one that cannot be read, a moment that
// has passed.
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
