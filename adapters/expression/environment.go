// The environment that every expression is compiled in, and its bounds.

package expression

import (
	"math"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/verifyd/verifyd/verification"
)

// The bounds of one expression. A unit of cost takes about 50 ns.
const (
	maxExpression  = 10_000                    // characters of its text
	maxNodes       = 4_000                     // nodes of its tree, after macros
	maxNesting     = 100                       // brackets and operators inside each other
	maxRegexp      = 1_000                     // instructions of a regular expression
	maxEstimate    = 500_000                   // cost that it could come to, with the sizes assumed below
	maxCost        = 500_000                   // cost of one evaluation
	maxTotalCost   = 5_000_000                 // cost of the evaluations of one template
	maxElements    = 500_000                   // elements of the largest value that it builds
	maxDepth       = verification.MaxDepth + 5 // of a value that a loop reads: steps.owners.items[0].members.bureau.data
	maxValue       = 1 << 20                   // bytes of what a template renders, or a condition records
	maxText        = 100_000                   // bytes of a string that replace or join returns
	assumedString  = 1_000                     // characters, where no declaration says
	assumedList    = 100                       // items, where no declaration says
	assumedUnknown = 1_000                     // of a value of unknown type, with all that is in it
)

// safeErrors are the errors of an evaluation whose text holds no value of a run.
// cel-go shares two of them between all programs and writes the position of
// the first failure into them. With a position given before anything runs they
// are only ever read, so that programs can fail side by side.
var safeErrors = func() []error { //nolint:gochecknoglobals // errors, made before any program runs
	errs := []error{errLongString}
	for _, v := range []ref.Val{
		types.NoSuchOverloadErr(),
		types.Int(math.MaxInt64).ConvertToType(types.TimestampType), // timestamp overflow
		types.Int(math.MaxInt64).Add(types.Int(1)),                  // integer overflow
		types.Int(1).Divide(types.Int(0)),
		types.Int(1).Modulo(types.Int(0)),
	} {
		if err, ok := types.LabelErrNode(noNode, v).(*types.Err); ok {
			errs = append(errs, err)
		}
	}
	return errs
}()

// noNode is the id of no node of an expression.
const noNode = -1

func newEnvironment() (*cel.Env, error) {
	var excluded []*env.Function
	for _, name := range append(arithmetic(), overloads.TypeConvertInt, overloads.TypeConvertUint, overloads.TypeConvertDouble, overloads.TypeConvertString) {
		excluded = append(excluded, &env.Function{Name: name})
	}
	operators, err := mixedArithmetic()
	if err != nil {
		return nil, err
	}
	converting, err := conversions()
	if err != nil {
		return nil, err
	}
	operators = append(operators, converting...)
	opts := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(&env.LibrarySubset{ExcludeFunctions: excluded})),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.CostSizingStrategy(cost.AggregateSizingStrategy()),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ExpressionNodeLimit(maxNodes),
		cel.ParserRecursionLimit(maxNesting),
		cel.RegexProgramSizeLimit(maxRegexp),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		cel.EagerlyValidateDeclarations(true),
	}
	return cel.NewCustomEnv(append(append(opts, operators...), stringFunctions()...)...)
}
