// Validation of definitions: values of checks that did not pass.

package verification

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// maxForeseen bounds the visits of nodes in the search for missing values.
const maxForeseen = 200_000

// foreseer looks for expressions that read a value of a check on a path on which the check
// may not have passed, and the value may be missing.
type foreseer struct {
	*Program
	left    int                 // visits of nodes
	neutral map[NodeID][]NodeID // where branches may lead that do not read the check
}

// missingAt is a value that may be missing in a text of the definition.
type missingAt struct {
	at string // the path of the text
	MissingValue
}

// cause says why a check did not pass.
type cause uint8

const (
	answeredNo cause = 1 << iota // it failed
	noAnswer                     // it was unavailable; its data is {"source_ok": false}
)

// absences notes the needs of checks, and reports the expressions that fail if a check did
// not pass and its data lacks a field that its provider requires only of a result that
// passed. Without descriptions of providers it reports nothing.
func (v *validator) absences(p *Program) {
	f, found, texts := &foreseer{p, maxForeseen, map[NodeID][]NodeID{}}, map[missingAt]cause{}, map[missingAt]Absence{}
	needs := map[NodeID][]string{}
	for _, a := range f.suspects() {
		n, required, always := v.def.Nodes[a.Step], false, false
		if v.inspects {
			required, always = v.promised(a)
		}
		if to, ok := route(n.OnFailed, n.Next); ok {
			missing, given := f.follow(a, to)
			if len(missing) > 0 || !given {
				needs[a.Step] = append(needs[a.Step], a.Field)
			}
			for _, m := range missing {
				if required && !always {
					found[m] |= answeredNo
					texts[m] = a
				}
			}
		}
		if to, ok := route(n.OnUnavailable, n.Next); ok && required && a.Field != "" && a.Field != "source_ok" {
			missing, _ := f.follow(a, to)
			for _, m := range missing {
				found[m] |= noAnswer
				texts[m] = a
			}
		}
	}
	p.needs = needs
	v.missing(found, texts)
	if v.inspects && f.left <= 0 {
		v.warnings = append(v.warnings, FieldError{Name: "nodes", Message: "the paths are too many to find every expression that reads a value of a check that has not passed"})
	}
}

// promised reports whether a provider of the check requires a field of a result that passed,
// and whether both providers give it in a result that failed, too. An empty name stands for
// any field.
func (v *validator) promised(a Absence) (required, always bool) {
	n := v.def.Nodes[a.Step]
	always = true
	for _, name := range slices.Compact([]string{n.Provider, cmp.Or(n.Fallback, n.Provider)}) {
		schema := v.described[name].Data.Map()
		fields, _ := schema["required"].([]any)
		has := slices.ContainsFunc(fields, func(field any) bool { return a.Field == "" || a.Field == field })
		kept, _ := schema["x-always"].(bool)
		required, always = required || has, always && has && kept
	}
	return required, always
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
		instead := m.Optional
		if texts[m].Field != "" {
			instead += ".orValue(...)"
		}
		why := map[cause]string{
			answeredNo: "may have failed here", noAnswer: "may have given no answer here",
			answeredNo | noAnswer: "may have failed or given no answer here",
		}[found[m]]
		e := TextError{Path: m.Path, Character: m.Character, Message: fmt.Sprintf(
			"the check %s %s, and %s may be missing then: write %s, or test steps.%s.passed first",
			texts[m].Step, why, m.Value, instead, texts[m].Step)}
		v.problems = append(v.problems, e.At(m.at))
	}
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
			if !seen[a] && f.Version.Definition.Nodes[a.Step].Type == NodeCheck {
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
	slices.SortFunc(all, func(a, b Absence) int { return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Field, b.Field)) })
	return all
}

// follow follows a run under an absence from a node, until it visits the check again. It
// returns what it finds missing. complete is false if it gives up.
func (f *foreseer) follow(a Absence, from NodeID) (found []missingAt, complete bool) {
	walk([]NodeID{""}, func(at NodeID) []NodeID {
		if at == "" {
			return []NodeID{from}
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
	}, func(to NodeID) bool { return to == a.Step })
	return found, f.left >= 0
}

// branch returns where a branch may lead under an absence.
func (f *foreseer) branch(a Absence, at NodeID, n Node) (next []NodeID, found []missingAt) {
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
