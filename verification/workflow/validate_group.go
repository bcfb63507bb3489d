// Validation of definitions: groups of checks, and steps for each element of a list.

package workflow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
)

// group checks a group of checks.
func (v *validator) group(id verification.NodeID, n Node, providers []string) {
	at := nodePath(id)
	if !v.check(at+".members", len(n.Members) > 0 && len(n.Members) <= MaxMembers, "must be 1 to %d members", MaxMembers) {
		return
	}
	keys, labels := map[string]string{}, map[string]string{}
	for i, s := range v.def.checksAt(id) {
		m, path := n.Members[i], nodePath(s.id)
		v.check(path, validName(m.Name), "a member's name must be a lower-case letter followed by letters, digits or _")
		v.length(path+".label", m.Label, 0, maxLabel)
		v.translated(path+".label", m.LabelIn, maxLabel)
		v.length(path+".when", m.When, 0, maxText)
		v.provider(path, s.check, providers)
		v.unique(path+".key", m.Name, s.check.CheckKey(s.id), keys, "give each member a key of its own, or none")
		v.unique(path+".label", m.Name, s.check.Label, labels, "give each member a label of its own")
	}
	count := len(n.Members)
	v.check(at+".need", n.Need >= 0 && int(n.Need) <= count,
		"cannot be met: the group has %d members, so write 1 to %d, any or all", count, count)
	oneOf(v, at+".order", n.Order, OrderTogether, OrderOneByOne)
	if oneOf(v, at+".finish", n.Finish, FinishDecided, FinishAll); n.Finish == FinishAll {
		v.check(at+".finish", n.Called() == OrderTogether,
			"is for order: together, because one_by_one calls the next member only while the group is not decided: leave it out")
	}
	v.length(at+".until", n.Until, 0, maxText)
	v.target(at+".on_not_met", n.OnNotMet, false, TargetFail, TargetNext)
	v.target(at+".on_unavailable", n.OnUnavailable, false, TargetFail, TargetNext)
}

// unique checks that no member before this one has the same value.
func (v *validator) unique(path, member, value string, seen map[string]string, instead string) {
	if other, twice := seen[value]; twice {
		v.problem(path, "is %q, as that of the member %s: %s", value, other, instead)
		return
	}
	seen[value] = member
}

// oneOf checks that a value is empty or one of those that are known.
func oneOf[S ~string](v *validator, path string, value S, known ...S) {
	if value != "" && !slices.Contains(known, value) {
		v.problem(path, "must be one of %s%s", texts.Join(known), DidYouMean(string(value), known))
	}
}

// repeats reports whether a node makes its step for each element of a list.
func (n Node) repeats() bool {
	return n.ForEach != "" && (n.Type == NodeCheck || n.Type == NodeChecks || n.Type == NodeCustomerInput)
}

// each checks for_each of a node.
func (v *validator) each(at string, n Node) {
	v.check(at+".for_each", n.ForEach == "" || n.repeats(), "is for check, checks and customer_input")
	v.length(at+".for_each", n.ForEach, 0, maxText)
}

// list compiles the list of for_each. It comes before the other texts of the node, which read its elements.
func (v *validator) list(id verification.NodeID, n Node, l ExpressionCompiler, p *Program) {
	if !n.repeats() {
		return
	}
	path, all := nodePath(id)+".for_each", v.declarations(id)
	found := make([][]Finding, len(all))
	for i, d := range all {
		d.Each, d.Item, d.With = false, nil, nil
		values, problems := l.Values([]string{n.ForEach}, d)
		if problems[0] != nil {
			v.textProblem(path, problems[0])
			return
		}
		if values == nil {
			continue
		}
		if kinds := values.Types(0); kinds != nil && !slices.Contains(kinds, "array") {
			v.problem(path, "is of the type %s, and must be a list: name one, such as steps.company.data.owners", texts.Join(kinds))
			return
		}
		found[i] = values.Findings(0)
		for _, read := range values.Reads(0) {
			if step, ok := StepOf(read); ok && !slices.Contains(v.listed[id], step) {
				v.listed[id] = append(v.listed[id], step)
			}
		}
	}
	v.findings(path, found)
	v.tooMany(path, n)
	all[0].Each, all[0].Item, all[0].With = false, nil, nil
	t, err := l.Template(verification.DataOf(map[string]any{listField: "${" + n.ForEach + "}"}), all[0])
	if err != nil {
		v.textProblem(path, err)
		return
	}
	p.lists[id] = t
	if l, ok := t.(listed); ok && l.Length(listField) > n.MaxElements() {
		v.newProblem(path, "the list has %d elements, and the node can have at most %d", l.Length(listField), n.MaxElements())
	}
}

// listField is the field of the template that makes the list of for_each.
const listField = "list"

// until compiles the condition under which an answer confirms, once for each member. What is wrong for some members only
// names them.
func (v *validator) until(id verification.NodeID, n Node, l ExpressionCompiler, p *Program) {
	if n.Until == "" {
		return
	}
	problems, warnings, checks := v.problems, v.warnings, v.def.checksAt(id)
	wrong, doubtful := byMember{}, byMember{}
	for _, s := range checks {
		d := v.declarations(s.id)
		for i := range d {
			_, _, name := s.id.Parts()
			member := d[i].Steps[id].Members[name]
			d[i].Member = &member
		}
		v.problems, v.warnings = nil, nil
		path := nodePath(id) + ".until"
		if c := v.condition(path, n.Until, d, l); c != nil {
			p.untils[s.id] = c
			v.readsOwn(path, s.id, c)
		}
		wrong.add(s.id, v.problems)
		doubtful.add(s.id, v.warnings)
	}
	v.problems, v.warnings = append(problems, wrong.list(len(checks))...), append(warnings, doubtful.list(len(checks))...)
}

// spared warns of a group that a run may pass by, because the conditions of its members may leave all of them out.
func (v *validator) spared(id verification.NodeID, n Node, p *Program) {
	if !n.Spares() || len(n.Members) == 0 {
		return
	}
	var all []Condition
	for _, m := range n.Members {
		if c := p.whens[id.Member(m.Name)]; c != nil {
			all = append(all, c)
		}
	}
	if len(all) < len(n.Members) {
		return // it does not compile, as is reported
	}
	if c, ok := all[0].(satisfiable); ok && c.Impossible(nil, all) {
		return
	}
	v.warnings = append(v.warnings, verification.FieldError{Name: nodePath(id) + ".members", Message: fmt.Sprintf(
		"each member has a condition: if none holds, the group is skipped, steps.%s is missing, and the run goes on to %s without an answer", id, n.Next)})
}

// byMember has what was found in a text that is compiled for each member.
type byMember map[verification.FieldError][]string

func (b byMember) add(member verification.NodeID, found []verification.FieldError) {
	_, _, name := member.Parts()
	for _, f := range found {
		if !slices.Contains(b[f], name) {
			b[f] = append(b[f], name)
		}
	}
}

// list returns what was found, with the members if it is not for all.
func (b byMember) list(members int) (all []verification.FieldError) {
	for f, names := range b {
		if len(names) < members {
			f.Message += " (of the member " + strings.Join(names, ", ") + ")"
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b verification.FieldError) int { return strings.Compare(a.Message, b.Message) })
	return all
}

// readsOwn reports a text of a member that reads its own group: what it would find depends on which answer comes first.
func (v *validator) readsOwn(path string, member verification.NodeID, text any) {
	group, _, name := member.Parts()
	r, ok := text.(Reader)
	if name == "" || !ok {
		return
	}
	for _, read := range r.ReadPaths() {
		step, _ := StepOf(read)
		if of, _, _ := step.Parts(); of == group {
			v.problem(path, "reads %s, and a member cannot read its own group: make the check that it needs a node before %s, or test member in until", read, group)
			return
		}
	}
}

// elements returns the JSON Schema of the elements of the list of for_each; nil if it is not known. See listOf.
func (v *validator) elements(n Node, data func(check Node) verification.Data) verification.Data {
	list, _ := v.listOf(n, data)
	item := list.Item()
	if item == nil || refers(item) {
		return nil
	}
	return verification.DataOf(item)
}

// listOf returns the JSON Schema of the list that for_each reads, as far as the definition and data say: of the input, of a form,
// or of the data of a check. The expression must be a path, maybe with orValue([]) and filter(...) after it. whole says that
// nothing is filtered out.
func (v *validator) listOf(n Node, data func(check Node) verification.Data) (list DataSchema, whole bool) {
	text := strings.TrimSpace(n.ForEach)
	whole = true
	if i := strings.Index(text, ".filter("); i > 0 && closes(text[i+len(".filter"):]) {
		text, whole = text[:i], false
	}
	path := strings.Split(strings.TrimSuffix(text, ".orValue([])"), ".")
	for i, name := range path {
		path[i] = strings.TrimPrefix(name, "?")
	}
	of := func(id verification.NodeID) DataSchema {
		n, _ := v.def.Node(id)
		if n.Type == NodeCustomerInput {
			return n.Fields.answers()
		}
		return data(n).Map()
	}
	switch {
	case path[0] == "input":
		list, path = v.def.InputSchema.Map(), path[1:]
	case path[0] == "steps" && len(path) > 3 && path[2] == "data":
		list, path = of(verification.NodeID(path[1])), path[3:]
	case path[0] == "steps" && len(path) > 5 && path[2] == "members" && path[4] == "data":
		list, path = of(verification.NodeID(path[1]).Member(path[3])), path[5:]
	}
	for _, name := range path {
		list = list.Field(name)
	}
	return list, whole
}

// tooMany reports a list that may be longer than the elements that the node can have. A form has a maximum in any case.
func (v *validator) tooMany(path string, n Node) {
	list, whole := v.listOf(n, func(check Node) verification.Data { return v.data(check, false) })
	most, known := list["maxItems"].(int)
	form := known
	if !known {
		var limit float64
		limit, known = nearest(list["maxItems"])
		most = int(limit)
	}
	if !v.inspects || !whole || !known || most <= n.MaxElements() {
		return
	}
	message := fmt.Sprintf("the list may have %d elements, and the node at most %d", most, n.MaxElements())
	if len(n.Members) > 1 {
		message += fmt.Sprintf(", because %d members of %d elements are more than %d checks", len(n.Members), most, MaxElementChecks)
	}
	if form {
		v.problem(path, "%s: set max: %d at the field", message, n.MaxElements())
		return
	}
	v.warnings = append(v.warnings, verification.FieldError{Name: path, Message: message + ": a longer list fails the step"})
}

// closes reports whether the bracket that a text begins with closes at its end.
func closes(text string) bool {
	open := 0
	for i, c := range text {
		switch c {
		case '(':
			open++
		case ')':
			open--
		case '\'', '"':
			return false // a bracket in a text would count
		}
		if open == 0 {
			return i == len(text)-1
		}
	}
	return false
}

// refers reports whether a schema refers to another part of the document that it is from.
func refers(schema any) bool {
	switch s := schema.(type) {
	case DataSchema:
		return refers(map[string]any(s))
	case map[string]any:
		for name, value := range s {
			if name == "$ref" || refers(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(s, refers)
	}
	return false
}
