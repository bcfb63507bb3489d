// The cost that an expression could have.

package expression

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
)

// bounded returns an error if the expression could cost more than the limit. A value
// counts with its declared maximum length, or with an assumed one.
func (n *node) bounded(checked *cel.Ast) error {
	estimate, err := n.env.EstimateCost(checked, sizes{n.shapes}, cost.WithSizingStrategy(cost.DefaultSizingStrategy()))
	if err != nil {
		return fmt.Errorf("the cost of the expression cannot be estimated: %s", oneLine(err.Error()))
	}
	if estimate.Max > maxEstimate {
		return fmt.Errorf("the expression could cost more than the limit of %d allows: nest fewer loops, or bound its lists and strings with maxItems and maxLength", maxEstimate)
	}
	return nil
}

// sizes estimates how long values can be.
type sizes struct{ *shapes }

// EstimateCallCost returns nil: functions have their own cost models.
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

func (s sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	t := node.Type()
	if t.Kind() == types.DynKind && node.Expr() == nil && len(node.Path()) > 0 {
		return nil // the items of a value of unknown type
	}
	var declared uint64
	if at := s.at(node.Path()); at != nil && len(node.Path()) > 0 {
		declared = at.limit
	}
	return sizeOf(t, declared)
}

func sizeOf(t *types.Type, declared uint64) *cost.SizeEstimate {
	limit := uint64(assumedUnknown)
	switch t.Kind() {
	case types.StringKind, types.BytesKind:
		limit = assumedString
	case types.ListKind, types.MapKind:
		limit = assumedList
	case types.OpaqueKind:
		if len(t.Parameters()) == 1 { // an optional value
			held := sizeOf(t.Parameters()[0], declared)
			size := cost.RangedSizeEstimate(1, 1+held.Max)
			size.Elem = held
			return &size
		}
	case types.BoolKind, types.DoubleKind, types.DurationKind, types.IntKind, types.NullTypeKind,
		types.TimestampKind, types.TypeKind, types.UintKind:
		limit = 1
	}
	if declared > 0 {
		limit = declared
	}
	size := cost.RangedSizeEstimate(0, limit)
	return &size
}
