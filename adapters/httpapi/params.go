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

// parsed parses a parameter, or returns the default value if it is not given.
func parsed[T any](query, name string, byDefault T, parse func(string) (T, error), refusal error) (T, error) {
	text, given, ok := param(query, name)
	if !given {
		return byDefault, nil
	}
	value, err := parse(text)
	if err != nil || !ok {
		return byDefault, refusal
	}
	return value, nil
}

// onlyParams returns an error that names the parameters of a list that it does not
// have: a misspelt filter would select everything.
func onlyParams(query string, names ...string) error {
	var unknown []verification.FieldError
	for pair := range strings.SplitSeq(query, "&") {
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
	if len(unknown) > 0 {
		return badFields(unknown)
	}
	return nil
}

// maxUnknown bounds the parameters that one error names.
const maxUnknown = 10

// pageParams are the parameters of every list.
func pageParams() []string { return []string{"limit", "offset"} }

func pageQuery(query string) (verification.PageQuery, error) {
	limit, err := parsed(query, "limit", verification.DefaultLimit, integer(1, verification.MaxLimit), errLimit)
	if err != nil {
		return verification.PageQuery{}, err
	}
	offset, err := parsed(query, "offset", 0, integer(0, maxOffset), errOffset)
	return verification.PageQuery{Limit: limit, Offset: offset}, err
}

// maxOffset lets a store add a page to an offset without overflow.
const maxOffset = 1<<53 - 1

func runQuery(query string) (q verification.RunQuery, err error) {
	err = onlyParams(query, append(pageParams(),
		"workflow_id", "status", "decision", "reference_id", "started_after", "started_before")...)
	if err != nil {
		return q, err
	}
	if q.Workflow, err = parsed(query, "workflow_id", "", verification.ParseWorkflowID, errWorkflowFilter); err != nil {
		return q, err
	}
	if q.Status, err = parsed(query, "status", "", verification.ParseStatus, errStatusFilter); err != nil {
		return q, err
	}
	if q.Decision, err = parsed(query, "decision", "", verification.ParseDecision, errDecisionFilter); err != nil {
		return q, err
	}
	if q.ReferenceID, err = parsed(query, "reference_id", "", referenceID, errReferenceFilter); err != nil {
		return q, err
	}
	if q.StartedAfter, err = parsed(query, "started_after", time.Time{}, apitypes.ParseTime, errStartedAfter); err != nil {
		return q, err
	}
	if q.StartedBefore, err = parsed(query, "started_before", time.Time{}, apitypes.ParseTime, errStartedBefore); err != nil {
		return q, err
	}
	q.PageQuery, err = pageQuery(query)
	return q, err
}

func referenceID(s string) (string, error) { return s, verification.ValidateReferenceID(s) }

func wantsReport(query string) (bool, error) {
	return parsed(query, "view", false, func(s string) (bool, error) {
		if s != "report" {
			return false, errView
		}
		return true, nil
	}, errView)
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
