// Absences: which values an expression may miss, and what becomes of it without them.

package expression

import (
	"cmp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// foresee returns what may become of an expression if none of the conditions before it
// holds.
func foresee(a workflow.Absence, before []*expression, e *expression) (p prospect, missing []ast.Expr) {
	all := make([]*foresight, 0, len(before)+1)
	counts, visits := map[string]int{}, 0
	for _, e := range append(slices.Clone(before), e) {
		f := newForesight(e, a)
		f.counts = counts
		f.of(e.tree.Expr())
		f.counts, visits = nil, visits+f.visits
		f.missing = nil
		all = append(all, f)
	}
	var assumed []string
	for text, n := range counts {
		if n > 1 {
			assumed = append(assumed, text)
		}
	}
	slices.Sort(assumed)
	assumed = assumed[:min(len(assumed), maxAssumed)]
	for len(assumed) > 0 && visits<<len(assumed) > maxForesight {
		assumed = assumed[:len(assumed)-1]
	}
	last := all[len(all)-1]
	for n := range 1 << len(assumed) {
		truths := make(map[string]bool, len(assumed))
		for i, text := range assumed {
			truths[text] = n>>i&1 == 1
		}
		reached := true
		for _, f := range all[:len(all)-1] {
			f.assumed = truths
			reached = reached && f.of(f.tree.Expr())&isFalse != 0
		}
		if last.assumed = truths; reached {
			p |= last.of(last.tree.Expr())
			missing = append(missing, last.missing...)
			last.missing = nil
		}
	}
	slices.SortFunc(missing, func(x, y ast.Expr) int { return cmp.Compare(x.ID(), y.ID()) })
	return p, slices.CompactFunc(missing, func(x, y ast.Expr) bool { return x.ID() == y.ID() })
}

// missingValue returns the value that a node reads, as it is written and as it may be missing.
func (e *expression) missingValue(x ast.Expr) workflow.MissingValue {
	p := e.paths[x.ID()]
	if x.Kind() == ast.CallKind && x.AsCall().IsMemberFunction() { // of value()
		x = x.AsCall().Target()
		p = e.paths[x.ID()]
	}
	m := workflow.MissingValue{Value: p.String(), Optional: p.optional()}
	for {
		switch {
		case x.Kind() == ast.SelectKind:
			x = x.AsSelect().Operand()
			continue
		case x.Kind() == ast.CallKind && len(x.AsCall().Args()) > 0:
			x = x.AsCall().Args()[0]
			continue
		}
		break
	}
	if at, ok := e.tree.SourceInfo().GetOffsetRange(x.ID()); ok {
		m.Character = int(at.Start) + 1
	}
	return m
}

// optional returns a path to a member of a group, to data of a step, or to the input, as an expression writes it if the
// value may be missing.
func (p path) optional() string {
	s := p.root
	for i, k := range p.keys {
		next := path{s, []key{k}}.String()
		always := p.root == nameSteps && (i == 0 && len(p.keys) > 1 || i == 1 && k.name == fieldMembers)
		if rest := strings.TrimPrefix(next, s); !always {
			next = s + rest[:1] + "?" + rest[1:]
		}
		s = next
	}
	return s
}

// absences returns the absences under which an expression may fail.
func (e *expression) absences() (all []workflow.Absence) {
	seen := map[workflow.Absence]bool{}
	try := func(a workflow.Absence) {
		if seen[a] {
			return
		}
		seen[a] = true
		if p, _ := foresee(a, nil, e); p&fails != 0 {
			all = append(all, a)
		}
	}
	for _, read := range e.reads {
		if keys := read.path.keys; read.path.root == nameInput && len(keys) > 0 && !keys[0].list {
			try(workflow.Absence{Field: keys[0].name})
		}
		step, keys, ok := read.path.step()
		if !ok {
			continue
		}
		met := []bool{false}
		group, _, member := step.Parts()
		if member != "" && step != workflow.AnswerOfMember {
			met = append(met, true)
			try(workflow.Absence{Step: group, NotCalled: true})
		}
		for _, met := range met {
			if step != workflow.AnswerOfMember {
				try(workflow.Absence{Step: step, Met: met, NotCalled: true})
			}
			if len(keys) == 0 || keys[0].name != "data" {
				continue
			}
			if try(workflow.Absence{Step: step, Met: met}); len(keys) > 1 && !keys[1].list {
				try(workflow.Absence{Step: step, Met: met, Field: keys[1].name})
				try(workflow.Absence{Step: step, Met: met, Field: keys[1].name, Passed: true})
			}
		}
	}
	return all
}

// step returns the step that a path leads to, a member of a group or the answer that an `until` reads included, and the keys
// below it.
func (p path) step() (step verification.NodeID, below []key, ok bool) {
	switch {
	case p.root == nameMember:
		return workflow.AnswerOfMember, p.keys, true
	case p.root != nameSteps || len(p.keys) == 0 || p.keys[0].list:
		return "", nil, false
	}
	step = verification.NodeID(p.keys[0].name)
	if len(p.keys) > 2 && p.keys[1].name == fieldMembers && !p.keys[2].list {
		return step.Member(p.keys[2].name), p.keys[3:], true
	}
	return step, p.keys[1:], true
}

func (e *expression) readsStep(step verification.NodeID) bool {
	return slices.ContainsFunc(e.reads, func(r read) bool {
		if step == "" {
			return r.path.root == nameInput
		}
		read, _, ok := r.path.step()
		group, _, _ := step.Parts()
		of, _, _ := read.Parts()
		return ok && (read == step || read == group || of == step)
	})
}

// Reads reports whether the condition reads anything of a step, or of the input.
func (c condition) Reads(step verification.NodeID) bool { return c.readsStep(step) }

// Absences returns the absences under which the condition may fail.
func (c condition) Absences() []workflow.Absence { return c.absences() }

// Foresee returns what may become of the condition under an absence.
func (c condition) Foresee(a workflow.Absence, before []workflow.Condition) workflow.Prospect {
	var earlier []*expression
	for _, b := range before {
		if b, ok := b.(condition); ok {
			earlier = append(earlier, b.expression)
		}
	}
	p, missing := foresee(a, earlier, c.expression)
	found := workflow.Prospect{Holds: p&isTrue != 0, HoldsNot: p&isFalse != 0}
	for _, x := range missing {
		m := c.missingValue(x)
		m.Sure = p == fails
		found.Missing = append(found.Missing, m)
	}
	return found
}

// Absences returns the absences under which an expression of the template may fail.
func (t template) Absences() (all []workflow.Absence) {
	each(t.root, func(f filled) { all = append(all, f.absences()...) })
	return all
}

// Reads reports whether an expression of the template reads anything of a step, or of the
// input.
func (t template) Reads(step verification.NodeID) (reads bool) {
	each(t.root, func(f filled) { reads = reads || f.readsStep(step) })
	return reads
}

// Foresee returns what may become of the template under an absence.
func (t template) Foresee(a workflow.Absence, _ []workflow.Condition) workflow.Prospect {
	found := workflow.Prospect{Holds: true}
	each(t.root, func(f filled) {
		p, missing := foresee(a, nil, f.expression)
		found.Holds = found.Holds && p != fails
		for _, x := range missing {
			m := f.missingValue(x)
			m.Path, m.Character, m.Sure = f.path, f.at+m.Character-1, p == fails
			found.Missing = append(found.Missing, m)
		}
	})
	return found
}
