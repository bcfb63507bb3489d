// Validation of definitions: values that may be missing.

package workflow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/verifyd/verifyd/verification"
)

// maxForeseen bounds the visits of nodes in the search for missing values.
const maxForeseen = 200_000

// foreseer looks for expressions that read a value on a path on which it may be missing.
type foreseer struct {
	*Program
	left    int                                           // visits of nodes
	neutral map[verification.NodeID][]verification.NodeID // where branches may lead that do not read the value
}

// missingAt is a value that may be missing in a text of the definition.
type missingAt struct {
	at string // the path of the text
	MissingValue
}

// cause says why a value may be missing.
type cause uint8

const (
	answeredNo cause = 1 << iota // the check failed
	noAnswer                     // the check was unavailable; its data is {"source_ok": false}
	passedSo                     // the check passed, and its provider does not require the value
	leftOut                      // the customer left an optional field out
	optedOut                     // the customer opted out of the form
	notStarted                   // the schema of the input does not require the value
)

// absences notes the needs of checks, and reports the expressions that fail because a value is
// missing: one that a provider does not require, or requires only of a result that passed. It
// warns of a value that the customer may leave out of a form, and of one that the schema of the
// input does not require. Without descriptions of providers it reports nothing.
func (v *validator) absences(p *Program) {
	f, found, texts := &foreseer{p, maxForeseen, map[verification.NodeID][]verification.NodeID{}}, map[missingAt]cause{}, map[missingAt]Absence{}
	needs := map[verification.NodeID][]string{}
	for _, a := range f.suspects() {
		n := v.def.Nodes[a.Step]
		var causes map[cause]verification.NodeID // the nodes to which they lead
		if v.inspects {
			causes = v.causes(a, n)
		}
		if to, ok := n.Leads(n.OnFailed); ok && n.Type == NodeCheck && !a.Passed {
			missing, given := f.follow(a, to)
			if len(missing) > 0 || !given {
				needs[a.Step] = append(needs[a.Step], a.Field)
			}
			if _, ok := causes[answeredNo]; ok {
				note(found, texts, a, answeredNo, missing)
			}
			delete(causes, answeredNo)
		}
		for _, why := range slices.Sorted(maps.Keys(causes)) {
			missing, _ := f.follow(a, causes[why])
			note(found, texts, a, why, missing)
		}
	}
	p.needs = needs
	v.missing(found, texts)
	if v.inspects && f.left <= 0 {
		v.warnings = append(v.warnings, verification.FieldError{Name: "nodes", Message: "the paths are too many to find every expression that reads a value that may be missing"})
	}
}

func note(found map[missingAt]cause, texts map[missingAt]Absence, a Absence, why cause, missing []missingAt) {
	for _, m := range missing {
		found[m] |= why
		texts[m] = a
	}
}

// causes returns why runs may come under an absence, and to which node they then go.
func (v *validator) causes(a Absence, n Node) map[cause]verification.NodeID {
	all := map[cause]verification.NodeID{}
	add := func(why cause, to verification.NodeID, ok bool) {
		if ok && to != "" {
			all[why] = to
		}
	}
	switch {
	case a.Step == "":
		add(notStarted, v.def.Start, mayLack(v.def.InputSchema, a.Field))
	case n.Type == NodeCustomerInput:
		field, ok := n.Fields.ByName(a.Field)
		add(leftOut, n.Next, a.Passed && ok && !field.Required)
		add(optedOut, n.Next, !a.Passed && ok && n.Optional)
	case n.Type == NodeCheck:
		required, always, optional := v.promised(a)
		add(passedSo, n.Next, a.Passed && optional)
		to, ok := n.Leads(n.OnFailed)
		add(answeredNo, to, ok && !a.Passed && (required && !always || optional))
		to, ok = n.Leads(n.OnUnavailable)
		add(noAnswer, to, ok && !a.Passed && (required || optional) && a.Field != "" && a.Field != "source_ok")
	}
	return all
}

// mayLack reports whether an object with a schema may lack a field that the schema names.
// Keywords that may require it in another way are not read.
func mayLack(object verification.Data, field string) bool {
	schema := object.Map()
	for _, keyword := range []string{"allOf", "anyOf", "oneOf", "if", "not", "$ref", "dependentRequired", "dependentSchemas", "minProperties"} {
		if schema[keyword] != nil {
			return false
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	return properties[field] != nil && !slices.Contains(required, any(field))
}

// promised reports whether a provider of the check requires a field of a result that passed,
// whether both providers give it in a result that failed, too, and whether one of them that says
// what it requires does not require the field. An empty name stands for any field.
func (v *validator) promised(a Absence) (required, always, optional bool) {
	n := v.def.Nodes[a.Step]
	always = true
	for _, name := range slices.Compact([]string{n.Provider, cmp.Or(n.Fallback, n.Provider)}) {
		schema := v.described[name].Data.Map()
		fields, says := schema["required"].([]any)
		has := slices.ContainsFunc(fields, func(field any) bool { return a.Field == "" || a.Field == field })
		kept, _ := schema["x-always"].(bool)
		required, always, optional = required || has, always && has && kept, optional || says && !has
	}
	return required, always, optional
}

func (v *validator) missing(found map[missingAt]cause, texts map[missingAt]Absence) {
	order := func(a, b missingAt) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Character, b.Character), -cmp.Compare(a.Value, b.Value))
	}
	reported := missingAt{}
	for _, m := range slices.SortedFunc(maps.Keys(found), order) {
		if m.at == reported.at && m.Path == reported.Path && m.Character == reported.Character {
			continue // it is a longer path through the same value
		}
		reported = m
		e := verification.TextError{Path: m.Path, Character: m.Character, Message: found[m].message(m.MissingValue, texts[m])}
		if found[m]&(leftOut|optedOut|notStarted) != 0 {
			v.warnings = append(v.warnings, e.At(m.at))
			continue
		}
		v.problems = append(v.problems, e.At(m.at))
	}
}

// message says why a value may be missing, and what to do.
func (c cause) message(m MissingValue, a Absence) string {
	instead, step := m.Optional, "steps."+string(a.Step)
	if a.Field != "" {
		instead += ".orValue(...)"
	}
	switch {
	case c == notStarted:
		return fmt.Sprintf("input_schema does not require %s: write %s, test has(%s) first, or require it", m.Value, instead, m.Value)
	case c == leftOut:
		return fmt.Sprintf("the customer may leave %s out: write %s, test has(%s) first, or make the field required", m.Value, instead, m.Value)
	case c == optedOut:
		return fmt.Sprintf("the customer may opt out of %s, and %s may be missing then: write %s, or test %s.passed first", a.Step, m.Value, instead, step)
	case c&(leftOut|optedOut) != 0:
		return fmt.Sprintf("the customer may leave %s out or opt out of %s: write %s, or test has(%s) first", m.Value, a.Step, instead, m.Value)
	case c == passedSo:
		return fmt.Sprintf("the check %s may pass without %s: write %s, or test has(%s) first", a.Step, m.Value, instead, m.Value)
	case c&passedSo != 0:
		return fmt.Sprintf("the check %s may pass or not pass without %s: write %s, or test %s.passed && has(%s) first", a.Step, m.Value, instead, step, m.Value)
	}
	why := map[cause]string{
		answeredNo: "may have failed here", noAnswer: "may have given no answer here",
		answeredNo | noAnswer: "may have failed or given no answer here",
	}[c]
	return fmt.Sprintf("the check %s %s, and %s may be missing then: write %s, or test %s.passed first", a.Step, why, m.Value, instead, step)
}

// suspects returns the absences under which some expression may fail, in order.
func (f *foreseer) suspects() (all []Absence) {
	seen := map[Absence]bool{}
	note := func(x any) {
		text, ok := x.(Foreseen)
		if !ok {
			return
		}
		for _, a := range text.Absences() {
			if !seen[a] {
				seen[a], all = true, append(all, a)
			}
		}
	}
	for _, conditions := range f.conditions {
		for _, c := range conditions {
			note(c)
		}
	}
	for _, t := range f.templates {
		note(t)
	}
	slices.SortFunc(all, func(a, b Absence) int {
		switch order := cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Field, b.Field)); {
		case order != 0 || a.Passed == b.Passed:
			return order
		case a.Passed:
			return 1
		}
		return -1
	})
	return all
}

// follow follows a run under an absence from a node, until it visits the step again. It
// returns what it finds missing. complete is false if it gives up.
func (f *foreseer) follow(a Absence, from verification.NodeID) (found []missingAt, complete bool) {
	walk([]verification.NodeID{""}, func(at verification.NodeID) []verification.NodeID {
		if at == "" {
			return []verification.NodeID{from}
		}
		if f.left--; f.left < 0 {
			return nil
		}
		n := f.Version.Definition.Nodes[at]
		if n.Type == NodeBranch {
			next, missing := f.branch(a, at, n)
			found = append(found, missing...)
			return next
		}
		if t, ok := f.templates[at].(Foreseen); ok && n.Type == NodeCheck && t.Reads(a.Step) {
			p := t.Foresee(a, nil)
			for _, m := range p.Missing {
				found = append(found, missingAt{nodePath(at) + ".with", m})
			}
			if !p.Holds {
				return nil
			}
		}
		return n.Targets()
	}, func(to verification.NodeID) bool { return to == a.Step })
	return found, f.left >= 0
}

// branch returns where a branch may lead under an absence.
func (f *foreseer) branch(a Absence, at verification.NodeID, n Node) (next []verification.NodeID, found []missingAt) {
	conditions := f.conditions[at]
	if !slices.ContainsFunc(conditions, func(c Condition) bool { t, ok := c.(Foreseen); return ok && t.Reads(a.Step) }) {
		if next, ok := f.neutral[at]; ok {
			return next, nil
		}
		defer func() { f.neutral[at] = next }()
	}
	for i, r := range n.Rules {
		p := Prospect{Holds: true, HoldsNot: true}
		if i < len(conditions) {
			if c, ok := conditions[i].(Foreseen); ok {
				p = c.Foresee(a, conditions[:i])
			}
		}
		for _, m := range p.Missing {
			found = append(found, missingAt{fmt.Sprintf("%s.rules[%d].when", nodePath(at), i), m})
		}
		if p.Holds {
			next = append(next, r.Next)
		}
		if !p.HoldsNot {
			return next, found
		}
	}
	return append(next, n.Else), found
}
