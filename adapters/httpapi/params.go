// Query parameters: each with its exact refusal.

package httpapi

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// param finds a query parameter. One that is given twice, or that cannot be
// decoded, is not ok; the ones that nobody asks for are not looked at.
func param(query, name string) (value string, given, ok bool) {
	ok = true
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		key, v, _ := strings.Cut(pair, "=")
		if key != name {
			if decoded, err := url.QueryUnescape(key); err != nil || decoded != name {
				continue
			}
		}
		if given {
			return "", true, false
		}
		given = true
		decoded, err := url.QueryUnescape(v)
		if err != nil {
			return "", true, false
		}
		value = decoded
	}
	return value, given, ok
}

// parsed reads a parameter that may be left out.
func parsed[T any](query, name string, otherwise T, parse func(string) (T, error), refusal error) (T, error) {
	text, given, ok := param(query, name)
	if !given {
		return otherwise, nil
	}
	value, err := parse(text)
	if err != nil || !ok {
		return otherwise, refusal
	}
	return value, nil
}

func pageQuery(query string) (verification.PageQuery, error) {
	limit, err := parsed(query, "limit", verification.DefaultLimit, number(1, verification.MaxLimit), errLimit)
	if err != nil {
		return verification.PageQuery{}, err
	}
	offset, err := parsed(query, "offset", 0, number(0, maxOffset), errOffset)
	return verification.PageQuery{Limit: limit, Offset: offset}, err
}

// maxOffset leaves a store room to add a page to it.
const maxOffset = 1<<53 - 1

func runQuery(query string) (q verification.RunQuery, err error) {
	if q.Workflow, err = parsed(query, "workflow_id", "", verification.ParseWorkflowID, errWorkflowFilter); err != nil {
		return q, err
	}
	if q.Status, err = parsed(query, "status", "", verification.ParseStatus, errStatusFilter); err != nil {
		return q, err
	}
	if q.Decision, err = parsed(query, "decision", "", verification.ParseDecision, errDecisionFilter); err != nil {
		return q, err
	}
	q.PageQuery, err = pageQuery(query)
	return q, err
}

// wantsReport reads the view of a run.
func wantsReport(query string) (bool, error) {
	if query == "" {
		return false, nil
	}
	return parsed(query, "view", false, func(s string) (bool, error) {
		if s != "report" {
			return false, errView
		}
		return true, nil
	}, errView)
}

// number reads plain decimal digits between least and most.
func number(least, most int) func(string) (int, error) {
	return func(s string) (int, error) {
		if strings.Trim(s, "0123456789") != "" {
			return 0, strconv.ErrSyntax
		}
		n, err := strconv.Atoi(s)
		if err == nil && (n < least || n > most) {
			err = strconv.ErrRange
		}
		return n, err
	}
}
