// Branch conditions.

package expression

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/verifyd/verifyd/verification"
)

type condition struct{ *expression }

// Holds evaluates the condition. Seen has every path that it names and the run
// has a value for.
func (c condition) Holds(s verification.Scope) (holds bool, seen map[string]any, err error) {
	defer recovered(&err)
	r := newReading(&s)
	v, err := c.evaluate(r)
	if err != nil {
		return false, nil, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, nil, fmt.Errorf("a condition must be a boolean, and this is %s", typeWords(v.Type().TypeName()))
	}
	return bool(b), c.seen(r), nil
}

// evaluate runs the expression. It fails once the expressions of one reading
// cost more than they may together.
func (e *expression) evaluate(r *reading) (ref.Val, error) {
	if r.cost > maxTotalCost {
		return nil, errors.New("the expressions cost more together than the limit allows")
	}
	v, details, err := e.program.Eval(cel.Activation(r))
	if cost := details.ActualCost(); cost != nil {
		r.cost += *cost
	}
	if err != nil {
		return nil, e.failed(err, r)
	}
	return v, nil
}

// seen reads the paths of the expression once more, for the record. It leaves
// out what is not there, and what would make the record larger than maxValue.
func (e *expression) seen(r *reading) map[string]any {
	seen := make(map[string]any, len(e.reads))
	p := plainer{left: maxValue}
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
