// Branch conditions, and the evaluation of expressions.

package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/verifyd/verifyd/verification/workflow"
)

type condition struct{ *expression }

// Findings returns what cannot be meant in the condition, which follows others in a branch.
func (c condition) Findings(before []workflow.Condition) []workflow.Finding {
	if c.judged == nil {
		return nil
	}
	earlier := make([]*judged, len(before))
	for i, b := range before {
		if b, ok := b.(condition); ok {
			earlier[i] = b.judged
		}
	}
	return c.judged.findings(earlier)
}

// Satisfiable reports whether it finds values for which conditions hold, and others do not.
func (c condition) Satisfiable(hold, not []workflow.Condition) bool {
	s, never, ok := unmet(hold, not)
	return ok && independent(slices.Clone(s.names)) && !never
}

// Impossible reports whether there are certainly no such values.
func (c condition) Impossible(hold, not []workflow.Condition) bool {
	_, never, ok := unmet(hold, not)
	return ok && never
}

// unmet reports whether in no case some conditions hold and others do not; ok is false if it cannot tell.
func unmet(hold, not []workflow.Condition) (s system, never, ok bool) {
	var all []*formulas
	formulasOf := func(conditions []workflow.Condition) (fs []formula, ok bool) {
		for _, one := range conditions {
			c, ok := one.(condition)
			if !ok || c.judged == nil {
				return nil, false
			}
			all, fs = append(all, c.judged.formulas), append(fs, c.judged.formula)
		}
		return fs, true
	}
	holds, ok := formulasOf(hold)
	fails, known := formulasOf(not)
	if !ok || !known {
		return s, false, false
	}
	if s, ok = newSystem(all...); !ok {
		return s, false, false
	}
	return s, s.never(true, func(at map[string]int) bool {
		return !slices.ContainsFunc(holds, func(f formula) bool { return !s.holds(f, at) }) &&
			!slices.ContainsFunc(fails, func(f formula) bool { return s.holds(f, at) })
	}), true
}

// independent reports whether operands are values of different fields, without anything computed.
func independent(operands []string) bool {
	for i, name := range operands {
		operands[i] = strings.TrimPrefix(name, "? ")
		if strings.ContainsFunc(operands[i], func(r rune) bool {
			return r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			return false
		}
	}
	slices.Sort(operands)
	return len(slices.Compact(operands)) == len(operands)
}

// ReadPaths returns the paths that the condition reads.
func (c condition) ReadPaths() []string { return append(c.readTexts(), c.inLoops...) }

// Holds evaluates the condition. Seen has the value of every path in the condition
// that has one.
func (c condition) Holds(s workflow.Scope) (holds bool, seen map[string]any, err error) {
	defer recovered(&err)
	r := newReading(&s)
	v, err := c.evaluate(r)
	if err != nil {
		return false, nil, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, nil, fmt.Errorf("a condition must be a bool, not %s", v.Type().TypeName())
	}
	return bool(b), c.seen(r), nil
}

// evaluate runs the expression. It fails once the expressions of one reading cost
// more than maxTotalCost together.
func (e *expression) evaluate(r *reading) (ref.Val, error) {
	if r.cost > maxTotalCost {
		return nil, errors.New("the expressions cost more together than the limit allows")
	}
	r.clears = e.clears
	r.load(e.reads)
	v, details, err := e.program.Eval(cel.Activation(r))
	if cost := details.ActualCost(); cost != nil {
		r.cost += *cost
	}
	if err != nil {
		return nil, e.failed(err, r)
	}
	return v, nil
}

// seen returns the values of the paths for the record. It leaves out missing values,
// and those that would make the record larger than maxValue.
func (e *expression) seen(r *reading) map[string]any {
	seen := make(map[string]any, len(e.reads))
	p := converter{left: maxValue}
	for _, read := range e.reads {
		v, err := r.find(read.path)
		if err != nil {
			continue
		}
		before := p
		if v, err = p.value(v, 1); err != nil {
			p = before
			continue
		}
		seen[read.text] = v
	}
	return seen
}

// failed says why an evaluation failed. It names paths and positions and never a
// value, which may be personal data of a customer.
func (e *expression) failed(err error, r *reading) error {
	if absent, ok := errors.AsType[*absentError](err); ok {
		return absent
	}
	if _, ok := errors.AsType[interpreter.EvalCancelledError](err); ok {
		return errors.New("the expression costs more than the limit allows")
	}
	if errors.Is(err, errDigits) {
		for _, read := range e.reads {
			if n, err := r.find(read.path); err == nil && types.IsError(numberVal(n)) {
				return fmt.Errorf("%s %w", read.text, errDigits)
			}
		}
		return fmt.Errorf("a number %w", errDigits)
	}
	id := int64(noNode)
	if failure, ok := errors.AsType[*types.Err](err); ok {
		id = failure.NodeID()
	}
	at := ""
	if _, ok := e.tree.SourceInfo().GetOffsetRange(id); ok {
		if l := e.tree.SourceInfo().GetStartLocation(id); l != nil && l.Line() > 0 {
			at = fmt.Sprintf(" (line %d, column %d of the expression)", l.Line(), l.Column()+1) // CEL counts columns from 0
		}
	}
	if p, ok := e.paths[id]; ok {
		if _, err := r.find(p); err != nil {
			return err
		}
	}
	for _, safe := range safeErrors {
		if errors.Is(err, safe) {
			return errors.New(safe.Error() + at)
		}
	}
	if x := find(e.tree, id); x != nil {
		switch x.Kind() {
		case ast.SelectKind:
			return fmt.Errorf("a field %s has no value%s", x.AsSelect().FieldName(), at)
		case ast.CallKind:
			return fmt.Errorf("%s does not take these values%s", functionName(x.AsCall().FunctionName()), at)
		}
	}
	return fmt.Errorf("the expression cannot be evaluated%s", at)
}

// functionName returns the name of a function or an operator as it is written.
func functionName(name string) string {
	switch written, ok := operators.FindReverse(name); {
	case name == operators.Index || name == operators.OptIndex:
		return "[]"
	case ok && written != "":
		return written
	}
	return name
}
