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
	// avoidable is how many visits are left of the search for values with which a step is avoided.
	avoidable int
}

// missingAt is a value that may be missing in a text of the definition.
type missingAt struct {
	at string // the path of the text
	MissingValue
}

// cause says why a value may be missing.
type cause uint16

const (
	answeredNo cause = 1 << iota // the check failed
	noAnswer                     // the check was unavailable; its data is {"source_ok": false}
	passedSo                     // the check passed, and its provider does not require the value
	leftOut                      // the customer left an optional field out
	optedOut                     // the customer opted out of the form
	notStarted                   // the schema of the input does not require the value
	notCalled                    // the member of a group was not called
	skipped                      // the condition of the step does not hold
	avoided                      // no path of the run has led to the step
	certain                      // values are found with which the step is skipped or avoided
)

// needs returns verification.CheckRequest.Needs of the checks: what is read of an answer on a path on which it may be missing.
func needs(v *validator, p *Program) map[verification.NodeID][]string {
	f, all := &foreseer{p, maxForeseen, map[verification.NodeID][]verification.NodeID{}, maxAllAvoiding}, map[verification.NodeID][]string{}
	for _, a := range f.suspects() {
		n, _ := v.def.Node(a.Step)
		for _, to := range v.failing(a, n) {
			if missing, given := f.follow(a, to); (len(missing) > 0 || !given) && !slices.Contains(all[a.Step], a.Field) {
				all[a.Step] = append(all[a.Step], a.Field)
			}
		}
	}
	return all
}

// absences reports the expressions that fail because a value is
// missing: one that a provider does not require, or requires only of a result that passed. It
// warns of a value that the customer may leave out of a form, and of one that the schema of the
// input does not require. Without descriptions of providers it reports nothing.
func (v *validator) absences(p *Program) {
	f, found, texts := &foreseer{p, maxForeseen, map[verification.NodeID][]verification.NodeID{}, maxAllAvoiding}, map[missingAt]cause{}, map[missingAt]Absence{}
	for _, a := range f.suspects() {
		n, _ := v.def.Node(a.Step)
		if a.Step == AnswerOfMember {
			v.untilAbsences(p, a, found, texts)
			continue
		}
		causes := v.causes(a, n)
		for _, to := range v.failing(a, n) {
			if missing, _ := f.follow(a, to); causes[answeredNo] {
				note(found, texts, a, answeredNo, missing)
			}
		}
		delete(causes, answeredNo)
		for _, why := range slices.Sorted(maps.Keys(causes)) {
			for _, to := range v.after(a, n, why) {
				missing, _ := f.follow(a, to)
				note(found, texts, a, why, missing)
				if why&(skipped|avoided) != 0 && len(missing) > 0 {
					note(found, texts, a, why|certain, slices.Collect(maps.Keys(f.certainly(v, a, why))))
				}
			}
		}
	}
	v.missing(found, texts)
	if f.left <= 0 {
		v.warnings = append(v.warnings, verification.FieldError{Name: "nodes", Message: "the paths are too many to find every expression that reads a value that may be missing"})
	}
}

func note(found map[missingAt]cause, texts map[missingAt]Absence, a Absence, why cause, missing []missingAt) {
	for _, m := range missing {
		found[m] |= why
		texts[m] = a
	}
}

// causes returns why runs may come under an absence.
func (v *validator) causes(a Absence, n Node) map[cause]bool {
	all := map[cause]bool{}
	add := func(why cause, is bool) {
		if is {
			all[why] = true
		}
	}
	switch {
	case a.Step == "":
		add(notStarted, mayLack(v.def.InputSchema, a.Field))
	case a.NotCalled:
		_, _, member := a.Step.Parts()
		add(notCalled, v.mayGoWithout(a.Step))
		add(skipped, member == "" && (n.When != "" || n.Spares()))
		add(avoided, member == "" && a.Step != v.def.Start)
	case n.Type == NodeCustomerInput:
		field, ok := n.Fields.ByName(a.Field)
		add(leftOut, a.Passed && ok && !field.Required && field.Type != FieldGroup)
		add(optedOut, !a.Passed && ok && n.Optional)
	case n.Type == NodeCheck:
		required, always, optional := v.promised(n, a.Field)
		add(passedSo, a.Passed && optional)
		add(answeredNo, !a.Passed && (required && !always || optional))
		add(noAnswer, !a.Passed && (required || optional) && a.Field != "" && a.Field != "source_ok")
	}
	return all
}

// mayGoWithout reports whether the group of a member may be decided before the member is called.
func (v *validator) mayGoWithout(member verification.NodeID) bool {
	group, _, name := member.Parts()
	n := v.def.Nodes[group]
	i := slices.IndexFunc(n.Members, func(m Member) bool { return m.Name == name })
	return i >= 0 && (n.Members[i].When != "" || i > 0 && n.Called() == OrderOneByOne)
}

// failing returns where a run goes after an answer that did not pass, under an absence in which the check has not passed.
func (v *validator) failing(a Absence, n Node) []verification.NodeID {
	if n.Type != NodeCheck || a.Passed || a.NotCalled {
		return nil
	}
	return v.after(a, n, answeredNo)
}

// after returns where a run goes from the step of an absence with a cause. A group may go on without the answer of a member,
// but one that needs all has passed only if they did.
func (v *validator) after(a Absence, n Node, why cause) []verification.NodeID {
	var to []verification.NodeID
	lead := func(on verification.NodeID) {
		if on, ok := n.Leads(on); ok {
			to = append(to, on)
		}
	}
	group, _, member := a.Step.Parts()
	switch {
	case a.Step == "", why == avoided:
		return []verification.NodeID{v.def.Start}
	case member != "":
		n = v.def.Nodes[group]
		i := slices.IndexFunc(n.Members, func(m Member) bool { return m.Name == member })
		switch {
		case i < 0:
		case !a.Met:
			lead(n.OnNotMet)
			lead(n.OnUnavailable)
		case n.Need != NeedAll, why == passedSo, why == answeredNo && n.Until != "", why == notCalled && n.Members[i].When != "":
			lead(TargetNext)
		}
	case why == answeredNo:
		lead(n.OnFailed)
	case why == noAnswer:
		lead(n.OnUnavailable)
	default:
		lead(TargetNext)
	}
	return slices.DeleteFunc(to, func(id verification.NodeID) bool { return id == "" })
}

// untilAbsences notes what the `until` of groups reads of an answer that may lack it.
func (v *validator) untilAbsences(p *Program, a Absence, found map[missingAt]cause, texts map[missingAt]Absence) {
	for id, c := range p.untils {
		until, ok := c.(Foreseen)
		n, _ := v.def.Node(id)
		if !ok || !until.Reads(a.Step) {
			continue
		}
		group, _, _ := id.Parts()
		var missing []missingAt
		for _, m := range until.Foresee(a, nil).Missing {
			missing = append(missing, missingAt{nodePath(group) + ".until", m})
		}
		causes := v.causes(a, n)
		delete(causes, noAnswer) // it is read of answers only
		for why := range causes {
			note(found, texts, a, why, missing)
		}
	}
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
func (v *validator) promised(n Node, field string) (required, always, optional bool) {
	always = true
	for _, name := range slices.Compact([]string{n.Provider, cmp.Or(n.Fallback, n.Provider)}) {
		schema := v.described[name].Data.Map()
		fields, says := schema["required"].([]any)
		has := slices.ContainsFunc(fields, func(f any) bool { return field == "" || field == f })
		kept, _ := schema["x-always"].(bool)
		required, always, optional = required || has, always && has && kept, optional || says && !has
	}
	return required, always, optional
}

func (v *validator) missing(found map[missingAt]cause, texts map[missingAt]Absence) {
	order := func(a, b missingAt) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Character, b.Character), -cmp.Compare(a.Value, b.Value))
	}
	all := slices.SortedFunc(maps.Keys(found), order)
	for len(all) > 0 { // those at one place are paths through the same value, the longest first
		m := all[0]
		n := slices.IndexFunc(all, func(other missingAt) bool {
			return other.at != m.at || other.Path != m.Path || other.Character != m.Character
		})
		if n < 0 {
			n = len(all)
		}
		same := all[:n]
		all = all[n:]
		if i := slices.IndexFunc(same, func(m missingAt) bool { return !found[m].warns() }); i >= 0 {
			m = same[i]
		}
		e := verification.TextError{Path: m.Path, Character: m.Character, Message: found[m].message(m.MissingValue, texts[m])}
		if found[m].warns() || found[m]&certain != 0 && v.stored {
			v.warnings = append(v.warnings, e.At(m.at))
			continue
		}
		v.problems = append(v.problems, e.At(m.at))
	}
}

// warns reports whether it is not certain that a value is missing.
func (c cause) warns() bool {
	if c&(skipped|avoided) != 0 {
		return c&certain == 0
	}
	return c&(leftOut|optedOut|notStarted) != 0
}

// message says why a value may be missing, and what to do.
func (c cause) message(m MissingValue, a Absence) string {
	instead, step, check := m.Optional, "steps."+string(a.Step), "check "+string(a.Step)
	if a.Field != "" {
		instead += ".orValue(...)"
	}
	switch group, _, member := a.Step.Parts(); {
	case a.Step == AnswerOfMember:
		step, check = "member", "answer of a member"
	case member != "":
		step, check = "steps."+string(group)+".members."+member, "member "+string(a.Step)
	}
	switch {
	case c&skipped != 0:
		return fmt.Sprintf("the step %s is left out if its when does not hold, and %s may be missing then: write %s, or test has(%s) first", a.Step, m.Value, instead, step)
	case c&avoided != 0:
		return fmt.Sprintf("the step %s may not have run here: write %s, or test has(%s) first", a.Step, instead, step)
	case c&notCalled != 0:
		return fmt.Sprintf("the %s may not have been called, and %s may be missing then: write %s, or test has(%s) first", check, m.Value, instead, step)
	case c == notStarted:
		return fmt.Sprintf("input_schema does not require %s: write %s, test has(%s) first, or require it", m.Value, instead, m.Value)
	case c == leftOut:
		return fmt.Sprintf("the customer may leave %s out: write %s, test has(%s) first, or make the field required", m.Value, instead, m.Value)
	case c == optedOut:
		return fmt.Sprintf("the customer may opt out of %s, and %s may be missing then: write %s, or test %s.passed first", a.Step, m.Value, instead, step)
	case c&(leftOut|optedOut) != 0:
		return fmt.Sprintf("the customer may leave %s out or opt out of %s: write %s, or test has(%s) first", m.Value, a.Step, instead, m.Value)
	case c == passedSo:
		return fmt.Sprintf("the %s may pass without %s: write %s, or test has(%s) first", check, m.Value, instead, m.Value)
	case c&passedSo != 0:
		return fmt.Sprintf("the %s may pass or not pass without %s: write %s, or test %s.passed && has(%s) first", check, m.Value, instead, step, m.Value)
	}
	why := map[cause]string{
		answeredNo: "may have failed here", noAnswer: "may have given no answer here",
		answeredNo | noAnswer: "may have failed or given no answer here",
	}[c]
	return fmt.Sprintf("the %s %s, and %s may be missing then: write %s, or test %s.passed first", check, why, m.Value, instead, step)
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
	for _, texts := range []map[verification.NodeID]Template{f.templates, f.lists} {
		for _, t := range texts {
			note(t)
		}
	}
	for _, texts := range []map[verification.NodeID]Condition{f.whens, f.untils} {
		for _, c := range texts {
			note(c)
		}
	}
	truth := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	slices.SortFunc(all, func(a, b Absence) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Field, b.Field),
			truth(a.Passed)-truth(b.Passed), truth(a.NotCalled)-truth(b.NotCalled), truth(a.Met)-truth(b.Met))
	})
	return all
}

// follow follows a run under an absence from a node, until it visits the step again. It
// returns what it finds missing. complete is false if it gives up.
func (f *foreseer) follow(a Absence, from verification.NodeID) (found []missingAt, complete bool) {
	of, _, _ := a.Step.Parts()
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
		next, missing := f.step(a, at, n)
		found = append(found, missing...)
		return next
	}, func(to verification.NodeID) bool { return to == of })
	return found, f.left >= 0
}

// step returns where a step may lead under an absence.
func (f *foreseer) step(a Absence, at verification.NodeID, n Node) (next []verification.NodeID, found []missingAt) {
	read := func(path string, text any) Prospect {
		t, ok := text.(Foreseen)
		if !ok || !t.Reads(a.Step) {
			return Prospect{Holds: true, HoldsNot: true}
		}
		p := t.Foresee(a, nil)
		for _, m := range p.Missing {
			found = append(found, missingAt{path, m})
		}
		return p
	}
	when := read(nodePath(at)+".when", f.whens[at])
	if !when.Holds {
		if when.HoldsNot {
			next = append(next, n.Next)
		}
		return next, found
	}
	if n.Type == NodeEnd {
		read(nodePath(at)+".data", f.templates[at])
	}
	runs := true
	if list, ok := f.lists[at]; ok {
		from := len(found)
		runs = read(nodePath(at)+".for_each", list).Holds
		for i := range found[from:] { // it is inside ${...} of the field list
			m := &found[from+i]
			m.Path, m.Character = "", m.Character-len("${")
		}
	}
	for _, s := range f.Version.Definition.checksAt(at) {
		if s.id != at && !read(nodePath(s.id)+".when", f.whens[s.id]).Holds {
			continue
		}
		runs = read(nodePath(s.id)+".with", f.templates[s.id]).Holds && runs
		if until, ok := f.untils[s.id]; ok {
			read(nodePath(at)+".until", until)
		}
	}
	if !runs {
		return nil, found
	}
	return n.Targets(), found
}

// rulePath returns the path of the condition of a rule.
func rulePath(branch verification.NodeID, i int) string {
	return fmt.Sprintf("%s.rules[%d].when", nodePath(branch), i)
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
				p = c.Foresee(a, n.passed(conditions[:i]))
			}
		}
		for _, m := range p.Missing {
			found = append(found, missingAt{rulePath(at, i), m})
		}
		if p.Holds {
			next = append(next, r.targets()...)
		}
		if !p.HoldsNot && !r.passable() {
			return next, found
		}
	}
	return append(next, n.Else), found
}
