// Whole numbers and doubles in one expression: numbers from JSON are doubles, which CEL
// does not mix with whole numbers, but here `input.age + 1` and `input.age == 1` work.

package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/verifyd/verifyd/verification"
)

// firstInexact is the smallest positive integer whose successor a double cannot represent: 2^53. From
// it on, whole numbers of JSON are ints and uints: see decision 0041.
const firstInexact = 1 << 53

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
		declared := []cel.FunctionOpt{
			cel.Overload(name+"double_int", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType),
			cel.Overload(name+"int_double", []*cel.Type{cel.IntType, cel.DoubleType}, cel.DoubleType),
			cel.SingletonBinaryBinding(func(a, b ref.Val) ref.Val {
				return calculate(name, a, b, standardBinding.Binary)
			}, standardBinding.OperandTrait),
		}
		for _, o := range standard.OverloadDecls() {
			declared = append(declared, decls.Overload(o.ID(), o.ArgTypes(), o.ResultType()))
		}
		opts = append(opts, cel.Function(name, declared...))
	}
	return opts, nil
}

// calculate applies an operator, which is exact for whole numbers. A result beyond 64 bits
// is an error, and a fraction is the nearest double.
func calculate(name string, a, b ref.Val, standard func(a, b ref.Val) ref.Val) ref.Val {
	if a.Type() == types.DoubleType && b.Type() == types.DoubleType {
		if d, ok := standard(a, b).(types.Double); ok && math.Abs(float64(d)) < firstInexact {
			return d // the usual case
		}
	}
	x, y := exactOf(a), exactOf(b)
	if x == nil || y == nil {
		return standard(sameType(a, b))
	}
	large := outside(x) || outside(y)
	if a.Type() == b.Type() && a.Type() != types.DoubleType && name != operators.Divide {
		if v := standard(a, b); !types.IsError(v) || !large {
			return v
		}
		// A result of two large numbers of JSON may be of another type, as 2^63 - (2^63 + 1) is.
	}
	switch {
	case name == operators.Divide && (!large || y.Sign() == 0):
		return standard(sameType(a, b))
	case name == operators.Divide:
		if new(big.Int).Rem(x, y).Sign() != 0 {
			nearest, _ := new(big.Rat).SetFrac(x, y).Float64()
			return types.Double(nearest)
		}
		x.Quo(x, y)
	case name == operators.Add:
		x.Add(x, y)
	case name == operators.Subtract:
		x.Sub(x, y)
	case name == operators.Multiply:
		x.Mul(x, y)
	}
	switch {
	case !outside(x):
		return types.Double(x.Int64())
	case x.IsInt64():
		return types.Int(x.Int64())
	case x.IsUint64():
		return types.Uint(x.Uint64())
	}
	return types.Int(math.MaxInt64).Add(types.IntOne) // CEL's error of an overflow
}

// exactOf returns the whole number that a value is; nil for another value, and for a double
// from firstInexact on, which may have been rounded.
func exactOf(v ref.Val) *big.Int {
	switch v := v.(type) {
	case types.Int:
		return big.NewInt(int64(v))
	case types.Uint:
		return new(big.Int).SetUint64(uint64(v))
	case types.Double:
		if math.Abs(float64(v)) < firstInexact && float64(v) == math.Trunc(float64(v)) {
			return big.NewInt(int64(v))
		}
	}
	return nil
}

// outside reports whether a double could not tell a whole number from its neighbours.
func outside(n *big.Int) bool {
	return !n.IsInt64() || n.Int64() <= -firstInexact || n.Int64() >= firstInexact
}

// sameType returns two doubles for a double and a whole number, and any other values
// unchanged.
func sameType(a, b ref.Val) (ref.Val, ref.Val) {
	if a.Type() == types.DoubleType && (b.Type() == types.IntType || b.Type() == types.UintType) {
		return a, b.ConvertToType(types.DoubleType)
	}
	if b.Type() == types.DoubleType && (a.Type() == types.IntType || a.Type() == types.UintType) {
		return a.ConvertToType(types.DoubleType), b
	}
	return a, b
}

// conversions returns the functions that convert to a number or a string. Those of CEL look
// at the declared type of a number, which is double also where its value is an int.
func conversions() ([]cel.EnvOption, error) {
	to := map[string]ref.Type{
		overloads.TypeConvertInt: types.IntType, overloads.TypeConvertUint: types.UintType,
		overloads.TypeConvertDouble: types.DoubleType, overloads.TypeConvertString: types.StringType,
	}
	var opts []cel.EnvOption
	for _, standard := range stdlib.Functions() {
		kind, ok := to[standard.Name()]
		if !ok {
			continue
		}
		declared := []cel.FunctionOpt{cel.SingletonUnaryBinding(func(v ref.Val) ref.Val {
			if d, ok := v.(types.Double); ok && kind == types.StringType {
				return textOf(d)
			}
			return v.ConvertToType(kind)
		})}
		for _, o := range standard.OverloadDecls() {
			declared = append(declared, decls.Overload(o.ID(), o.ArgTypes(), o.ResultType()))
		}
		opts = append(opts, cel.Function(standard.Name(), declared...))
	}
	if len(opts) != len(to) {
		return nil, fmt.Errorf("there are %d conversions, want %d", len(opts), len(to))
	}
	return opts, nil
}

// textOf returns a double as JSON writes it.
func textOf(d types.Double) ref.Val {
	text, err := asText(float64(d))
	if err != nil {
		return d.ConvertToType(types.StringType) // not finite
	}
	return types.String(text)
}

// numberOf returns a number of JSON: a double if it is below firstInexact or has a
// fraction, and else an int or a uint. Whole numbers are thus exact, and a number below
// firstInexact is a double whether it has a fraction or not.
func numberOf(n json.Number) ref.Val {
	v, err := verification.ParseNumber(n)
	if err != nil {
		return types.WrapErr(errDigits)
	}
	switch v := v.(type) {
	case int64:
		if v <= -firstInexact || v >= firstInexact {
			return types.Int(v)
		}
		return types.Double(v)
	case uint64:
		return types.Uint(v)
	case float64:
		return types.Double(v)
	}
	return types.WrapErr(errDigits)
}

// errDigits is returned for a number that cannot be read without a loss of digits.
var errDigits = errors.New("has more than 64 bits, so it cannot be read exactly")

// numberVal returns a number of JSON as numberOf does, and null for any other value.
func numberVal(v any) ref.Val {
	if n, ok := v.(json.Number); ok {
		return numberOf(n)
	}
	return types.NullValue
}

// literalOf returns a literal whole number as an argument beside a double. A double has
// the same value below firstInexact.
func literalOf(build ast.ExprFactory, id int64, v ref.Val) ast.Expr {
	if n := exactOf(v); outside(n) {
		return build.NewCall(id, overloads.TypeConvertDyn, build.NewLiteral(id+1<<40, v))
	}
	return build.NewLiteral(id, v.ConvertToType(types.DoubleType))
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
				if t := arg.AsLiteral().Type(); t == types.IntType || t == types.UintType {
					arg.SetKindCase(literalOf(build, arg.ID(), arg.AsLiteral()))
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
