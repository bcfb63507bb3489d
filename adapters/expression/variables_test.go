// Tests of expressions over named variables.

package expression_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
)

// answerVars declares an HTTP response and a string.
var answerVars = map[string]verification.Data{
	"response": verification.Data(`{"type":"object","properties":{"status":{"type":"integer"},"headers":{"type":"object"},"body":{}}}`),
	"handle":   verification.Data(`{"type":"string"}`),
	"anything": nil,
}

func TestAnExpressionReadsNamedVariables(t *testing.T) {
	values := map[string]any{
		"response": map[string]any{
			"status": 200.0, "headers": map[string]any{"x-id": "7"},
			"body": map[string]any{"score": 0.9, "list": []any{"a"}, "nothing": nil},
		},
		"handle": "h-1",
	}
	for _, tt := range []struct {
		text, kind string
		want       any
	}{
		{"response.status == 200 && response.body.score > 0.5", "boolean", true},
		{"response.body.score", "number", 0.9},
		{"response.headers['x-id']", "string", "7"},
		{"response.body.list", "array", []any{"a"}},
		{"handle", "", "h-1"},
		{"response.body.?missing.orValue('none')", "string", "none"},
		{"response.body.nothing", "", nil},
	} {
		eval, _, err := expression.New().Expression(tt.text, tt.kind, answerVars)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		got, err := eval(values)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestAWrongExpressionOverVariablesIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"response.statu == 200": "undefined field 'statu'",
		"steps.pan.passed":      "undeclared reference to 'steps'",
		"handle":                "it must be of type boolean, not string",
		"handle == 1":           "handle is a text, 1 is a number",
		"":                      "the expression is empty",
		"response.":             "Syntax error",
	} {
		_, _, err := expression.New().Expression(text, "boolean", answerVars)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestAnEvaluationErrorNamesThePathAndNoValue(t *testing.T) {
	eval, _, err := expression.New().Expression("response.body.person.name == 'x'", "boolean", answerVars)
	if err != nil {
		t.Fatal(err)
	}
	_, err = eval(map[string]any{"response": map[string]any{"body": map[string]any{"secret": "canary"}}})
	if err == nil || err.Error() != "response.body.person has no value" {
		t.Errorf("error = %v, want the path that has no value", err)
	}
}

func TestATextFillsInItsVariables(t *testing.T) {
	values := map[string]any{"handle": "a/b", "anything": map[string]any{"n": 3.0, "s": "x"}}
	for _, tt := range []struct {
		text   string
		escape func(string) string
		want   any
		reads  []string
	}{
		{"plain", nil, "plain", nil},
		{"${anything.n}", nil, 3.0, []string{"anything.n"}},
		{"n is ${anything.n}", nil, "n is 3", []string{"anything.n"}},
		{"/v1/${handle}/x", url.PathEscape, "/v1/a%2Fb/x", []string{"handle"}},
		{"${handle}", url.PathEscape, "a%2Fb", []string{"handle"}},
		{"${handle}-${anything.s}", nil, "a/b-x", []string{"anything.s", "handle"}},
		{"", nil, "", nil},
	} {
		render, reads, err := expression.New().Text(tt.text, tt.escape, answerVars)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		slices.Sort(reads)
		if diff := cmp.Diff(tt.reads, reads); diff != "" {
			t.Errorf("%s reads (-want +got):\n%s", tt.text, diff)
		}
		got, err := render(values)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.text, err, diff)
		}
	}
}
