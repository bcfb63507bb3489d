// Calculating with whole numbers and doubles together.

package expression

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	celoperators "cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// operatorNames are the operators that replace those of the standard library:
// JSON has doubles only, and `input.age + 1` must not fail for its 1.
func operatorNames() []string {
	return []string{celoperators.Add, celoperators.Subtract, celoperators.Multiply, celoperators.Divide}
}

// operators are the standard ones with two overloads more each: a whole number
// next to a double becomes one.
func operators() []cel.EnvOption {
	var opts []cel.EnvOption
	for _, standard := range stdlib.Functions() {
		if !slices.Contains(operatorNames(), standard.Name()) {
			continue
		}
		name := standard.Name()
		var parts []cel.FunctionOpt
		for _, o := range standard.OverloadDecls() {
			parts = append(parts, decls.Overload(o.ID(), o.ArgTypes(), o.ResultType()))
		}
		opts = append(opts, cel.Function(name, append(parts,
			cel.Overload(name+"double_int", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType),
			cel.Overload(name+"int_double", []*cel.Type{cel.IntType, cel.DoubleType}, cel.DoubleType),
			cel.SingletonBinaryBinding(func(a, b ref.Val) ref.Val {
				a, b = alike(a, b)
				return calculate(name, a, b)
			}),
		)...))
	}
	return opts
}

func calculate(operator string, a, b ref.Val) ref.Val {
	switch operator {
	case celoperators.Add:
		if a, ok := a.(traits.Adder); ok {
			return a.Add(b)
		}
	case celoperators.Subtract:
		if a, ok := a.(traits.Subtractor); ok {
			return a.Subtract(b)
		}
	case celoperators.Multiply:
		if a, ok := a.(traits.Multiplier); ok {
			return a.Multiply(b)
		}
	case celoperators.Divide:
		if a, ok := a.(traits.Divider); ok {
			return a.Divide(b)
		}
	}
	return types.NewErr("no such overload")
}

// alike makes two doubles of a double and a whole number.
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
