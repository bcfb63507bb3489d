// Whole numbers and doubles side by side: JSON has doubles only, and neither
// `input.age + 1` nor `input.age == 1` must fail for its 1.

package expression

import (
	"fmt"
	"maps"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// arithmetic lists the operators that are declared here and not by the standard
// library.
func arithmetic() []string {
	return []string{operators.Add, operators.Subtract, operators.Multiply, operators.Divide}
}

// mixedArithmetic returns the standard operators with two more overloads each,
// for a whole number next to a double.
func mixedArithmetic() ([]cel.EnvOption, error) {
	var opts []cel.EnvOption
	for _, standard := range stdlib.Functions() {
		name := standard.Name()
		if !slices.Contains(arithmetic(), name) {
			continue
		}
		bindings, err := standard.Bindings()
		if err != nil || len(bindings) != 1 {
			return nil, fmt.Errorf("operator %s has %d implementations: %w", name, len(bindings), err)
		}
		standardBinding := bindings[0]
		overloads := []cel.FunctionOpt{
			cel.Overload(name+"double_int", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType),
			cel.Overload(name+"int_double", []*cel.Type{cel.IntType, cel.DoubleType}, cel.DoubleType),
			cel.SingletonBinaryBinding(func(a, b ref.Val) ref.Val {
				return standardBinding.Binary(alike(a, b))
			}, standardBinding.OperandTrait),
		}
		for _, o := range standard.OverloadDecls() {
			overloads = append(overloads, decls.Overload(o.ID(), o.ArgTypes(), o.ResultType()))
		}
		opts = append(opts, cel.Function(name, overloads...))
	}
	return opts, nil
}

// alike returns two doubles for a double and a whole number.
func alike(a, b ref.Val) (ref.Val, ref.Val) {
	switch x := a.(type) {
	case types.Double:
		if y, ok := b.(types.Int); ok {
			return x, types.Double(y)
		}
	case types.Int:
		if y, ok := b.(types.Double); ok {
			return types.Double(x), y
		}
	}
	return a, b
}

// looseArgument returns the argument of a call that may have another numeric
// type than the rest of the call, and -1 if there is none.
func looseArgument(call ast.CallExpr) int {
	switch call.FunctionName() {
	case operators.Equals, operators.NotEquals:
		return 1
	case operators.In, "orValue":
		return 0
	case operators.Conditional:
		return 2
	}
	return -1
}

// loosen takes the type check off one argument of each of the calls: it wraps
// the argument in dyn().
func loosen(tree *ast.AST, calls map[int64]*cel.Error) {
	build, next := ast.NewExprFactory(), ast.MaxID(tree)
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if calls[e.ID()] == nil {
			return
		}
		next++
		call, index := e.AsCall(), looseArgument(e.AsCall())
		args := slices.Clone(call.Args())
		if at, ok := tree.SourceInfo().GetOffsetRange(args[index].ID()); ok {
			tree.SourceInfo().SetOffsetRange(next, at)
		}
		args[index] = build.NewCall(next, "dyn", build.CopyExpr(args[index]))
		if call.IsMemberFunction() {
			e.SetKindCase(build.NewMemberCall(e.ID(), call.FunctionName(), call.Target(), args...))
		} else {
			e.SetKindCase(build.NewCall(e.ID(), call.FunctionName(), args...))
		}
	}))
}

// checkMixed returns the error of the first loosened call that mixes more than kinds
// of numbers.
func checkMixed(text string, tree *ast.AST, calls map[int64]*cel.Error) error {
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		if e := find(tree, id); e != nil && !mixesNumbers(tree, e.AsCall()) {
			return problem(text, calls[id])
		}
	}
	return nil
}

// mixesNumbers reports whether the types of a loosened call differ only in their
// kinds of numbers.
func mixesNumbers(tree *ast.AST, call ast.CallExpr) bool {
	index := looseArgument(call)
	loose := tree.GetType(call.Args()[index].AsCall().Args()[0].ID())
	var other *cel.Type
	switch call.FunctionName() {
	case operators.Equals, operators.NotEquals:
		other = tree.GetType(call.Args()[0].ID())
	case operators.Conditional:
		other = tree.GetType(call.Args()[1].ID())
	case operators.In:
		other = held(tree.GetType(call.Args()[1].ID()))
	default:
		other = held(tree.GetType(call.Target().ID()))
	}
	a, b := asDoubles(loose), asDoubles(other)
	return a.IsAssignableType(b) || b.IsAssignableType(a)
}

// held returns the type of the items of a list, the keys of a map or the value of
// an optional.
func held(t *cel.Type) *cel.Type {
	if len(t.Parameters()) == 0 {
		return cel.DynType
	}
	return t.Parameters()[0]
}

// asDoubles returns a type with double for each int in it.
func asDoubles(t *cel.Type) *cel.Type {
	parts := make([]*cel.Type, len(t.Parameters()))
	for i, p := range t.Parameters() {
		parts[i] = asDoubles(p)
	}
	switch t.Kind() {
	case types.IntKind, types.DoubleKind:
		return cel.DoubleType
	case types.ListKind:
		return cel.ListType(parts[0])
	case types.MapKind:
		return cel.MapType(parts[0], parts[1])
	}
	if t.Kind() == types.OpaqueKind && len(parts) == 1 {
		return cel.OpaqueType(t.TypeName(), parts[0])
	}
	return t
}
