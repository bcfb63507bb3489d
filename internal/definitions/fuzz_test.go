package definitions_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// ends is a compiler that reports the last character of a condition as a problem.
type ends struct{ lenient }

func (ends) Condition(text string, _ workflow.Declarations) (workflow.Condition, error) {
	return nil, &verification.TextError{Character: len([]rune(text)), Message: "no"}
}

func FuzzReadWorkflow(f *testing.F) {
	for _, file := range examples(f) {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, strings.HasSuffix(file, ".json"))
	}
	f.Add([]byte("nodes: {a: {type: branch, rules: [{when: \"a \\\"\\u0041\\n\"}, {when: >-\n   b\n   c}]}}\n"), false)
	f.Add([]byte("a: &a [*a]\n? [b]\n: {<<: *a}\n"), false)
	f.Add([]byte(`{"nodes": {"a": {"with": {"\ud800": 1e999}}, "a": null}}`), true)
	f.Fuzz(func(t *testing.T, raw []byte, asJSON bool) {
		file := "w.yaml"
		if asJSON {
			file = "w.json"
		}
		d, err := definitions.ReadWorkflow(file, raw)
		checkDiagnostics(t, err)
		if err != nil {
			return
		}
		again, err := definitions.ReadWorkflow(file, raw)
		if diff := cmp.Diff(d.Definition, again.Definition); diff != "" || err != nil {
			t.Errorf("a second reading differs: %v\n%s", err, diff)
		}
		// Compile does not panic, and its problems have positions.
		version := workflow.Version{Definition: d.Definition}
		if _, err := workflow.Compile(t.Context(), "", version, ends{}, nil, nil); err != nil {
			checkDiagnostics(t, d.Explain(err))
		}
	})
}

func FuzzReadBootstrap(f *testing.F) {
	f.Add([]byte(bootstrapFile))
	f.Add([]byte(strings.Replace(bootstrapFile, "at least 20 characters", "at-least-20-characters", 1)))
	f.Add([]byte(`{"tenants": [{"id": "x", "accounts": [{}], "workflows": [{}, "", null]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, err := definitions.ReadBootstrap("b.yaml", raw, testdata, func(string) string {
			return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		})
		checkDiagnostics(t, err)
	})
}

// checkDiagnostics checks what holds for any error: it is a *Diagnostics, it has one
// line for each problem, and all positions are in the file.
func checkDiagnostics(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var found *definitions.Diagnostics
	if !errors.As(err, &found) || !errors.Is(err, verification.ErrInvalid) || len(found.List) == 0 {
		t.Fatalf("%T %v is not *Diagnostics", err, err)
	}
	lines := strings.Count(err.Error(), "\n") + 1
	if wanted := len(found.List) + min(found.More, 1); lines != wanted {
		t.Errorf("%d problems on %d lines:\n%v", wanted, lines, err)
	}
	for _, one := range found.List {
		if one.File == "" || one.Message == "" || one.Line < 0 || one.Column < 0 {
			t.Errorf("a diagnostic without a position: %+v", one)
		}
	}
}
