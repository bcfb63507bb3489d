// Package apitypes holds the JSON of the HTTP API: the bodies of its responses and
// of the lifecycle webhook, as docs/api.md and docs/webhooks.md describe them.
//
// The same types serve to write responses and to read them. A field that may be null
// is a pointer, or a [Timestamp] whose zero value is null. A field that a body leaves
// out has its zero value.
package apitypes

import (
	"strconv"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Timestamp is a time that is written in UTC and in whole seconds. Its zero value
// is written as null.
type Timestamp struct{ time.Time }

const layout = "2006-01-02T15:04:05Z"

// String returns the time as it is written, or an empty string for the zero value.
func (t Timestamp) String() string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(layout)
}

// MarshalJSON implements json.Marshaler.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	text := append(make([]byte, 0, len(layout)+2), '"')
	return append(t.UTC().AppendFormat(text, layout), '"'), nil
}

// ParseTime parses a time of RFC 3339, such as 2026-01-31T18:30:00Z, to the microsecond.
// It returns an error for a time before year 1.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err == nil && t.UTC().Year() < 1 { // PostgreSQL has no year 0
		err = strconv.ErrRange
	}
	return t.UTC().Truncate(time.Microsecond), err
}

// Page is one page of a list.
type Page[T any] struct {
	Data   []T `json:"data"`
	Total  int `json:"total"` // of all pages
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
}

// NewPage returns a page with every item converted.
func NewPage[From, To any](p store.Page[From], convert func(From) To) Page[To] {
	return Page[To]{Data: convertAll(p.Data, convert), Total: p.Total, Limit: p.Limit, Offset: p.Offset}
}

// convertAll never returns nil, so that an empty list is written as [].
func convertAll[From, To any](from []From, convert func(From) To) []To {
	to := make([]To, len(from))
	for i, v := range from {
		to[i] = convert(v)
	}
	return to
}

// Welcome is the response to GET /.
type Welcome struct {
	Service string `json:"service"`
	OpenAPI string `json:"openapi"` // path of the OpenAPI document
}

// Cancelled is the response to a cancel.
type Cancelled struct {
	ID     verification.RunID `json:"id"`
	Status rules.Status       `json:"status"`
}

// CallbackResult is the response to a vendor's callback.
type CallbackResult struct {
	OK bool `json:"ok"`
}

// SignalResult is the response to a signal.
type SignalResult struct {
	OK       bool           `json:"ok"`
	Result   string         `json:"result"`             // such as signal_delivered; see docs/api.md, R22.1
	Decision rules.Decision `json:"decision,omitempty"` // of a review signal
}
