// Differences: what a workflow does about facts on which the steps of a run differ.

package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// OnDifference says what happens if the values of a fact differ.
type OnDifference string

// What happens.
const (
	// DifferenceNote shows the difference to reviewers. It is the default.
	DifferenceNote OnDifference = "note"
	// DifferenceFlag also flags the later of the steps whose values differ: its data gets
	// analysis_ok false and, in differs, the facts.
	DifferenceFlag OnDifference = "flag"
)

// FactKind says how the values of a fact are compared where a difference flags a step.
type FactKind string

// The kinds of facts.
const (
	FactText    FactKind = "text"    // as texts, dates and numbers
	FactPerson  FactKind = "person"  // as names of people
	FactCompany FactKind = "company" // as names of companies
)

// KindOf returns how the values of a comparison are compared, which come from the given paths: its Kind. Without one, values are
// names if one of them is the name of the subject, or comes from a path whose last part is name or ends with _name. They are
// names of whatever the subject is, and of people if it does not say.
func (d Definition) KindOf(c Comparison, reads []string) FactKind {
	named := func(path string) bool {
		last := path[strings.LastIndex(path, ".")+1:]
		return last == "name" || strings.HasSuffix(last, "_name")
	}
	switch s := cmp.Or(d.Subject, &SubjectFields{}); {
	case c.Kind != "":
		return c.Kind
	case s.Name != "" && slices.Contains(c.Of, s.Name), slices.ContainsFunc(reads, named):
		return cmp.Or(s.Kind, FactPerson)
	}
	return FactText
}

// Flags reports whether a difference of the fact flags a step.
func (c Comparison) Flags() bool { return c.OnDifference == DifferenceFlag }

// StepOf returns the step of a path such as steps.pan.data.name: of steps.address.members.bureau.data.name, the member address.bureau.
func StepOf(path string) (verification.NodeID, bool) {
	rest, ok := strings.CutPrefix(path, "steps.")
	parts := strings.Split(rest, ".")
	step := verification.NodeID(parts[0])
	if len(parts) > 2 && parts[1] == "members" {
		step = step.Member(parts[2])
	}
	return step, ok
}

// difference checks what a comparison says about differences.
func (v *validator) difference(at string, c Comparison) {
	oneOf(v, at+".on_difference", c.OnDifference, DifferenceNote, DifferenceFlag)
	oneOf(v, at+".kind", c.Kind, FactText, FactPerson, FactCompany)
}

// differences reports facts that flag nothing although they say so, and warns of those whose
// difference changes nothing in a run. The expressions of the facts are compiled.
func (v *validator) differences(p *Program) {
	if p.facts == nil {
		return
	}
	texts, paths := v.def.factTexts()
	for i, c := range v.def.Compare {
		at := fmt.Sprintf("compare[%d]", i)
		var reads [][]string // of each expression
		for k, path := range paths {
			if strings.HasPrefix(path, at+".of[") && texts[k] != "" {
				reads = append(reads, p.facts.Reads(k))
			}
		}
		switch {
		case c.Flags():
			v.check(at+".on_difference", slices.ContainsFunc(slices.Concat(reads...), v.flaggable),
				"no expression of the fact reads a check or a form, so a difference has no step to flag")
			v.beside(at+".on_difference", slices.Concat(reads...))
			v.unknownKind(at, c, slices.Concat(reads...))
		case c.OnDifference == "" && !p.tests(reads):
			v.warnings = append(v.warnings, verification.FieldError{Name: at + ".fact", Message: "a difference changes nothing, because no condition reads the fact: " +
				"flag it with on_difference: flag, test it in a branch, or write on_difference: note"})
		}
	}
}

// unknownKind warns of names that are compared as names of people although nothing says that the subject is a person.
func (v *validator) unknownKind(path string, c Comparison, reads []string) {
	s := cmp.Or(v.def.Subject, &SubjectFields{})
	if c.Kind == "" && s.Kind == "" && s.BirthDate == "" && v.def.KindOf(c, reads) == FactPerson {
		v.warnings = append(v.warnings, verification.FieldError{Name: path + ".of", Message: "the values are compared as names of people: " +
			"write kind: person or kind: company in subject, or at this fact"})
	}
}

// flaggable reports whether a path leads to the data of a check or of a form.
func (v *validator) flaggable(path string) bool {
	step, ok := StepOf(path)
	n, _ := v.def.Node(step)
	of, _, _ := step.Parts()
	return ok && (n.Type == NodeCheck || n.Type == NodeCustomerInput) && v.def.Nodes[of].ForEach == ""
}

// beside reports a fact that two members of a group give whose answers come in any order: either could be the later one.
func (v *validator) beside(path string, reads []string) {
	first := map[verification.NodeID]verification.NodeID{} // by group
	for _, read := range reads {
		step, _ := StepOf(read)
		group, _, member := step.Parts()
		if member == "" || v.def.Nodes[group].Called() != OrderTogether {
			continue
		}
		if other, ok := first[group]; ok && other != step {
			v.problem(path, "%s and %s answer in any order, so there is no later step to flag: test the difference in a branch after %s, and write on_difference: note", other, step, group)
			return
		}
		first[group] = step
	}
}

// tests reports whether a condition reads one of the values, or a check is asked at least two of
// them, as one that compares names is. reads are the paths of each value.
func (p Program) tests(reads [][]string) bool {
	read := func(r Reader, least int) bool {
		all, count := r.ReadPaths(), 0
		for _, paths := range reads {
			if slices.ContainsFunc(paths, func(path string) bool {
				return slices.ContainsFunc(all, func(other string) bool { return overlaps(path, other) })
			}) {
				count++
			}
		}
		return count >= least
	}
	for _, conditions := range p.conditions {
		for _, c := range conditions {
			if r, ok := c.(Reader); ok && read(r, 1) {
				return true
			}
		}
	}
	for _, c := range p.whens {
		if r, ok := c.(Reader); ok && read(r, 1) {
			return true
		}
	}
	for _, c := range p.untils {
		if r, ok := c.(Reader); ok && read(r, 1) {
			return true
		}
	}
	for _, t := range p.templates {
		if r, ok := t.(Reader); ok && read(r, 2) {
			return true
		}
	}
	return false
}

// overlaps reports whether one of two paths leads to the other, or they are the same.
func overlaps(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}
