// The environment that every expression is compiled in, and its bounds.

package expression

import (
	"math"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// The bounds of one expression. A unit of cost takes about 50 ns.
const (
	maxExpression  = 10_000    // characters of its text
	maxNodes       = 4_000     // nodes of its tree, after macros
	maxNesting     = 100       // brackets and operators inside each other
	maxRegexp      = 1_000     // instructions of a regular expression
	maxEstimate    = 500_000   // cost that it could come to, with the sizes assumed below
	maxCost        = 500_000   // cost of one evaluation
	maxTotalCost   = 5_000_000 // cost of the evaluations of one template
	maxElements    = 500_000   // elements of the largest value that it builds
	maxValue       = 1 << 20   // bytes of what a template renders, or a condition records
	maxText        = 100_000   // bytes of a text that it puts together
	assumedString  = 1_000     // characters, where no declaration says
	assumedList    = 100       // items, where no declaration says
	assumedUnknown = 1_000     // of a value of unknown type, with all that is in it
)

// cel-go hands these two errors out to every program and writes the place of
// the first failure into them. With a place given before anything runs it only
// ever reads them, so that programs can fail side by side.
var (
	errNoOverload   = placed(types.NoSuchOverloadErr())
	errTimeOverflow = placed(types.Int(math.MaxInt64).ConvertToType(types.TimestampType))
)

func placed(shared ref.Val) error {
	if err, ok := types.LabelErrNode(nowhere, shared).(*types.Err); ok {
		return err
	}
	return nil
}

// nowhere is the id of no node.
const nowhere = -1

func newBase() (*cel.Env, error) {
	var excluded []*env.Function
	for _, name := range operatorNames() {
		excluded = append(excluded, &env.Function{Name: name})
	}
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
	opts = append(opts, operators()...)
	opts = append(opts, functions()...)
	return cel.NewCustomEnv(opts...)
}
