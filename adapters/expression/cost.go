// What an expression could cost, before it is accepted.

package expression

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
)

// bounded refuses an expression that could cost too much with values as long
// as their declarations allow, or as long as is assumed where they say nothing.
func (n *node) bounded(checked *cel.Ast) error {
	estimate, err := n.env.EstimateCost(checked, sizes{n.shapes.root}, cost.WithSizingStrategy(cost.DefaultSizingStrategy()))
	if err != nil {
		return fmt.Errorf("the cost of the expression cannot be foreseen: %s", oneLine(err.Error()))
	}
	if estimate.Max > maxEstimate {
		return fmt.Errorf("the expression could cost more than the limit of %d allows: nest fewer loops, or bound its lists and strings with maxItems and maxLength", maxEstimate)
	}
	return nil
}

// sizes tells the cost estimator how long values can be.
type sizes struct{ root *shape }

// EstimateCallCost leaves the functions to their own models.
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// EstimateSize bounds one value.
func (s sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	t := node.Type()
	if t.Kind() == types.DynKind && node.Expr() == nil && len(node.Path()) > 0 {
		return nil // asked for the parts of a value that has no known parts
	}
	var declared uint64
	if at := s.root.at(node.Path()); at != nil && len(node.Path()) > 0 {
		declared = at.most
	}
	return sizeOf(t, declared)
}

func sizeOf(t *types.Type, declared uint64) *cost.SizeEstimate {
	most := uint64(assumedUnknown)
	switch t.Kind() {
	case types.StringKind, types.BytesKind:
		most = assumedString
	case types.ListKind, types.MapKind:
		most = assumedList
	case types.OpaqueKind:
		if len(t.Parameters()) == 1 { // an optional value
			held := sizeOf(t.Parameters()[0], declared)
			size := cost.RangedSizeEstimate(1, 1+held.Max)
			size.Elem = held
			return &size
		}
	case types.BoolKind, types.DoubleKind, types.DurationKind, types.IntKind, types.NullTypeKind,
		types.TimestampKind, types.TypeKind, types.UintKind:
		most = 1
	}
	if declared > 0 {
		most = declared
	}
	size := cost.RangedSizeEstimate(0, most)
	return &size
}
