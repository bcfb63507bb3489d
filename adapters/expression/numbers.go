// Whole numbers and doubles in one expression: numbers from JSON are doubles, which CEL
// does not mix with whole numbers, but here `input.age + 1` and `input.age == 1` work.

package expression

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// arithmetic lists the standard operators that are declared again here, with more
// overloads.
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
		if err != nil {
			return nil, fmt.Errorf("operator %s: %w", name, err)
		}
		if len(bindings) != 1 {
			return nil, fmt.Errorf("operator %s has %d implementations, want 1", name, len(bindings))
		}
		standardBinding := bindings[0]
		overloads := []cel.FunctionOpt{
			cel.Overload(name+"double_int", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType),
			cel.Overload(name+"int_double", []*cel.Type{cel.IntType, cel.DoubleType}, cel.DoubleType),
			cel.SingletonBinaryBinding(func(a, b ref.Val) ref.Val {
				return standardBinding.Binary(sameType(a, b))
			}, standardBinding.OperandTrait),
		}
		for _, o := range standard.OverloadDecls() {
			overloads = append(overloads, decls.Overload(o.ID(), o.ArgTypes(), o.ResultType()))
		}
		opts = append(opts, cel.Function(name, overloads...))
	}
	return opts, nil
}

// sameType returns two doubles for a double and a whole number, and any other values
// unchanged.
func sameType(a, b ref.Val) (ref.Val, ref.Val) {
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

// useDoubles turns literal whole numbers that are arguments of calls into doubles, also
// those in literal lists. calls are the calls that the type check refused, by id.
func useDoubles(tree *ast.AST, calls map[int64]*cel.Error) {
	build := ast.NewExprFactory()
	var convert func(args []ast.Expr)
	convert = func(args []ast.Expr) {
		for _, arg := range args {
			switch arg.Kind() {
			case ast.ListKind:
				convert(arg.AsList().Elements())
			case ast.LiteralKind:
				if n, ok := arg.AsLiteral().(types.Int); ok {
					arg.SetKindCase(build.NewLiteral(arg.ID(), types.Double(n)))
				}
			}
		}
	}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if calls[e.ID()] != nil && e.Kind() == ast.CallKind {
			convert(e.AsCall().Args())
		}
	}))
}
