// Foresight of function calls: optional values, comparisons and constants.

package expression

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/verifyd/verifyd/verification/rules"
)

// call returns what a call comes to.
func (f *foresight) call(x ast.Expr) prospect {
	call := x.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); {
	case name == operators.LogicalAnd || name == operators.LogicalOr:
		before := len(f.missing)
		a, b := f.of(args[0]), f.of(args[1])
		if name == operators.LogicalAnd {
			a = and(a, b)
		} else {
			a = negated(and(negated(a), negated(b)))
		}
		if a&fails == 0 {
			f.missing = f.missing[:before]
		}
		return a
	case name == operators.LogicalNot:
		return negated(f.of(args[0]))
	case name == operators.NotStrictlyFalse:
		return f.condition(x)
	case name == operators.Conditional:
		of := f.of(args[0])
		all := of & fails
		if of&isTrue != 0 {
			all |= f.of(args[1])
		}
		if of&isFalse != 0 {
			all |= f.of(args[2])
		}
		return all
	case name == operators.Index || name == operators.OptIndex || name == operators.OptSelect:
		if _, constant := f.paths[x.ID()]; constant {
			return f.selected(x, args[0], false)
		}
	case name == "optional.none":
		return isNone
	case slices.Contains(comparisons(), name):
		if holds, ok := f.compared(name, args[0], args[1]); ok {
			return truth(types.Bool(holds))
		}
	case call.IsMemberFunction() && f.isOptional(call.Target()):
		return f.ofOptional(x, call)
	}
	parts := slices.Clone(args)
	if call.IsMemberFunction() {
		parts = append(parts, call.Target())
	}
	return f.strict(x, parts...)
}

// ofOptional returns what a call of a function on an optional value comes to.
func (f *foresight) ofOptional(x ast.Expr, call ast.CallExpr) prospect {
	of := f.of(call.Target())
	if k := f.known(call.Target()); of&isNone == 0 && call.FunctionName() == orValue && (k == isPassed || k == isMet || k == isThere) {
		return of
	}
	if of&isNone == 0 && call.FunctionName() != orValue {
		return f.strict(x, append(slices.Clone(call.Args()), call.Target())...)
	}
	all := of &^ isNone
	switch call.FunctionName() {
	case orValue, "or":
		if of == fails {
			return fails
		}
		return all | f.of(call.Args()[0])
	case hasValue:
		return all&fails | isFalse
	case "value":
		f.missing = append(f.missing, x)
		return all | fails
	}
	return all | unknown
}

// and returns what a conjunction comes to: a part that is false makes it false, whatever
// becomes of the other.
func and(a, b prospect) (all prospect) {
	all = (a | b) & isFalse
	if a&isTrue != 0 && b&isTrue != 0 {
		all |= isTrue
	}
	if a&fails != 0 && b&(isTrue|fails) != 0 || b&fails != 0 && a&(isTrue|fails) != 0 {
		all |= fails
	}
	return all
}

func negated(p prospect) prospect {
	n := p & fails
	if p&isTrue != 0 {
		n |= isFalse
	}
	if p&isFalse != 0 {
		n |= isTrue
	}
	return n
}

// comparisons are the operators that compared evaluates.
func comparisons() []string {
	return []string{
		operators.Equals, operators.NotEquals, operators.In,
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	}
}

// compared evaluates a comparison of values that are known under the absence.
func (f *foresight) compared(name string, x, y ast.Expr) (holds, ok bool) {
	v, ok := f.value(x)
	if !ok {
		return false, false
	}
	if name == operators.In {
		if y.Kind() != ast.ListKind {
			return false, false
		}
		for _, item := range y.AsList().Elements() {
			w, ok := f.value(item)
			if !ok {
				return false, false
			}
			holds = holds || v.Equal(w) == types.True
		}
		return holds, true
	}
	w, ok := f.value(y)
	if !ok {
		return false, false
	}
	switch n, ordered := order(v, w); {
	case name == operators.Equals:
		return v.Equal(w) == types.True, true
	case name == operators.NotEquals:
		return v.Equal(w) != types.True, true
	case !ordered:
		return false, false
	case name == operators.Less:
		return n < 0, true
	case name == operators.LessEquals:
		return n <= 0, true
	case name == operators.Greater:
		return n > 0, true
	default:
		return n >= 0, true
	}
}

// value returns the value of an expression if it is known under the absence.
func (f *foresight) value(x ast.Expr) (ref.Val, bool) {
	switch x.Kind() {
	case ast.LiteralKind:
		return x.AsLiteral(), true
	case ast.SelectKind:
		switch k := f.known(x); {
		case asks(x) || f.isOptional(x):
		case k == isPassed:
			return types.Bool(f.absence.Passed), true
		case k == isMet:
			return types.Bool(f.absence.Met), true
		case k == isThere && x.AsSelect().FieldName() == "status":
			if f.absence.Passed {
				return types.String(rules.StepPassed), true
			}
			return types.String(rules.StepFailed), true
		}
	case ast.CallKind:
		call := x.AsCall()
		if call.FunctionName() == orValue && call.IsMemberFunction() && f.of(call.Target()) == isNone {
			return f.value(call.Args()[0])
		}
	case ast.ComprehensionKind, ast.IdentKind, ast.ListKind, ast.MapKind, ast.StructKind, ast.UnspecifiedExprKind:
	}
	return nil, false
}
