// The request headers Idempotency-Key, Prefer and If-None-Match.

package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// maxWait is the maximum wait that a client may prefer, in seconds.
const maxWait = 25

// maxKey is the maximum length of an idempotency key.
const maxKey = 255

// idempotencyKey returns the key of a start or a signal; empty without one. A valid
// key is 1 to 255 visible ASCII characters in one header. The error has all invalid
// fields: the fields of the body, and the header.
func idempotencyKey(h http.Header, problems []verification.FieldError) (string, error) {
	key := ""
	if values, sent := h["Idempotency-Key"]; sent {
		key = values[0]
		visible := strings.IndexFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) < 0
		if len(values) > 1 || key == "" || len(key) > maxKey || !visible {
			problems = append(problems, verification.FieldError{Name: "Idempotency-Key", Message: fmt.Sprintf("must be 1 to %d visible ASCII characters", maxKey)})
		}
	}
	if len(problems) > 0 {
		return "", badFields(problems)
	}
	return key, nil
}

// preference says how long a start should wait.
type preference struct {
	wait    *time.Duration // nil for the default of the workflow
	applied string         // the value of Preference-Applied; empty for none
}

// preferenceOf parses Prefer as in RFC 7240: the first preference of a name counts,
// and unknown ones are ignored. A wait is at most maxWait. respond-async without a
// wait means no wait.
func preferenceOf(h http.Header) preference {
	wait, async := -1, false
	for _, value := range h["Prefer"] {
		for item := range strings.SplitSeq(value, ",") {
			item, _, _ = strings.Cut(item, ";")
			name, arg, _ := strings.Cut(item, "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "respond-async":
				async = true
			case "wait":
				n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(arg), `"`), 10, 32)
				if wait < 0 && err == nil {
					wait = int(min(n, maxWait))
				}
			}
		}
	}
	var p preference
	switch {
	case wait >= 0:
		d := time.Duration(wait) * time.Second
		p.wait, p.applied = &d, "wait="+strconv.Itoa(wait)
		if async {
			p.applied += ", respond-async"
		}
	case async:
		p.wait, p.applied = new(time.Duration), "respond-async"
	}
	return p
}

// unchanged reports whether If-None-Match has the entity tag. Weak and strong tags
// compare equal, as for any GET.
func unchanged(h http.Header, etag string) bool {
	for _, value := range h["If-None-Match"] {
		if value == etag || strings.TrimSpace(value) == "*" {
			return true
		}
		for value != "" {
			value = strings.TrimLeft(value, " \t,")
			value = strings.TrimPrefix(value, "W/")
			if !strings.HasPrefix(value, `"`) {
				break
			}
			end := strings.IndexByte(value[1:], '"')
			if end < 0 {
				break
			}
			if value[:end+2] == etag {
				return true
			}
			value = value[end+2:]
		}
	}
	return false
}
