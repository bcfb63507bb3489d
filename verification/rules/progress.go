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
	w := r.Wait()
	if w.Kind == WaitNothing {
		return done, total
	}
	def := p.Version.Definition
	at, element, _ := w.Node.Parts()
	reachable := def.Reach(at, nil)
	for id, n := range def.Nodes {
		if !interactive(n.Type) || id != at && !slices.Contains(reachable, id) {
			continue
		}
		s, reached := r.Step(id)
		g, began := r.Group(id)
		switch {
		case id == at && element > 0:
			total += g.Elements - element + 1
		case reached && s.finished(), began && g.Status != StepRunning:
		default:
			total++
		}
	}
	return done, total
}
