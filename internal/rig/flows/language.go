// The expressions of these tests.

package flows

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The ids of these tests.
const (
	TenantID   verification.TenantID   = "0191f3c0-0000-7000-8000-00000000000a"
	WorkflowID verification.WorkflowID = "0191f3c0-0000-7000-8000-000000000001"
	RunID      verification.RunID      = "0191f3c0-0000-7000-8000-00000000000b"
)

// Noon is when every run of these tests starts.
func Noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// Language is a workflow.ExpressionCompiler whose texts are names of functions.
type Language struct {
	conditions map[string]Condition
	templates  map[string]Template
	schemas    map[string]Schema
}

type (
	Condition func(workflow.Scope) (bool, map[string]any, error)
	Template  func(workflow.Scope) (map[string]any, error)
	Schema    func(verification.Data) []verification.FieldError
)

func (c Condition) Holds(s workflow.Scope) (bool, map[string]any, error) { return c(s) }
func (t Template) Render(s workflow.Scope) (map[string]any, error)       { return t(s) }
func (s Schema) Check(d verification.Data) []verification.FieldError     { return s(d) }
func (l Language) Pattern(text string) (workflow.Pattern, error)         { return regexp.Compile(text) }

func (l Language) Schema(text verification.Data) (workflow.Schema, error) {
	return named(l.schemas, text.String())
}

func (l Language) Condition(text string, d workflow.Declarations) (workflow.Condition, error) {
	if node, ok := strings.CutPrefix(text, "reads "); ok && !d.Steps[verification.NodeID(node)].MayPrecede {
		return nil, fmt.Errorf("the step %s cannot have run", node)
	}
	if path, ok := strings.CutPrefix(text, "clear "); ok {
		return clear(path), nil
	}
	c, err := named(l.conditions, text)
	for _, reads := range []string{"reads ", "follows "} {
		if node, ok := strings.CutPrefix(text, reads); ok && err == nil {
			return reading{c, "steps." + node + ".data.a"}, nil
		}
	}
	return c, err
}

// clear is a condition that reads `clear` of a step, such as address, of a member, such as address.bureau, of the first element of a
// list, such as owners[1], or of the answer of a member.
func clear(path string) Condition {
	return func(s workflow.Scope) (bool, map[string]any, error) {
		if path == "member" {
			return s.Member.Clear, nil, nil
		}
		node, element, member := verification.NodeID(path).Parts()
		for _, step := range s.Steps {
			if step.Node != node {
				continue
			}
			if element > 0 {
				step = step.Items[element-1]
			}
			for _, m := range step.Members {
				if string(m.Node) == member {
					step = m
				}
			}
			return step.Clear, map[string]any{"clear": step.Clear}, nil
		}
		return false, nil, fmt.Errorf("the step %s has not run", node)
	}
}

// reading is a condition that says what it reads.
type reading struct {
	Condition
	path string
}

func (r reading) ReadPaths() []string { return []string{r.path} }

func (l Language) Values(texts []string, d workflow.Declarations) (workflow.Values, []error) {
	v, problems := values{}, make([]error, len(texts))
	for i, text := range texts {
		path, field, _ := strings.Cut(text, ".data.")
		step, _ := workflow.StepOf(path)
		node, _, _ := step.Parts()
		problem := error(nil)
		if _, ok := d.Steps[node]; !ok && !strings.HasPrefix(text, "input.") {
			problem = fmt.Errorf("there is no step %s", step)
		}
		v, problems[i] = append(v, value{step, field, text}), problem
	}
	return v, problems
}

// values are paths such as steps.details.data.name or input.name.
type values []value

type value struct {
	step        verification.NodeID
	field, text string
}

func (v values) Evaluate(s workflow.Scope) []any {
	all := make([]any, len(v))
	for i, p := range v {
		if name, ok := strings.CutPrefix(p.text, "input."); ok {
			all[i] = s.Input.Map()[name]
		}
		for _, step := range s.Steps {
			if step.Node == p.step {
				all[i] = step.Data.Map()[p.field]
			}
			for _, m := range step.Members {
				if step.Node.Member(string(m.Node)) == p.step {
					all[i] = m.Data.Map()[p.field]
				}
			}
		}
	}
	return all
}

func (v values) Reads(i int) []string { return []string{v[i].text} }

func (v values) Agree(kind workflow.FactKind, a, b any) bool {
	return facts.Agree(a, b) || kind == workflow.FactPerson && fmt.Sprint(a)[0] == fmt.Sprint(b)[0] // initials
}

func (v values) Findings(i int) []workflow.Finding { return nil }

func (v values) Types(i int) []string {
	if v[i].field == "place" || v[i].field == "photo" {
		return []string{"object"}
	}
	if v[i].field == "pan" {
		return []string{"string"}
	}
	return nil
}

func (l Language) Template(object verification.Data, _ workflow.Declarations) (workflow.Template, error) {
	t, err := named(l.templates, object.String())
	if path, ok := strings.CutPrefix(object.String(), `{"list":"${steps.`); ok && err == nil {
		return listing{t, "steps." + strings.TrimSuffix(path, `}"}`)}, nil
	}
	return t, err
}

// listing is a template that says what it reads.
type listing struct {
	Template
	path string
}

func (l listing) ReadPaths() []string { return []string{l.path} }

// named returns a function, or an error if there is none.
func named[F any](functions map[string]F, text string) (F, error) {
	f, ok := functions[text]
	if !ok {
		return f, fmt.Errorf("there is no function %q", text)
	}
	return f, nil
}

// NewLanguage has the conditions that the definitions of these tests use.
func NewLanguage() Language {
	asks := func(name string) Condition {
		return func(s workflow.Scope) (bool, map[string]any, error) {
			v := s.Input.Map()[name]
			return v == true, map[string]any{"input." + name: v}, nil
		}
	}
	passed := func(node verification.NodeID, want bool) Condition {
		return func(s workflow.Scope) (bool, map[string]any, error) {
			for _, step := range s.Steps {
				if step.Node == node {
					is := step.Passed
					return is == want, map[string]any{"steps." + string(node) + ".passed": is}, nil
				}
			}
			return false, nil, fmt.Errorf("the step %s has not run", node)
		}
	}
	more := func(node verification.NodeID) Condition { // of its last visit
		return func(s workflow.Scope) (bool, map[string]any, error) {
			i := slices.IndexFunc(s.Steps, func(step workflow.StepValues) bool { return step.Node == node })
			is := s.Steps[i].Data.Map()["more"] == true
			return is, map[string]any{"more": is}, nil
		}
	}
	differs := func(node verification.NodeID) Condition {
		return func(s workflow.Scope) (is bool, _ map[string]any, _ error) {
			for _, step := range s.Steps {
				if step.Node == node {
					_, is = step.Data.Map()["differs"]
				}
			}
			return is, map[string]any{"differs": is}, nil
		}
	}
	l := Language{
		conditions: map[string]Condition{
			"registry differs": differs("registry"),
			"details more":     more("details"),
			"review wanted":    asks("review"),
			"again wanted":     asks("again"),
			"pan failed":       passed("pan", false),
			"pan passed":       passed("pan", true),
			"reads pan":        passed("pan", true),
			"reads face":       passed("face", true),
			"reads details":    passed("details", true),
			"reads consent":    passed("consent", true),
			"breaks": func(workflow.Scope) (bool, map[string]any, error) {
				return false, nil, errors.New("the value is not there")
			},
			"seen too deep": func(workflow.Scope) (bool, map[string]any, error) {
				return true, map[string]any{"a": func() {}}, nil
			},
		},
		templates: map[string]Template{
			`{"number":"${pan}"}`: func(s workflow.Scope) (map[string]any, error) {
				return map[string]any{"number": "ABCDE1234F", "reference": s.ReferenceID, "run": string(s.RunID)}, nil
			},
			`{"list":"${input.list}"}`: func(s workflow.Scope) (map[string]any, error) {
				list, _ := s.Input.Map()["list"].([]any)
				return map[string]any{"list": list}, nil
			},
			`{"list":"${steps.details.data.owners}"}`: func(s workflow.Scope) (map[string]any, error) {
				i := slices.IndexFunc(s.Steps, func(step workflow.StepValues) bool { return step.Node == "details" })
				return map[string]any{"list": s.Steps[i].Data.Map()["owners"]}, nil
			},
			`{"of":"${item}"}`: func(s workflow.Scope) (map[string]any, error) {
				return map[string]any{"of": s.Item, "at": s.Position}, nil
			},
			`{"class":"${class}"}`: func(s workflow.Scope) (map[string]any, error) {
				return map[string]any{"class": s.Input.Map()["class"], "limit": 5}, nil
			},
			`{"number":"${breaks}"}`: func(workflow.Scope) (map[string]any, error) {
				return nil, errors.New("the value is not there")
			},
		},
		schemas: map[string]Schema{
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
	always := func(workflow.Scope) (bool, map[string]any, error) { return true, nil, nil }
	l.conditions["always"] = always
	for _, node := range []verification.NodeID{"owner", "details", "n0", "n1", "n2", "n3"} {
		l.conditions["more at "+string(node)] = more(node)
	}
	for i := range maxSteps { // they hold, and the step that they are of depends on the other
		l.conditions["follows "+string(drawnID(i))] = always
	}
	return l
}
