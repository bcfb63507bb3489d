package definition_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/verification"
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
	d, err := definition.ReadWorkflow("workflows/w.yaml", []byte(strings.Replace(file, ", label: *none", "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	_, cause := verification.Compile("", verification.Version{Definition: d.Definition}, lenient{}, nil)
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

func TestExplainFindsTheNearestPosition(t *testing.T) {
	d, err := definition.ReadWorkflow("w.json", []byte(`{
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
		var found *definition.Diagnostics
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
	if err := (definition.Document{}).Explain(conflict); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("an empty document explains %v", err)
	}
}

// lenient is a language in which everything compiles.
type lenient struct{}

func (lenient) Condition(string, verification.Declarations) (verification.Condition, error) {
	return nil, nil
}

func (lenient) Template(verification.Data, verification.Declarations) (verification.Template, error) {
	return nil, nil
}
func (lenient) Pattern(string) (verification.Pattern, error)          { return nil, nil }
func (lenient) Schema(verification.Data) (verification.Schema, error) { return nil, nil }
