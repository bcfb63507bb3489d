// The values of the facts of a run.

package rules

import (
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// FactValue is the value of an expression of `subject` or `compare` in a run.
type FactValue struct {
	// Value is a plain value of JSON; nil if it is not given: the run has no such value yet,
	// or it cannot be evaluated.
	Value any
	// Unclear says that there is no Value because the expression cannot be evaluated, or its
	// value is too large.
	Unclear bool
	// Reads are the paths that the expression reads, such as steps.pan.data.name.
	Reads []string
}

// FactValues are the values of the expressions of `subject` and `compare` in a run.
type FactValues struct {
	Name, BirthDate, Number, Portrait FactValue
	Compared                          [][]FactValue // by comparison, in the order of Of
}

// FactValues evaluates the expressions of `subject` and `compare`. It never fails.
func (r Run) FactValues(p workflow.Program) FactValues {
	def := p.Version.Definition
	var all []any
	if p.Facts() != nil {
		all = p.Facts().Evaluate(r.scope())
	}
	next := 0
	value := func(text string) (v FactValue) {
		if text == "" {
			return v
		}
		if next < len(all) {
			v = FactValue{Value: all[next], Reads: p.Facts().Reads(next)}
			if _, v.Unclear = v.Value.(error); v.Unclear {
				v.Value = nil
			}
		}
		next++
		return v
	}
	var f FactValues
	if s := def.Subject; s != nil {
		f.Name, f.BirthDate, f.Number, f.Portrait = value(s.Name), value(s.BirthDate), value(s.Number), value(s.Portrait)
	}
	for _, c := range def.Compare {
		row := make([]FactValue, len(c.Of))
		for i, text := range c.Of {
			row[i] = value(text)
		}
		f.Compared = append(f.Compared, row)
	}
	return f
}

// ElementValues evaluates the expressions of `element` of a node with for_each for each element of the last visit: see
// workflow.Program.ElementValues. There are none without `element`, and once the list is redacted. It never fails.
func (r Run) ElementValues(p workflow.Program, g Group) (all [][]any) {
	values, list := p.ElementValues(g.Node), g.list()
	if values == nil || len(list) != g.Elements {
		return nil
	}
	scope := r.scope()
	for i, item := range list {
		scope.Item, scope.Position = item, i+1
		all = append(all, values.Evaluate(scope))
	}
	return all
}

// OfEarlierList reports whether a step is of an element of an earlier list: the last visit of the node has not come to the
// step.
func (r Run) OfEarlierList(step verification.NodeID) bool {
	node, element, _ := step.Parts()
	g, ok := r.Group(node)
	s := r.step(step)
	return ok && element > 0 && s != nil && !g.onVisit(s)
}
