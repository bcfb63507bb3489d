// Query parameters: each has an exact error text.

package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// param returns a query parameter. It is not ok if it is given twice or cannot be
// decoded. url.ParseQuery does not say which parameter it could not decode.
func param(query, name string) (value string, given, ok bool) {
	ok = true
	for pair := range strings.SplitSeq(query, "&") {
		key, encoded, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(key); err != nil || decoded != name {
			continue
		}
		decoded, err := url.QueryUnescape(encoded)
		value, given, ok = decoded, true, ok && !given && err == nil
	}
	return value, given, ok
}

// params reads the parameters of a query, and keeps the first error.
type params struct {
	query string
	err   error
}

// parsed parses a parameter, or returns the default value if it is not given.
func parsed[T any](p *params, name string, byDefault T, parse func(string) (T, error), refusal error) T {
	text, given, ok := param(p.query, name)
	if !given || p.err != nil {
		return byDefault
	}
	value, err := parse(text)
	if err != nil || !ok {
		p.err = refusal
		return byDefault
	}
	return value
}

// only keeps an error that names the parameters of a list that it does not have: a
// misspelt filter would select everything. It is called last, because the error of a
// parameter that the list has comes first.
func (p *params) only(names ...string) {
	var unknown []verification.FieldError
	for pair := range strings.SplitSeq(p.query, "&") {
		key, _, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(key)
		if err != nil {
			name = key
		}
		is := func(f verification.FieldError) bool { return f.Name == cut(name) }
		if pair != "" && !slices.Contains(names, name) && !slices.ContainsFunc(unknown, is) && len(unknown) < maxUnknown {
			unknown = append(unknown, verification.FieldError{Name: cut(name), Message: "is not a parameter of this list"})
		}
	}
	if p.err == nil && len(unknown) > 0 {
		p.err = badFields(unknown)
	}
}

// maxUnknown bounds the parameters that one error names.
const maxUnknown = 10

// pageParams are the parameters of every list.
func pageParams() []string { return []string{"limit", "offset"} }

func (p *params) page() store.PageQuery {
	return store.PageQuery{
		Limit:  parsed(p, "limit", store.DefaultLimit, integer(1, store.MaxLimit), errLimit),
		Offset: parsed(p, "offset", 0, integer(0, maxOffset), errOffset),
	}
}

// maxOffset lets a store add a page to an offset without overflow.
const maxOffset = 1<<53 - 1

func runQuery(query string) (store.RunQuery, error) {
	p := &params{query: query}
	q := store.RunQuery{
		Workflow:      parsed(p, "workflow_id", "", verification.ParseWorkflowID, errWorkflowFilter),
		Status:        parsed(p, "status", "", rules.ParseStatus, errStatusFilter),
		Decision:      parsed(p, "decision", "", rules.ParseDecision, errDecisionFilter),
		ReferenceID:   parsed(p, "reference_id", "", referenceID, errReferenceFilter),
		StartedAfter:  parsed(p, "started_after", time.Time{}, apitypes.ParseTime, errStartedAfter),
		StartedBefore: parsed(p, "started_before", time.Time{}, apitypes.ParseTime, errStartedBefore),
		PageQuery:     p.page(),
	}
	p.only(append(pageParams(), "workflow_id", "status", "decision", "reference_id", "started_after", "started_before")...)
	return q, p.err
}

func referenceID(s string) (string, error) { return s, rules.ValidateReferenceID(s) }

func wantsReport(query string) (bool, error) {
	p := &params{query: query}
	report := parsed(p, "view", false, func(s string) (bool, error) {
		if s != "report" {
			return false, errView
		}
		return true, nil
	}, errView)
	return report, p.err
}

// wantsFile reports whether a report is for the file of the client, and whether it may lack text.
func wantsFile(query string) (forFile, allowMissing bool, err error) {
	p := &params{query: query}
	forFile = parsed(p, "for", false, func(s string) (bool, error) {
		if s != "file" {
			return false, errFor
		}
		return true, nil
	}, errFor)
	allowMissing = parsed(p, "allow_missing", false, func(s string) (bool, error) {
		if s != "1" {
			return false, errAllowMissing
		}
		return true, nil
	}, errAllowMissing)
	return forFile, allowMissing, p.err
}

// integer parses decimal digits without a sign.
func integer(low, high uint64) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.ParseUint(s, 10, 64)
		if err == nil && (n < low || n > high) {
			err = strconv.ErrRange
		}
		return int(n), err
	}
}
