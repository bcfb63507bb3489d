// Request headers with a meaning: Idempotency-Key, Prefer, If-None-Match.

package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// maxWait is the longest wait that a client may prefer, in seconds.
const maxWait = 25

// idempotencyKey reads the key of a start or a signal: one header of 1 to 255 visible
// ASCII characters.
func idempotencyKey(h http.Header) (string, []verification.FieldError) {
	values, sent := h["Idempotency-Key"]
	if !sent {
		return "", nil
	}
	key := values[0]
	visible := strings.IndexFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) < 0
	if len(values) > 1 || key == "" || len(key) > 255 || !visible {
		return "", []verification.FieldError{{Name: "Idempotency-Key", Message: "must be 1 to 255 visible ASCII characters"}}
	}
	return key, nil
}

// preference is what a client prefers about the wait of a start.
type preference struct {
	wait    *time.Duration // nil leaves it to the workflow
	applied string         // the value of Preference-Applied; empty for none
}

// preferenceOf reads Prefer, as RFC 7240 has it: the first of its kind counts,
// and what is not understood is ignored. A longer wait than maxWait is cut to
// it. With respond-async alone nothing is waited for.
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
				if wait < 0 {
					wait = seconds(strings.Trim(strings.TrimSpace(arg), `"`))
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

// seconds reads a wait and cuts it to maxWait; -1 when it is none.
func seconds(s string) int {
	if s == "" || len(s) > 9 || strings.Trim(s, "0123456789") != "" {
		return -1
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return min(n, maxWait)
}

// unchanged tells whether the client has the answer with this entity tag
// already. Weak and strong tags compare alike, as for any GET.
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
