// Limits: calls at once, calls per second, time, size and repeated requests.

package rest

import (
	"time"

	"golang.org/x/time/rate"
)

type limits struct {
	Concurrent     int     `json:"concurrent"`      // calls at once on one host
	PerSecond      float64 `json:"per_second"`      // calls on one host; 0 for no limit
	TimeoutSeconds float64 `json:"timeout_seconds"` // of a dispatch or a poll, with its retries
	ResponseBytes  int64   `json:"response_bytes"`
	Retries        int     `json:"retries"` // of the request, inside one dispatch or poll
}

func defaultLimits() limits {
	return limits{Concurrent: 16, TimeoutSeconds: 30, ResponseBytes: 1 << 20, Retries: 2}
}

// The bounds of the limits.
const (
	maxConcurrent    = 10_000
	maxTimeout       = 600 // seconds
	maxResponseBytes = 16 << 20
	maxRetries       = 5
)

func (c *compiler) limits(l limits) {
	check := func(ok bool, name, message string) {
		if !ok {
			c.problem(joined("limits", name), message)
		}
	}
	check(l.Concurrent >= 1 && l.Concurrent <= maxConcurrent, "concurrent", "must be 1 to 10000")
	check(l.PerSecond >= 0 && l.PerSecond <= 1e6, "per_second", "must be 0 to 1000000")
	check(l.TimeoutSeconds > 0 && l.TimeoutSeconds <= maxTimeout, "timeout_seconds", "must be more than 0, and at most 600")
	check(l.ResponseBytes >= 1 && l.ResponseBytes <= maxResponseBytes, "response_bytes", "must be 1 to 16777216")
	check(l.Retries >= 0 && l.Retries <= maxRetries, "retries", "must be 0 to 5")
}

func (l limits) timeout() time.Duration {
	return time.Duration(l.TimeoutSeconds * float64(time.Second))
}

// turns returns the limiter of the rate, which spaces calls evenly; nil for no limit.
func (l limits) turns() *rate.Limiter {
	if l.PerSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(l.PerSecond), 1)
}
