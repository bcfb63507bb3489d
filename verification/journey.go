// Where a customer is on the way.

package verification

// Progress counts the steps that ask the customer something: those that the
// run has behind it, and all that it may come to, those included. Where the
// way branches, the total counts every branch that is still open.
func (p Program) Progress(r Run) (done, total int) {
	asks := func(t NodeType) bool { return t == NodeConsent || t == NodeCustomerInput }
	for _, s := range r.Steps {
		if asks(s.Type) && !s.CompletedAt.IsZero() {
			done++
		}
	}
	total = done
	if r.Wait.Kind == WaitNothing {
		return done, total
	}
	v := &validator{def: p.Version.Definition}
	ahead := v.reach(r.Wait.Node, nil)
	ahead[r.Wait.Node] = true
	for id := range ahead {
		if s, reached := r.Step(id); asks(v.def.Nodes[id].Type) && (!reached || s.CompletedAt.IsZero()) {
			total++
		}
	}
	return done, total
}
