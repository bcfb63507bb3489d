// Responses: from an HTTP response to the result of a check.

package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
)

// response is a compiled section response. A condition or an expression that is not
// declared is nil.
type response struct {
	redirect   value       // the URL; nil if it is not declared
	conditions []condition // in the order in which they are tried
	handle     value
	data       []dataField
}

type condition struct {
	name     string
	outcome  verification.CheckOutcome
	holds    value
	byStatus bool // it reads the status of the response, so it may hold for any
}

type dataField struct {
	name, kind string
	optional   bool
	value      value
}

func (c *compiler) response(at string, r responseConfig) *response {
	handle, _ := c.expression(joined(at, "handle"), r.Handle, "")
	redirect, _ := c.expression(joined(at, "redirect"), r.Redirect, "")
	compiled := &response{handle: handle, redirect: redirect}
	for _, one := range []struct {
		outcome verification.CheckOutcome
		text    string
	}{
		{verification.OutcomePending, r.Pending},
		{verification.OutcomeNoCoverage, r.NoCoverage.When},
		{verification.OutcomeInconclusive, r.Inconclusive.When},
		{verification.OutcomePassed, r.Passed},
		{verification.OutcomeFailed, r.Failed.When},
	} {
		name := joined(at, string(one.outcome))
		if holds, reads := c.expression(name, one.text, "boolean"); holds != nil {
			byStatus := slices.Contains(reads, "response.status") || slices.Contains(reads, "response")
			compiled.conditions = append(compiled.conditions, condition{name, one.outcome, holds, byStatus})
		}
	}
	if r.Passed == "" && r.Failed.When == "" && r.Pending == "" && r.Redirect == "" {
		c.problem(at, "must have a condition: pending, passed or failed")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Data)) {
		f := r.Data[name]
		value, _ := c.expression(joined(at, "data", name, "value"), f.Value, f.Type)
		switch {
		case f.Scale == nil:
		case f.Type != "number" && f.Type != "integer":
			c.problem(joined(at, "data", name, "scale"), "is for a number: say type: number")
		case !f.Scale.Valid():
			c.problem(joined(at, "data", name, "scale"), "must have from < to, and fails_below and passes_from between them in this order")
		}
		compiled.data = append(compiled.data, dataField{name, f.Type, f.Optional, value})
	}
	return compiled
}

// words returns what people read for the outcomes of a response.
func (c *compiler) words(at string, r responseConfig) map[verification.CheckOutcome]string {
	words := map[verification.CheckOutcome]string{}
	for outcome, one := range map[verification.CheckOutcome]wordedConfig{
		verification.OutcomeNoCoverage: r.NoCoverage, verification.OutcomeInconclusive: r.Inconclusive, verification.OutcomeFailed: r.Failed,
	} {
		switch name := joined(at, string(outcome), "text"); {
		case one.Text == "":
			continue
		case strings.TrimSpace(one.Text) == "" || strings.ContainsFunc(one.Text, unicode.IsControl):
			c.problem(name, "must be one line of text")
		case utf8.RuneCountInString(one.Text) > verification.MaxWords:
			c.problem(name, fmt.Sprintf("must have at most %d characters", verification.MaxWords))
		}
		words[outcome] = one.Text
	}
	return words
}

func (f dataConfig) schema() map[string]any {
	schema := map[string]any{}
	for name, text := range map[string]string{"type": f.Type, "title": f.Label, "x-unit": f.Unit} {
		if text != "" {
			schema[name] = text
		}
	}
	if f.Scale != nil {
		schema["x-scale"] = map[string]any{"from": f.Scale.From, "to": f.Scale.To, "fails_below": f.Scale.FailsBelow, "passes_from": f.Scale.PassesFrom}
	}
	return schema
}

// vendorResponse is what a vendor sent, as the response of a request or as a callback.
type vendorResponse struct {
	status int
	header http.Header
	body   any    // nil if it is not JSON
	fault  string // why the body has no clear meaning, so that no condition holds; may be empty
}

// variable returns the response as expressions see it.
func (a vendorResponse) variable() map[string]any {
	headers := make(map[string]any, len(a.header))
	for name, values := range a.header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return map[string]any{"status": float64(a.status), "headers": headers, "body": a.body}
}

// undecidedError is returned for a response for which no condition holds.
type undecidedError struct {
	why   string // which condition cannot be evaluated; may be empty
	fault string // what is wrong whatever the status; may be empty
}

func (e *undecidedError) Error() string {
	switch {
	case e.fault != "":
		return e.fault
	case e.why != "":
		return "no condition of response holds: " + e.why
	}
	return "no condition of response holds"
}

// result returns the result that a response means, and adds the response to vars. An answer
// that failed needs the fields in needs, as in a CheckRequest. If no condition holds, the
// error is an undecidedError. Any other error is one of the handle or of the data.
func (r *response) result(a vendorResponse, vars map[string]any, needs []string) (verification.CheckResult, error) {
	vars["response"] = a.variable()
	undecided := &undecidedError{fault: a.fault}
	if a.fault != "" {
		return verification.CheckResult{}, undecided
	}
	if to := r.redirectOf(a, vars); to != "" {
		handle, err := r.handleOf(vars)
		return verification.CheckResult{Outcome: verification.OutcomeRedirect, Redirect: to, Handle: handle}, err
	}
	for _, c := range r.conditions {
		v, err := c.holds(vars)
		if err != nil && undecided.why == "" {
			undecided.why = c.name + ": " + err.Error()
		}
		holds, fault := holding(c.name, v)
		elsewhere := !c.byStatus && (a.status < 200 || a.status > 299)
		switch {
		case fault != "" && !elsewhere:
			undecided.fault = fault
			return verification.CheckResult{}, undecided
		case !holds:
			continue
		case elsewhere:
			undecided.fault = cmp.Or(undecided.fault, c.name+" holds for 2xx only, because it does not read response.status")
			continue
		}
		result := verification.CheckResult{Outcome: c.outcome}
		switch c.outcome {
		case verification.OutcomePending:
			result.Handle, err = r.handleOf(vars)
		case verification.OutcomeNoCoverage, verification.OutcomeInconclusive:
			result.Data, err = r.dataOf(vars, true, nil) // it is evidence only: no expression reads it
		case verification.OutcomePassed, verification.OutcomeFailed:
			result.Data, err = r.dataOf(vars, c.outcome == verification.OutcomeFailed, needs)
		case verification.OutcomeRedirect: // no condition says so
		}
		return result, err
	}
	return verification.CheckResult{}, undecided
}

// holding reports whether a condition holds whose value is v. A value that is missing does not hold. fault says what is wrong
// with any other value that is neither true nor false.
func holding(name string, v any) (holds bool, fault string) {
	holds, ok := v.(bool)
	if v == nil || ok {
		return holds, ""
	}
	return false, name + " must be true or false, and its value is not"
}

// redirectOf returns the URL that a response with 2xx leads the customer to; empty for none.
func (r *response) redirectOf(a vendorResponse, vars map[string]any) string {
	if r.redirect == nil || a.status < 200 || a.status > 299 {
		return ""
	}
	v, _ := r.redirect(vars) // a value that is not there leads nowhere
	to, _ := v.(string)
	return to
}

func (r *response) handleOf(vars map[string]any) (string, error) {
	if r.handle == nil {
		return "", nil
	}
	v, err := r.handle(vars)
	if err != nil {
		return "", fmt.Errorf("handle: %w", err)
	}
	return textOf(v)
}

// dataOf returns the data. Every field must have a value unless it is optional, or the check
// has failed and nothing needs the field.
func (r *response) dataOf(vars map[string]any, failed bool, needs []string) (map[string]any, error) {
	data := make(map[string]any, len(r.data))
	lacking := ""
	for _, f := range r.data {
		v, err := f.value(vars)
		missing, ok := errors.AsType[absentError](err)
		absent := err == nil && v == nil || ok && missing.Absent()
		switch {
		case absent && f.optional:
		case absent && failed && !slices.Contains(needs, f.name):
			lacking = f.name
		case err != nil:
			return nil, fmt.Errorf("data.%s: %w", f.name, err)
		case absent:
			return nil, noValue(f.name)
		case !isKind(v, f.kind):
			return nil, fmt.Errorf("data.%s: it is not a %s", f.name, f.kind)
		default:
			data[f.name] = v
		}
	}
	if len(data) == 0 && lacking != "" && slices.Contains(needs, "") {
		return nil, noValue(lacking)
	}
	return data, nil
}

func noValue(field string) error { return fmt.Errorf("data.%s: it has no value", field) }

// isKind reports whether a plain value has a JSON type; empty is any.
func isKind(v any, kind string) bool {
	is := ""
	switch v := v.(type) {
	case string:
		is = "string"
	case bool:
		is = "boolean"
	case float64:
		return kind == "" || kind == "number" || kind == "integer" && v == math.Trunc(v)
	case json.Number:
		n, err := verification.ParseNumber(v)
		_, fraction := n.(float64)
		return err == nil && (kind == "" || kind == "number" || kind == "integer" && !fraction)
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	}
	return kind == "" || kind == is
}
