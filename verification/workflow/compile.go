// Programs: versions of workflows, compiled.

package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
)

// Program is a compiled version of a workflow, which Decide can run. Make one
// with Compile or Restore. Several goroutines may share it.
type Program struct {
	Workflow verification.WorkflowID
	Version  Version

	conditions map[verification.NodeID][]Condition
	templates  map[verification.NodeID]Template
	patterns   map[verification.NodeID]map[string]Pattern
	input      Schema
	facts      Values // of the expressions of `subject` and `compare`; nil if there are none
	warnings   []verification.FieldError
	needs      map[verification.NodeID][]string // verification.CheckRequest.Needs of checks

	searchedInput   []string // the properties of the input with searchInput
	searchedAnswers bool     // some field has Search
}

// Warnings returns what may be wrong in the definition, sorted by path. If Compile returns an
// error, the warnings are all that its Program has.
func (p Program) Warnings() []verification.FieldError { return p.warnings }

// Compile validates a version of a workflow and compiles its expressions,
// patterns and schema. Checks may use the named providers; nil allows any
// provider, and an empty list none. described has the descriptions of providers by
// name: the `with` of a check, and what expressions read of its data, must fit the description
// of its provider. If anything is wrong, the error is an verification.ErrInvalid whose Fields
// list every problem by its path, such as "nodes.pan.on_failed", sorted by path. The size
// of the definition is checked first, and nothing else if it is too large. Compile
// returns the error of ctx soon after ctx ends.
func Compile(
	ctx context.Context, id verification.WorkflowID, version Version, l ExpressionCompiler,
	providers []string, described map[string]verification.ProviderDescription,
) (Program, error) {
	v := &validator{def: version.Definition, described: described, inspects: true}
	if !v.limits() {
		return Program{}, v.err()
	}
	if v.fields(ctx, providers); !v.incomplete {
		v.graph()
	}
	return v.compile(ctx, id, version, l)
}

// Restore compiles a version that was validated when it was saved. It does not
// validate again: a rule or a description of a provider that was added later must not
// break older runs.
func Restore(id verification.WorkflowID, version Version, l ExpressionCompiler) (Program, error) {
	v := &validator{def: version.Definition}
	return v.compile(context.Background(), id, version, l)
}

// Node returns a node of the definition, and whether there is one.
func (p Program) Node(id verification.NodeID) (Node, bool) {
	n, ok := p.Version.Definition.Nodes[id]
	return n, ok
}

func (v *validator) compile(ctx context.Context, id verification.WorkflowID, version Version, l ExpressionCompiler) (Program, error) {
	p := Program{
		Workflow: id, Version: version,
		conditions: map[verification.NodeID][]Condition{},
		templates:  map[verification.NodeID]Template{},
		patterns:   map[verification.NodeID]map[string]Pattern{},
	}
	if err := v.texts(ctx, l, &p); err != nil {
		return Program{}, err
	}
	p.addSearch()
	byPath(v.warnings)
	p.warnings = v.warnings
	if len(v.problems) > 0 {
		return Program{warnings: v.warnings}, v.err()
	}
	return p, nil
}

// texts compiles every expression, pattern and schema. It returns the error of ctx.
func (v *validator) texts(ctx context.Context, l ExpressionCompiler, p *Program) error {
	if v.def.InputSchema != nil {
		schema, err := l.Schema(v.def.InputSchema)
		if err != nil {
			v.textProblem("input_schema", err)
		}
		p.input = schema
	}
	v.checkDescriptions(l)
	for _, id := range v.names() {
		n := v.def.Nodes[id]
		switch n.Type {
		case NodeBranch:
			v.conditions(ctx, id, n, l, p)
		case NodeCheck:
			v.template(id, n, l, p)
		case NodeCustomerInput:
			p.patterns[id] = v.patterns(nodePath(id), n.Fields, l)
		case NodeConsent, NodeReview, NodeEnd:
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	v.facts(ctx, l, p)
	if !v.incomplete {
		v.absences(p)
	}
	if v.inspects && !v.incomplete {
		v.unreadScreenings(p)
	}
	return ctx.Err()
}

func (v *validator) conditions(ctx context.Context, id verification.NodeID, n Node, l ExpressionCompiler, p *Program) {
	d := v.declarations(id)
	all := make([][]Condition, len(d)) // of each declarations, by rule
	for i := range all {
		all[i] = make([]Condition, len(n.Rules))
	}
	p.conditions[id] = all[0]
	for i, r := range n.Rules {
		if r.When == "" || ctx.Err() != nil {
			continue // already reported
		}
		path := fmt.Sprintf("%s.rules[%d].when", nodePath(id), i)
		c, err := compiled(d, func(d Declarations) (Condition, error) { return l.Condition(r.When, d) })
		if err != nil {
			v.textProblem(path, err)
			continue
		}
		findings := make([][]Finding, len(d))
		for k := range d {
			if inspected, ok := c[k].(Inspected); ok {
				findings[k] = inspected.Findings(all[k][:i])
			}
			all[k][i] = c[k]
		}
		v.findings(path, findings)
	}
}

func (v *validator) template(id verification.NodeID, n Node, l ExpressionCompiler, p *Program) {
	if n.With == nil && v.described[n.Provider].With == nil && v.described[n.Fallback].With == nil {
		return
	}
	t, err := compiled(v.declarations(id), func(d Declarations) (Template, error) {
		with := n.With
		switch {
		case with == nil && d.With == nil:
			return nil, nil //nolint:nilnil // there is no template
		case with == nil:
			with = verification.Data("{}")
		}
		return l.Template(with, d)
	})
	if err != nil {
		v.textProblem(nodePath(id)+".with", err)
		return
	}
	findings := make([][]Finding, len(t))
	for k := range t {
		if inspected, ok := t[k].(Inspected); ok {
			findings[k] = inspected.Findings(nil)
		}
	}
	v.findings(nodePath(id)+".with", findings)
	v.vouched(nodePath(id)+".with", n, t[0])
	if n.With != nil {
		p.templates[id] = t[0]
	}
}

// findings reports what was found in a text under each declarations: all that the first
// ones show, and what all others show. The value of a check with a fallback is a value of
// either provider.
func (v *validator) findings(path string, found [][]Finding) {
	report := func(f Finding) {
		e := f.At(path)
		if f.Certain {
			v.problems = append(v.problems, e)
		} else {
			v.warnings = append(v.warnings, e)
		}
	}
	same := func(f Finding) func(Finding) bool {
		return func(other Finding) bool { return f.Path == other.Path && f.Character == other.Character }
	}
	for _, f := range found[0] {
		report(f)
	}
	if len(found) == 1 {
		return
	}
	for _, f := range found[1] {
		if slices.ContainsFunc(found[0], same(f)) {
			continue
		}
		everywhere := true
		for _, others := range found[2:] {
			i := slices.IndexFunc(others, same(f))
			everywhere = everywhere && i >= 0
			f.Certain = f.Certain && i >= 0 && others[i].Certain
		}
		if everywhere {
			report(f)
		}
	}
}

// textProblem reports the error of a condition, a template or a schema, or each of several.
func (v *validator) textProblem(path string, err error) {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range all.Unwrap() {
			v.textProblem(path, one)
		}
		return
	}
	var e *verification.TextError
	if !errors.As(err, &e) {
		v.problem(path, "%v", err)
		return
	}
	v.problems = append(v.problems, e.At(path))
}

func (v *validator) patterns(at string, fields InputFields, l ExpressionCompiler) map[string]Pattern {
	patterns := map[string]Pattern{}
	for _, f := range fields {
		if f.Pattern == "" {
			continue
		}
		path := at + ".fields." + f.Name + ".pattern"
		p, err := l.Pattern(f.Pattern)
		if err != nil {
			v.problem(path, "%v", err)
			continue
		}
		patterns[f.Name] = p
		v.anchors(path, p)
	}
	return patterns
}

// anchors warns of a pattern that a part of an answer may match.
func (v *validator) anchors(path string, p Pattern) {
	a, ok := p.(Anchored)
	if !ok || !v.inspects {
		return
	}
	begin, end, whole := a.Anchored()
	accepts, cure := "contains", "^ before and $ after the pattern"
	switch {
	case begin && end:
		return
	case begin:
		accepts, cure = "begins with", "$ after the pattern"
	case end:
		accepts, cure = "ends with", "^ before the pattern"
	}
	if whole != "" && utf8.RuneCountInString(whole) <= maxLabel {
		cure = whole
	}
	v.warnings = append(v.warnings, verification.FieldError{Name: path, Message: fmt.Sprintf(
		"an answer that only %s a match is accepted: write %s to match the whole answer, or .* where anything may be", accepts, cure)})
}

// InputSchema returns the compiled schema of the input; nil if any input is accepted.
func (p Program) InputSchema() Schema { return p.input }

// Conditions returns the conditions of a branch, one for each rule.
func (p Program) Conditions(branch verification.NodeID) []Condition { return p.conditions[branch] }

// Template returns the `with` of a check; nil if it has none.
func (p Program) Template(check verification.NodeID) Template { return p.templates[check] }

// Patterns returns the patterns of a form, by field.
func (p Program) Patterns(form verification.NodeID) map[string]Pattern { return p.patterns[form] }

// Needs returns verification.CheckRequest.Needs of a check.
func (p Program) Needs(check verification.NodeID) []string { return p.needs[check] }

// Facts returns the expressions of `subject` and `compare`, in that order and without the empty
// ones; nil if there are none.
func (p Program) Facts() Values { return p.facts }
