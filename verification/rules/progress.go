// Progress: how far the customer has come.

package rules

import (
	"slices"

	"github.com/verifyd/verifyd/verification/workflow"
)

// Progress counts the steps that ask the customer for something: done is the number
// of those that the customer has completed; total adds those that may still follow,
// on every branch that is still possible.
func (r Run) Progress(p workflow.Program) (done, total int) {
	interactive := func(t workflow.NodeType) bool { return t == workflow.NodeConsent || t == workflow.NodeCustomerInput }
	for _, s := range r.Steps {
		if interactive(s.Type) && s.finished() {
			done++
		}
	}
	total = done
	if r.Wait.Kind == WaitNothing {
		return done, total
	}
	def := p.Version.Definition
	reachable := def.Reach(r.Wait.Node, nil)
	for id, n := range def.Nodes {
		ahead := id == r.Wait.Node || slices.Contains(reachable, id)
		if s, reached := r.Step(id); ahead && interactive(n.Type) && (!reached || !s.finished()) {
			total++
		}
	}
	return done, total
}
