package definitions_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestProblemsOfADefinitionAreExplained(t *testing.T) {
	const file = `workflow: w
name: ""
start: nowhere
nodes:
  pan:
    type: check
    provider: sandbox
    on_failed: foo
    next: done
  risk:
    type: branch
    rules:
      - when: "true"
        next: done
      - {next: done}
    else: done
  done: {type: end, label: *none}
`
	d, err := definitions.ReadWorkflow("workflows/w.yaml", []byte(strings.Replace(file, ", label: *none", "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	_, cause := workflow.Compile(t.Context(), "", workflow.Version{Definition: d.Definition}, lenient{}, nil, nil)
	explained := d.Explain(cause)
	want := `workflows/w.yaml:2:1: name: is required
workflows/w.yaml:3:1: start: there is no node "nowhere"
workflows/w.yaml:8:5: nodes.pan.on_failed: there is no node "foo"
workflows/w.yaml:15:9: nodes.risk.rules[1].when: is required`
	if diff := cmp.Diff(want, fmt.Sprint(explained)); diff != "" {
		t.Errorf("explained (-want +got):\n%s", diff)
	}
	var invalid *verification.Error
	if !errors.As(explained, &invalid) || !errors.Is(explained, cause) {
		t.Error("the explanation does not lead back to its cause")
	}
}

// A position is looked for among all values of a file, so many problems must not have one each.
func TestManyLanguagesAreOneProblem(t *testing.T) {
	label := ""
	for i := range 2000 {
		label += fmt.Sprintf("      l%d: x\n", i)
	}
	d, err := definitions.ReadWorkflow("w.yaml", []byte("workflow: w\nname: W\nstart: a\nnodes:\n  a:\n    type: end\n    label:\n"+label))
	if err != nil {
		t.Fatal(err)
	}
	_, cause := workflow.Compile(t.Context(), "", workflow.Version{Definition: d.Definition}, lenient{}, nil, nil)
	if got := fmt.Sprint(d.Explain(cause)); !strings.Contains(got, "nodes.a.label: must have 1 to 50 languages") || strings.Count(got, "\n") > 2 {
		t.Errorf("the problems are %s", got)
	}
	many := make([]verification.FieldError, 60_000)
	for i := range many {
		many[i] = verification.FieldError{Name: fmt.Sprint("nodes.a.label.l", i), Message: "no"}
	}
	found := d.ExplainFields(many)
	if len(found.List) != 500 || found.More != 59_500 {
		t.Errorf("%d problems are listed and %d counted, want 500 and 59,500", len(found.List), found.More)
	}
}

func TestExplainFindsTheNearestPosition(t *testing.T) {
	d, err := definitions.ReadWorkflow("w.json", []byte(`{
  "workflow": "w",
  "nodes": {
    "a": {"type": "branch",
      "rules": [{"when": "x"},
                {"when": "y"}]},
    "a.b": {"type": "end"}
  }
}`))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path         string
		line, column int
	}{
		{"", 1, 1},
		{"workflow", 2, 3},
		{"name", 1, 1},
		{"workflow.x.y", 2, 3},
		{"nodes.a", 4, 5},
		{"nodes.a.type", 4, 11},
		{"nodes.a.b", 7, 5},
		{"nodes.a.b.type", 7, 13},
		{"nodes.a.bc", 4, 5},
		{"nodes.c.next", 3, 3},
		{"nodes.a.rules", 5, 7},
		{"nodes.a.rules[0]", 5, 17},
		{"nodes.a.rules[1].when", 6, 18},
		{"nodes.a.rules[1].next", 6, 17},
		{"nodes.a.rules[2].when", 5, 7},
		{"nodes.a.rules[-1]", 5, 7},
		{"nodes.a.rules[x", 5, 7},
		{"nodes.a.rules[", 5, 7},
		{"..nodes", 1, 1},
		{"[0]", 1, 1},
	}
	for _, test := range tests {
		err := d.Explain(&verification.Error{Kind: verification.ErrInvalid, Fields: []verification.FieldError{{Name: test.path, Message: "no"}}})
		var found *definitions.Diagnostics
		if !errors.As(err, &found) {
			t.Fatalf("%T is not *Diagnostics", err)
		}
		if f := found.List[0]; f.Line != test.line || f.Column != test.column {
			t.Errorf("%s is at %d:%d, want %d:%d", test.path, f.Line, f.Column, test.line, test.column)
		}
	}
}

func TestExplainLeavesOtherErrorsAlone(t *testing.T) {
	d := load(t, filepath.Join("testdata", "workflows", "smallest.yaml"))
	if err := d.Explain(nil); err != nil {
		t.Errorf("Explain(nil) = %v", err)
	}
	if err := d.Explain(os.ErrNotExist); err != os.ErrNotExist { //nolint:errorlint // the very same error is promised
		t.Errorf("Explain(%v) = %v", os.ErrNotExist, err)
	}
	conflict := &verification.Error{Kind: verification.ErrConflict, Subject: "workflow", Message: "it moved"}
	if got, want := fmt.Sprint(d.Explain(conflict)), d.File+":1:1: workflow: it moved"; got != want {
		t.Errorf("Explain(%v) = %s, want %s", conflict, got, want)
	}
	if err := (definitions.Document{}).Explain(conflict); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("an empty document explains %v", err)
	}
}

// lenient is a compiler that accepts every text.
type lenient struct{}

func (lenient) Condition(string, workflow.Declarations) (workflow.Condition, error) {
	return nil, nil
}

func (lenient) Template(verification.Data, workflow.Declarations) (workflow.Template, error) {
	return nil, nil
}

func (lenient) Values(texts []string, _ workflow.Declarations) (workflow.Values, []error) {
	return nil, make([]error, len(texts))
}
func (lenient) Pattern(string) (workflow.Pattern, error)          { return nil, nil }
func (lenient) Schema(verification.Data) (workflow.Schema, error) { return nil, nil }

func TestAProblemInsideAStringIsExplainedAtItsCharacter(t *testing.T) {
	const file = `nodes:
  plain: {type: branch, else: e, rules: [{next: e, when: a == !}]}
  double: {type: branch, else: e, rules: [{next: e, when: "a == \"é\" && !"}]}
  single: {type: branch, else: e, rules: [{next: e, when: 'a == ''é'' && !'}]}
  literal:
    rules:
      - when: |-  # a == !
          a == 1 &&

            b == !
      - when: >
          a == 1 &&
          b == !
      - when: &same
          a == 1 &&
          b == !
      - when: *same
      - when: "a == 1 &&\n !"
    type: branch
    else: e
  with:
    type: check
    provider: sandbox
    next: e
    with:
      a: [x, "${a} and ${!}"]
      b: {"c d": "\u0041${!}", "c.d": "${!}"}
  e: {type: end}
`
	d, err := definitions.ReadWorkflow("w.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	_, cause := workflow.Compile(t.Context(), "", workflow.Version{Definition: d.Definition}, exclamations{}, nil, nil)
	var found *definitions.Diagnostics
	if !errors.As(d.Explain(cause), &found) {
		t.Fatalf("the error is %v, want Diagnostics", cause)
	}
	var got []string
	for _, f := range found.List {
		if strings.HasSuffix(f.Message, "!") {
			got = append(got, strings.TrimPrefix(f.String(), "w.yaml:"))
		}
	}
	want := []string{
		"2:63: nodes.plain.rules[0].when: !",
		"3:74: nodes.double.rules[0].when: !",
		"4:74: nodes.single.rules[0].when: !",
		"10:18: nodes.literal.rules[0].when: !",
		"13:16: nodes.literal.rules[1].when: !",
		"14:15: nodes.literal.rules[2].when: !", // an anchor
		"17:15: nodes.literal.rules[3].when: !", // an alias
		"18:15: nodes.literal.rules[4].when: !", // an escape
		"26:26: nodes.with.with.a[1]: !",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("positions (-want +got):\n%s", diff)
	}
	for path, want := range map[string][2]int{`nodes.with.with.b["c d"]`: {27, 18}, `nodes.with.with.b["c.d"]`: {27, 40}} {
		err := d.Explain(&verification.Error{Kind: verification.ErrInvalid, Fields: []verification.FieldError{{Name: path, Message: "no", Character: 1}}})
		if !errors.As(err, &found) || found.List[0].Line != want[0] || found.List[0].Column != want[1] {
			t.Errorf("%s is at %v, want %v", path, err, want)
		}
	}
}

func TestProblemsInsideObjectsHaveTheirPositions(t *testing.T) {
	const file = `workflow: w
name: W
input_schema:
  properties:
    rule: {$ref: "#/$defs/rule"}
  $defs:
    rule: {items: {$ref: "#/$defs/rule"}}
start: pan
nodes:
  pan:
    type: check
    provider: registry
    next: done
    with:
      numbr: "${input.pan}"
      holder:
        names: [Asha, 7]
  done: {type: end}
`
	d, err := definitions.ReadWorkflow("w.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]verification.ProviderDescription{"registry": {With: verification.Data(`{"type":"object"}`)}}
	_, cause := workflow.Compile(t.Context(), "", workflow.Version{Definition: d.Definition}, misspelt{}, nil, described)
	want := `w.yaml:7:5: input_schema["$defs"].rule: refers to itself
w.yaml:14:5: nodes.pan.with.number: is required
w.yaml:15:7: nodes.pan.with.numbr: unknown field; did you mean number?
w.yaml:17:23: nodes.pan.with.holder.names[1]: must be a string`
	if diff := cmp.Diff(want, fmt.Sprint(d.Explain(cause))); diff != "" {
		t.Errorf("explained (-want +got):\n%s", diff)
	}
}

// misspelt is a compiler that reports the same problems for every with, and one for
// every schema with definitions.
type misspelt struct{ lenient }

func (misspelt) Schema(text verification.Data) (workflow.Schema, error) {
	if !strings.Contains(text.String(), "$defs") {
		return nil, nil
	}
	return nil, &verification.TextError{Path: `["$defs"].rule`, Message: "refers to itself"}
}

func (misspelt) Template(_ verification.Data, d workflow.Declarations) (workflow.Template, error) {
	if d.With == nil {
		return nil, nil
	}
	return nil, errors.Join(
		&verification.TextError{Path: "holder.names[1]", Message: "must be a string"},
		&verification.TextError{Path: "number", Message: "is required"},
		&verification.TextError{Path: "numbr", Message: "unknown field; did you mean number?"},
	)
}

// exclamations is a compiler that reports the last ! of a text as a problem.
type exclamations struct{ lenient }

func (exclamations) Condition(text string, _ workflow.Declarations) (workflow.Condition, error) {
	before, _, found := strings.Cut(text, "!")
	if !found {
		return nil, nil
	}
	return nil, &verification.TextError{Character: len([]rune(before)) + 1, Message: "!"}
}

func (exclamations) Template(object verification.Data, _ workflow.Declarations) (workflow.Template, error) {
	list, _ := object.Map()["a"].([]any)
	text, _ := list[1].(string)
	return nil, &verification.TextError{Path: "a[1]", Character: strings.Index(text, "!") + 1, Message: "!"}
}
