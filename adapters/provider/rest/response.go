// Responses: from an HTTP response to the result of a check.

package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// response is a compiled section response. A condition or an expression that is not
// declared is nil.
type response struct {
	conditions []condition // in the order in which they are tried
	handle     value
	data       []dataField
}

type condition struct {
	name    string
	outcome verification.CheckOutcome
	holds   value
}

type dataField struct {
	name, kind string
	required   bool
	value      value
}

func (c *compiler) response(at string, r responseConfig) *response {
	compiled := &response{handle: c.expression(joined(at, "handle"), r.Handle, "")}
	for _, one := range []struct {
		outcome verification.CheckOutcome
		text    string
	}{
		{verification.OutcomePending, r.Pending}, {verification.OutcomePassed, r.Passed}, {verification.OutcomeFailed, r.Failed},
	} {
		name := joined(at, string(one.outcome))
		if holds := c.expression(name, one.text, "boolean"); holds != nil {
			compiled.conditions = append(compiled.conditions, condition{name, one.outcome, holds})
		}
	}
	if r.Passed == "" && r.Failed == "" && r.Pending == "" {
		c.problem(at, "must have a condition: pending, passed or failed")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Data)) {
		f := r.Data[name]
		compiled.data = append(compiled.data, dataField{
			name, f.Type, f.Required, c.expression(joined(at, "data", name, "value"), f.Value, f.Type),
		})
	}
	return compiled
}

func (f dataConfig) schema() map[string]any {
	schema := map[string]any{}
	for name, text := range map[string]string{"type": f.Type, "title": f.Label, "x-unit": f.Unit} {
		if text != "" {
			schema[name] = text
		}
	}
	return schema
}

// vendorResponse is what a vendor sent, as the response of a request or as a callback.
type vendorResponse struct {
	status int
	header http.Header
	body   any // nil if it is not JSON
}

// variable returns the response as expressions see it.
func (a vendorResponse) variable() map[string]any {
	headers := make(map[string]any, len(a.header))
	for name, values := range a.header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return map[string]any{"status": float64(a.status), "headers": headers, "body": a.body}
}

// errUndecided is returned for a response for which no condition holds.
var errUndecided = errors.New("no condition of response holds")

// result returns the result that a response means, and adds the response to vars. If no
// condition holds, the error wraps errUndecided and says which condition could not be
// evaluated. Any other error is one of the handle or of the data.
func (r *response) result(a vendorResponse, vars map[string]any) (verification.CheckResult, error) {
	vars["response"] = a.variable()
	var first error // of a condition that cannot be evaluated
	for _, c := range r.conditions {
		v, err := c.holds(vars)
		if err != nil && first == nil {
			first = fmt.Errorf("%w: %s: %w", errUndecided, c.name, err)
		}
		if holds, _ := v.(bool); !holds {
			continue
		}
		result := verification.CheckResult{Outcome: c.outcome}
		if c.outcome == verification.OutcomePending {
			result.Handle, err = r.handleOf(vars)
		} else {
			result.Data, err = r.dataOf(vars)
		}
		return result, err
	}
	return verification.CheckResult{}, cmp.Or(first, errUndecided)
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

// dataOf returns the data. A field without a value is left out unless it is required.
func (r *response) dataOf(vars map[string]any) (map[string]any, error) {
	data := make(map[string]any, len(r.data))
	for _, f := range r.data {
		v, err := f.value(vars)
		switch {
		case err != nil && f.required:
			return nil, fmt.Errorf("data.%s: %w", f.name, err)
		case err == nil && v == nil && f.required:
			return nil, fmt.Errorf("data.%s: it has no value", f.name)
		case err != nil || v == nil:
		case !isKind(v, f.kind):
			return nil, fmt.Errorf("data.%s: it is not a %s", f.name, f.kind)
		default:
			data[f.name] = v
		}
	}
	return data, nil
}

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
	case int64, uint64:
		return kind == "" || kind == "number" || kind == "integer"
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	}
	return kind == "" || kind == is
}

// decodeBody decodes a JSON body; nil if it is not one JSON value. A whole number
// keeps its digits if a float64 does not have them.
func decodeBody(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil
	}
	return plain(v)
}

func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil && (i > 1<<53 || i < -1<<53) {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return nil
		}
		return f
	case map[string]any:
		for name, field := range v {
			v[name] = plain(field)
		}
	case []any:
		for i, item := range v {
			v[i] = plain(item)
		}
	}
	return v
}
