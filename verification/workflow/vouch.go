// Vouched values: values that decide in a customer's favour do not come from the customer.

package workflow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// sourced is a Template that says which steps its values come from.
type sourced interface {
	// StepsRead returns the steps that the expressions in a field of the object read, in
	// conditions too.
	StepsRead(field string) []verification.NodeID
}

// vouched reports the values of a check that come from a customer's form although the
// provider wants a source to vouch for them. The schema of `with` says which ones by
// "x-vouched": {"fields": F, "unless": U}: F and U are fields of `with`, F lists the fields
// to vouch for, and the rule does not hold if U is true. Data of checks counts as vouched for,
// whatever they were asked.
func (v *validator) vouched(id verification.NodeID, n Node, t Template) {
	at, with := nodePath(id)+".with", n.With.Map()
	node, _, _ := id.Parts()
	for _, provider := range slices.Compact([]string{n.Provider, n.Fallback}) {
		rule := DataSchema(v.described[provider].With.Map()).sub("x-vouched")
		listed := with[rule.text("fields")]
		if unless, _ := with[rule.text("unless")].(bool); unless || listed == nil {
			continue
		}
		names, ok := listed.([]any)
		ok = ok && !slices.ContainsFunc(names, func(name any) bool { return strings.Contains(fmt.Sprint(name), "${") })
		if !v.check(at+"."+rule.text("fields"), ok, "must be a list without ${...}, because it says which values a source must vouch for") {
			continue
		}
		for _, name := range names {
			steps, field := []verification.NodeID{}, fmt.Sprint(name)
			if sourced, ok := t.(sourced); ok {
				steps = sourced.StepsRead(field)
			}
			if strings.Contains(fmt.Sprint(with[field]), "item") {
				steps = append(steps, v.listed[node]...) // it is, or may be, the element of the list of for_each
			}
			v.vouchedField(at, field, rule, steps)
		}
	}
}

func (v *validator) vouchedField(at, name string, rule DataSchema, steps []verification.NodeID) {
	for _, step := range steps {
		if v.def.Nodes[step].Type == NodeCustomerInput {
			v.problem(at+"."+name, "is what the customer says in the step %s, and no source vouches for it: "+
				"take it from a check or from the input of the run, remove it from %s, or set %s to true", step, rule.text("fields"), rule.text("unless"))
		}
	}
}
