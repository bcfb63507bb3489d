// Differences: what a workflow does about facts on which the steps of a run differ.

package verification

import (
	"fmt"
	"slices"
	"strings"
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

// factKinds returns all kinds of facts.
func factKinds() []FactKind { return []FactKind{FactText, FactPerson, FactCompany} }

// The fields of a step's data about differences.
const (
	fieldAnalysis = "analysis_ok"
	fieldDiffers  = "differs"
)

// flags reports whether a difference of the fact flags a step.
func (c Comparison) flags() bool { return c.OnDifference == DifferenceFlag }

// flagsDifferences reports whether a difference of some fact flags a step.
func (d Definition) flagsDifferences() bool { return slices.ContainsFunc(d.Compare, Comparison.flags) }

// kind returns Kind. Without one, the values are names of people if one of them is the name of
// the subject, or is from a path whose last part is name or ends with _name.
func (c Comparison) kind(s *SubjectFields, values []FactValue) FactKind {
	named := func(v FactValue) bool {
		return slices.ContainsFunc(v.Reads, func(path string) bool {
			last := path[strings.LastIndex(path, ".")+1:]
			return last == "name" || strings.HasSuffix(last, "_name")
		})
	}
	switch {
	case c.Kind != "":
		return c.Kind
	case s != nil && slices.Contains(c.Of, s.Name), slices.ContainsFunc(values, named):
		return FactPerson
	}
	return FactText
}

// compared returns the data of an answer of a step, after which the run goes to another
// node: with the facts whose values now differ from it, as far as the workflow flags
// them. A value is not compared with one that the run is sure to replace: the step of that one is
// compared when the run has come to it again. to is empty if the run ends.
func (d *decision) compared(node NodeID, status StepStatus, data Data, to NodeID) Data {
	def := d.program.Version.Definition
	if !def.flagsDifferences() || d.program.facts == nil {
		return data
	}
	r := d.run
	r.Steps = slices.Clone(r.Steps)
	if i := r.index(node); i >= 0 {
		r.Steps[i].Status, r.Steps[i].Data = status, data
	}
	var differs []string
	for i, values := range d.program.FactValues(r).Compared {
		c := def.Compare[i]
		if c.flags() && d.differ(values, c.kind(def.Subject, values), node, to) {
			differs = append(differs, c.Fact)
		}
	}
	if differs == nil {
		return data
	}
	return data.differing(differs)
}

// differ reports whether a value that a step gave differs from another value of a fact.
func (d *decision) differ(values []FactValue, kind FactKind, node, to NodeID) bool {
	for i, v := range values {
		if !v.given() || !slices.Contains(v.steps(), node) {
			continue
		}
		for k, other := range values {
			if k == i || !other.given() || v.agrees(other, kind, d.program.facts) {
				continue
			}
			if !slices.ContainsFunc(other.steps(), func(step NodeID) bool { return step != node && d.comesTo(step, to) }) {
				return true
			}
		}
	}
	return false
}

// comesTo reports whether every path from a node to an end leads through another node.
func (d *decision) comesTo(through, from NodeID) bool {
	def := d.program.Version.Definition
	switch {
	case from == through:
		return true
	case from == "" || def.Nodes[from].Type == NodeEnd:
		return false
	}
	return !slices.ContainsFunc(def.reach(from, func(id NodeID) bool { return id == through }), func(id NodeID) bool {
		return def.Nodes[id].Type == NodeEnd
	})
}

// given reports whether there is a value: a blank text and an empty list are none.
func (v FactValue) given() bool {
	switch value := v.Value.(type) {
	case nil:
		return v.Unclear
	case string:
		return strings.TrimSpace(value) != ""
	case []any:
		return len(value) > 0
	}
	return true
}

// agrees reports whether two values agree. One that is unclear agrees with nothing.
func (v FactValue) agrees(other FactValue, kind FactKind, l Values) bool {
	return !v.Unclear && !other.Unclear && l.Agree(kind, v.Value, other.Value)
}

// steps returns the steps that the value is from.
func (v FactValue) steps() (all []NodeID) {
	for _, path := range v.Reads {
		if step, ok := stepOf(path); ok {
			all = append(all, step)
		}
	}
	return all
}

// stepOf returns the step of a path such as steps.pan.data.name.
func stepOf(path string) (NodeID, bool) {
	rest, ok := strings.CutPrefix(path, "steps.")
	step, _, _ := strings.Cut(rest, ".")
	return NodeID(step), ok
}

// differing returns the data with the facts that differ.
func (d Data) differing(facts []string) Data {
	return d.edited(func(name string, value []byte) []byte {
		if name == fieldAnalysis || name == fieldDiffers {
			return nil
		}
		return value
	}, [2]string{fieldAnalysis, "false"}, [2]string{fieldDiffers, string(jsonOf(facts))})
}

// doubted returns the data with analysis_ok false.
func (d Data) doubted() Data {
	return d.edited(func(name string, value []byte) []byte {
		if name == fieldAnalysis {
			return nil
		}
		return value
	}, [2]string{fieldAnalysis, "false"})
}

// difference checks what a comparison says about differences.
func (v *validator) difference(at string, c Comparison) {
	if rules := []OnDifference{DifferenceNote, DifferenceFlag}; c.OnDifference != "" && !slices.Contains(rules, c.OnDifference) {
		v.problem(at+".on_difference", "must be one of %s%s", joined(rules), DidYouMean(string(c.OnDifference), rules))
	}
	if c.Kind != "" && !slices.Contains(factKinds(), c.Kind) {
		v.problem(at+".kind", "must be one of %s%s", joined(factKinds()), DidYouMean(string(c.Kind), factKinds()))
	}
}

// differences reports facts that flag nothing although they say so, and warns of those whose
// difference changes nothing in a run. The expressions of the facts are compiled.
func (v *validator) differences(p *Program) {
	if p.facts == nil || !v.inspects {
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
		case c.flags():
			v.check(at+".on_difference", slices.ContainsFunc(slices.Concat(reads...), v.flaggable),
				"no expression of the fact reads a check or a form, so a difference has no step to flag")
		case c.OnDifference == "" && !p.tests(reads):
			v.warnings = append(v.warnings, FieldError{Name: at + ".fact", Message: "a difference changes nothing, because no condition reads the fact: " +
				"flag it with on_difference: flag, test it in a branch, or write on_difference: note"})
		}
	}
}

// flaggable reports whether a path leads to the data of a check or of a form.
func (v *validator) flaggable(path string) bool {
	step, ok := stepOf(path)
	t := v.def.Nodes[step].Type
	return ok && (t == NodeCheck || t == NodeCustomerInput)
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
