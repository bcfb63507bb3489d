// Where a customer is on the way.

package verification

import "slices"

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

// Declined reports whether the run completed on a consent that its customer
// declined: no step but a review came after it.
func (r Run) Declined() bool {
	var last Step
	for _, s := range r.Steps {
		if s.Type != NodeReview && s.reached >= last.reached {
			last = s
		}
	}
	return r.Ended == StatusCompleted && last.Type == NodeConsent && last.Status == CheckFailed
}

// Checked reports whether a provider was called for the run.
func (r Run) Checked() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Dispatches > 0 })
}
