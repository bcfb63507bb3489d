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
	templates  map[verification.NodeID]Template  // by NodeID.InDefinition
	whens      map[verification.NodeID]Condition // by NodeID.InDefinition
	untils     map[verification.NodeID]Condition
	lists      map[verification.NodeID]Template // of for_each: see Elements
	elements   map[verification.NodeID]Values   // see ElementValues
	patterns   map[verification.NodeID]map[string]Pattern
	input      Schema
	facts      Values // of the expressions of `subject` and `compare`; nil if there are none
	warnings   []verification.FieldError
	needs      map[verification.NodeID][]string // verification.CheckRequest.Needs of checks
	reads      map[verification.NodeID][]verification.NodeID
	screens    map[string]bool // by provider

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
// of the definition is checked first, and nothing else if it is too large. A version with a Hash
// is stored already: what Compile accepted when it was saved only leads to warnings. Compile
// returns the error of ctx soon after ctx ends.
func Compile(
	ctx context.Context, id verification.WorkflowID, version Version, l ExpressionCompiler,
	providers []string, described map[string]verification.ProviderDescription,
) (Program, error) {
	v := newValidator(version.Definition)
	v.described, v.inspects, v.stored = described, true, version.Hash != ""
	if !v.limits() {
		return Program{}, v.err()
	}
	if v.fields(ctx, providers); !v.incomplete {
		v.graph()
	}
	p, err := v.compile(ctx, id, version, l)
	if err == nil {
		inspect(v, &p)
		p.addScreens(func(provider string) verification.ProviderDescription { return described[provider] })
		err = ctx.Err()
	}
	return valid(v, p, err)
}

// Restore compiles a version that was validated when it was saved. It does not
// validate again: a rule or a description of a provider that was added later must not
// break older runs. describe returns the description of a provider, of which only Screens is
// read; nil if nothing is known of any.
func Restore(
	id verification.WorkflowID, version Version, l ExpressionCompiler, describe func(provider string) verification.ProviderDescription,
) (Program, error) {
	v := newValidator(version.Definition)
	p, err := v.compile(context.Background(), id, version, l)
	if err == nil && describe != nil {
		p.addScreens(describe)
	}
	return valid(v, p, err)
}

// Node returns a node of the definition, or the check that a member is, and whether there is one: see Definition.Node.
func (p *Program) Node(id verification.NodeID) (Node, bool) {
	if n, ok := p.Version.Definition.Nodes[id]; ok {
		return n, true
	}
	return p.Version.Definition.Node(id)
}

// compile compiles a version without a look at what its texts mean together. It returns the error of ctx.
func (v *validator) compile(ctx context.Context, id verification.WorkflowID, version Version, l ExpressionCompiler) (Program, error) {
	version.Definition = version.Definition.withBirthDates()
	p := Program{
		Workflow: id, Version: version,
		conditions: map[verification.NodeID][]Condition{},
		templates:  map[verification.NodeID]Template{},
		whens:      map[verification.NodeID]Condition{},
		untils:     map[verification.NodeID]Condition{},
		lists:      map[verification.NodeID]Template{},
		elements:   map[verification.NodeID]Values{},
		patterns:   map[verification.NodeID]map[string]Pattern{},
	}
	if err := v.texts(ctx, l, &p); err != nil {
		return Program{}, err
	}
	p.needs = needs(v, &p)
	p.addSearch()
	p.addReads()
	return p, nil
}

// inspect looks for what cannot be meant, in a program whose texts are compiled as far as they can be.
func inspect(v *validator, p *Program) {
	for _, id := range v.names() {
		v.spared(id, v.def.Nodes[id], p)
	}
	v.differences(p)
	if !v.incomplete {
		v.absences(p)
		v.unreadScreenings(p)
		v.uncalledScreenings(p)
	}
}

// valid returns a program that was compiled with an error, or what is wrong with it.
func valid(v *validator, p Program, err error) (Program, error) {
	if err != nil {
		return Program{}, err
	}
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
		v.list(id, n, l, p)
		v.elementValues(ctx, id, n, l, p)
		switch n.Type {
		case NodeBranch:
			v.conditions(ctx, id, n, l, p)
		case NodeCheck, NodeChecks:
			for _, s := range v.def.checksAt(id) {
				v.template(s.id, s.check, l, p)
				if s.id != id {
					v.when(s.id, s.check, l, p)
				}
			}
			v.until(id, n, l, p)
		case NodeCustomerInput:
			p.patterns[id] = v.patterns(nodePath(id), n.Fields, l)
		case NodeEnd:
			v.endData(id, n, l, p)
		case NodeConsent, NodeReview:
		}
		v.when(id, n, l, p)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	v.facts(ctx, l, p)
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
				findings[k] = inspected.Findings(n.passed(all[k][:i]))
			}
			all[k][i] = c[k]
		}
		v.findings(path, findings)
	}
}

// passed returns the conditions of the first rules of a branch that do not hold once the run has gone past them; nil for a rule
// that may hold.
func (n Node) passed(conditions []Condition) []Condition {
	conditions = slices.Clone(conditions)
	for i := range conditions {
		if n.Rules[i].passable() {
			conditions[i] = nil
		}
	}
	return conditions
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
	v.findings(nodePath(id)+".with", findingsOf(t))
	v.readsOwn(nodePath(id)+".with", id, t[0])
	v.vouched(id, n, t[0])
	if n.With != nil {
		p.templates[id] = t[0]
	}
}

// endData compiles the `data` of an end.
func (v *validator) endData(id verification.NodeID, n Node, l ExpressionCompiler, p *Program) {
	if n.Data == nil {
		return
	}
	path := nodePath(id) + ".data"
	t, err := compiled(v.declarations(id), func(d Declarations) (Template, error) { return l.Template(n.Data, d) })
	if err != nil {
		v.textProblem(path, err)
		return
	}
	v.findings(path, findingsOf(t))
	p.templates[id] = t[0]
}

// findingsOf returns what was found in a text under each declarations.
func findingsOf[T any](texts []T) [][]Finding {
	found := make([][]Finding, len(texts))
	for i, text := range texts {
		if inspected, ok := any(text).(Inspected); ok {
			found[i] = inspected.Findings(nil)
		}
	}
	return found
}

// condition compiles one condition, and returns it as it is stored; nil if it is not valid.
func (v *validator) condition(path, text string, d []Declarations, l ExpressionCompiler) Condition {
	c, err := compiled(d, func(d Declarations) (Condition, error) { return l.Condition(text, d) })
	if err != nil {
		v.textProblem(path, err)
		return nil
	}
	v.findings(path, findingsOf(c))
	return c[0]
}

// when compiles the condition of a step or of a member.
func (v *validator) when(id verification.NodeID, n Node, l ExpressionCompiler, p *Program) {
	if n.When == "" {
		return
	}
	path, d := nodePath(id)+".when", v.declarations(id)
	if _, _, member := id.Parts(); member == "" {
		for i := range d { // it is read once, before there are elements
			d[i].Each, d[i].Item = false, nil
		}
	}
	if c := v.condition(path, n.When, d, l); c != nil {
		p.whens[id] = c
		v.readsOwn(path, id, c)
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
		for name, p := range v.patterns(at+".fields."+f.Name, f.Fields, l) {
			patterns[f.Name+"."+name] = p
		}
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
func (p *Program) InputSchema() Schema { return p.input }

// Conditions returns the conditions of a branch, one for each rule.
func (p *Program) Conditions(branch verification.NodeID) []Condition { return p.conditions[branch] }

// Template returns the `with` of a check or the `data` of an end; nil if it has none.
func (p *Program) Template(node verification.NodeID) Template {
	return p.templates[node.InDefinition()]
}

// Reads returns the nodes that the texts of a node read.
func (p *Program) Reads(node verification.NodeID) []verification.NodeID { return p.reads[node] }

// addReads notes what the texts of each node read.
func (p *Program) addReads() {
	p.reads = map[verification.NodeID][]verification.NodeID{}
	add := func(id verification.NodeID, text any) {
		r, ok := text.(Reader)
		if !ok {
			return
		}
		node, _, _ := id.Parts()
		for _, path := range r.ReadPaths() {
			step, ok := StepOf(path)
			if of, _, _ := step.Parts(); ok && of != node && !slices.Contains(p.reads[node], of) {
				p.reads[node] = append(p.reads[node], of)
			}
		}
	}
	for id, t := range p.templates {
		add(id, t)
	}
	for id, t := range p.lists {
		add(id, t)
	}
	for _, conditions := range []map[verification.NodeID]Condition{p.whens, p.untils} {
		for id, c := range conditions {
			add(id, c)
		}
	}
}

// When returns the condition of a step or a member; nil if it has none.
func (p *Program) When(step verification.NodeID) Condition { return p.whens[step.InDefinition()] }

// Until returns the condition under which the answer of a member confirms; nil if it need only pass.
func (p *Program) Until(member verification.NodeID) Condition { return p.untils[member.InDefinition()] }

// Elements returns the elements of the list of a node with for_each. It fails if a value is missing or is no list.
func (p *Program) Elements(node verification.NodeID, s Scope) ([]any, error) {
	values, err := p.lists[node].Render(s)
	if err != nil {
		return nil, err
	}
	list, ok := values[listField].([]any)
	if !ok {
		return nil, errors.New("the value is not a list")
	}
	return list, nil
}

// Patterns returns the patterns of a form, by field: that of a field in a group by both names, such as owners.name.
func (p *Program) Patterns(form verification.NodeID) map[string]Pattern {
	return p.patterns[form.InDefinition()]
}

// Screens reports whether the description of a provider says that it screens.
func (p *Program) Screens(provider string) bool { return p.screens[provider] }

// addScreens notes which providers of the definition screen.
func (p *Program) addScreens(describe func(provider string) verification.ProviderDescription) {
	p.screens = map[string]bool{}
	p.Version.Definition.EachCheck(func(_ verification.NodeID, n Node) {
		for _, name := range []string{n.Provider, n.Fallback} {
			if _, known := p.screens[name]; !known {
				p.screens[name] = describe(name).Screens
			}
		}
	})
}

// Needs returns verification.CheckRequest.Needs of a check.
func (p *Program) Needs(check verification.NodeID) []string { return p.needs[check.InDefinition()] }

// Facts returns the expressions of `subject` and `compare`, in that order and without the empty
// ones; nil if there are none.
func (p *Program) Facts() Values { return p.facts }
