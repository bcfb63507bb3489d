// Values of Retry-After, good and bad.

package transport_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/transport"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestARetryAfterIsSecondsOrADate(t *testing.T) {
	const none = -1
	for value, want := range map[string]time.Duration{
		"": none, "0": 0, "00": 0, "1": time.Second, " 90 ": 90 * time.Second, "0090": 90 * time.Second, "86400": 24 * time.Hour,
		"86401": 24 * time.Hour, "4294967296": 24 * time.Hour, "99999999999999999999999999": 24 * time.Hour,
		"-1": none, "+1": none, "1.5": none, "1e3": none, "0x10": none, "1_000": none, "soon": none, "10, 20": none,
		"Fri, 20 Nov 2026 12:00:00 GMT":  0,
		"Fri, 20 Nov 2026 11:00:00 GMT":  none,
		"Fri, 20 Nov 2026 12:00:30 GMT":  30 * time.Second,
		"Friday, 20-Nov-26 12:00:30 GMT": 30 * time.Second,
		"Fri Nov 20 12:00:30 2026":       30 * time.Second,
		"Sat, 20 Nov 2027 12:00:00 GMT":  24 * time.Hour,
		"2026-11-20T13:00:00Z":           none,
	} {
		at, ok := transport.RetryAfter(value, noon)
		if ok != (want >= 0) || ok && !at.Equal(noon.Add(want)) {
			t.Errorf("RetryAfter(%q) = %s, %t, want %s from noon", value, at, ok, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"", "120", "-1", "18446744073709551616", "Fri, 20 Nov 2026 13:30:00 GMT", "Friday, 20-Nov-26 12:00:30 GMT", "Fri Nov 20 12:00:30 2026"} {
		f.Add(value, noon.UnixMicro())
	}
	f.Fuzz(func(t *testing.T, value string, micros int64) {
		now := time.UnixMicro(micros % (8000 * 365 * 24 * 3600 * 1e6)).UTC()
		at, ok := transport.RetryAfter(value, now)
		if ok && (at.Before(now) || at.After(now.Add(24*time.Hour))) {
			t.Errorf("RetryAfter(%q, %s) = %s, want it within a day", value, now, at)
		}
		if seconds, err := strconv.ParseUint(value, 10, 16); err == nil && (!ok || !at.Equal(now.Add(time.Duration(seconds)*time.Second))) {
			t.Errorf("RetryAfter(%q, %s) = %s, %t, want %d s later", value, now, at, ok, seconds)
		}
		if date, err := http.ParseTime(value); err == nil && ok && at.Before(now.Add(24*time.Hour)) && !at.Equal(date) {
			t.Errorf("RetryAfter(%q, %s) = %s, want %s", value, now, at, date)
		}
	})
}
