package verification_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
)

const (
	tenantID   verification.TenantID   = "0191f3c0-0000-7000-8000-00000000000a"
	workflowID verification.WorkflowID = "0191f3c0-0000-7000-8000-000000000001"
	runID      verification.RunID      = "0191f3c0-0000-7000-8000-00000000000b"
)

// noon is when every run of these tests starts.
func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// language is an ExpressionCompiler whose texts are names of functions.
type language struct {
	conditions map[string]condition
	templates  map[string]template
	schemas    map[string]schema
}

type (
	condition func(verification.Scope) (bool, map[string]any, error)
	template  func(verification.Scope) (map[string]any, error)
	schema    func(verification.Data) []verification.FieldError
)

func (c condition) Holds(s verification.Scope) (bool, map[string]any, error) { return c(s) }
func (t template) Render(s verification.Scope) (map[string]any, error)       { return t(s) }
func (s schema) Check(d verification.Data) []verification.FieldError         { return s(d) }
func (l language) Pattern(text string) (verification.Pattern, error)         { return regexp.Compile(text) }

func (l language) Schema(text verification.Data) (verification.Schema, error) {
	return named(l.schemas, text.String())
}

func (l language) Condition(text string, d verification.Declarations) (verification.Condition, error) {
	if node, ok := strings.CutPrefix(text, "reads "); ok && !d.Steps[verification.NodeID(node)].MayPrecede {
		return nil, fmt.Errorf("the step %s cannot have run", node)
	}
	c, err := named(l.conditions, text)
	if node, ok := strings.CutPrefix(text, "reads "); ok && err == nil {
		return reading{c, "steps." + node + ".data.a"}, nil
	}
	return c, err
}

// reading is a condition that says what it reads.
type reading struct {
	condition
	path string
}

func (r reading) ReadPaths() []string { return []string{r.path} }

func (l language) Values(texts []string, d verification.Declarations) (verification.Values, []error) {
	v, problems := values{}, make([]error, len(texts))
	for i, text := range texts {
		step, field, _ := strings.Cut(strings.TrimPrefix(text, "steps."), ".data.")
		problem := error(nil)
		if _, ok := d.Steps[verification.NodeID(step)]; !ok && !strings.HasPrefix(text, "input.") {
			problem = fmt.Errorf("there is no step %s", step)
		}
		v, problems[i] = append(v, value{verification.NodeID(step), field, text}), problem
	}
	return v, problems
}

// values are paths such as steps.details.data.name or input.name.
type values []value

type value struct {
	step        verification.NodeID
	field, text string
}

func (v values) Evaluate(s verification.Scope) []any {
	all := make([]any, len(v))
	for i, p := range v {
		if name, ok := strings.CutPrefix(p.text, "input."); ok {
			all[i] = s.Input.Map()[name]
		}
		for _, step := range s.Steps {
			if step.Node == p.step {
				all[i] = step.Data.Map()[p.field]
			}
		}
	}
	return all
}

func (v values) Reads(i int) []string { return []string{v[i].text} }

func (v values) Agree(kind verification.FactKind, a, b any) bool {
	return facts.Agree(a, b) || kind == verification.FactPerson && fmt.Sprint(a)[0] == fmt.Sprint(b)[0] // initials
}

func (v values) Findings(i int) []verification.Finding { return nil }

func (v values) Types(i int) []string {
	if v[i].field == "place" || v[i].field == "photo" {
		return []string{"object"}
	}
	if v[i].field == "pan" {
		return []string{"string"}
	}
	return nil
}

func (l language) Template(object verification.Data, _ verification.Declarations) (verification.Template, error) {
	return named(l.templates, object.String())
}

// named returns a function, or an error if there is none.
func named[F any](functions map[string]F, text string) (F, error) {
	f, ok := functions[text]
	if !ok {
		return f, fmt.Errorf("there is no function %q", text)
	}
	return f, nil
}

// newLanguage has the conditions that the definitions of these tests use.
func newLanguage() language {
	asks := func(name string) condition {
		return func(s verification.Scope) (bool, map[string]any, error) {
			v := s.Input.Map()[name]
			return v == true, map[string]any{"input." + name: v}, nil
		}
	}
	passed := func(node verification.NodeID, want bool) condition {
		return func(s verification.Scope) (bool, map[string]any, error) {
			for _, step := range s.Steps {
				if step.Node == node {
					is := step.Passed
					return is == want, map[string]any{"steps." + string(node) + ".passed": is}, nil
				}
			}
			return false, nil, fmt.Errorf("the step %s has not run", node)
		}
	}
	more := func(node verification.NodeID) condition { // of its last visit
		return func(s verification.Scope) (bool, map[string]any, error) {
			i := slices.IndexFunc(s.Steps, func(step verification.StepValues) bool { return step.Node == node })
			is := s.Steps[i].Data.Map()["more"] == true
			return is, map[string]any{"more": is}, nil
		}
	}
	l := language{
		conditions: map[string]condition{
			"review wanted": asks("review"),
			"again wanted":  asks("again"),
			"pan failed":    passed("pan", false),
			"pan passed":    passed("pan", true),
			"reads pan":     passed("pan", true),
			"reads face":    passed("face", true),
			"breaks": func(verification.Scope) (bool, map[string]any, error) {
				return false, nil, errors.New("the value is not there")
			},
			"seen too deep": func(verification.Scope) (bool, map[string]any, error) {
				return true, map[string]any{"a": func() {}}, nil
			},
		},
		templates: map[string]template{
			`{"number":"${pan}"}`: func(s verification.Scope) (map[string]any, error) {
				return map[string]any{"number": "ABCDE1234F", "reference": s.ReferenceID, "run": string(s.RunID)}, nil
			},
			`{"number":"${breaks}"}`: func(verification.Scope) (map[string]any, error) {
				return nil, errors.New("the value is not there")
			},
		},
		schemas: map[string]schema{
			`{"properties":{"z":{"title":"Zed"},"a":{}}}`: func(verification.Data) []verification.FieldError { return nil },
			`{"required":["name"]}`: func(d verification.Data) []verification.FieldError {
				if _, ok := d.Map()["name"]; ok {
					return nil
				}
				return []verification.FieldError{{Name: "name", Message: "is required"}}
			},
			`{"type":"object"}`: func(d verification.Data) []verification.FieldError {
				if len(d.Map()) > 3 {
					return []verification.FieldError{{Message: "has too many fields"}}
				}
				return nil
			},
		},
	}
	for _, node := range []verification.NodeID{"owner", "n0", "n1", "n2", "n3"} {
		l.conditions["more at "+string(node)] = more(node)
	}
	return l
}
