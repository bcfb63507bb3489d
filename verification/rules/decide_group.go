// Decide for groups of checks, and for the elements of a list.

package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// begin brings the run to a check, a group of checks or a step of its customer. ok is true if it goes on to another node at
// once.
func (d *decision) begin(id verification.NodeID, n workflow.Node) (next verification.NodeID, ok bool) {
	switch {
	case n.ForEach != "":
		return d.beginEach(id, n)
	case n.Type == workflow.NodeChecks:
		if !d.beginGroup(id, n) {
			return "", false
		}
		return d.leaveGroup(id, n)
	case n.Asks():
		d.await(id, n)
	default:
		d.dispatch(id, n, n.Provider, true)
	}
	return "", false
}

// groupBegan records that the run came to a group.
func (d *decision) groupBegan(f GroupBegan) {
	old, _ := d.run.Group(f.Node)
	f.Visit = old.Visits + 1
	d.add(f)
}

// withoutMembers reports whether a visit of a group would call no member, because their conditions leave all of them out, of each
// element if it has for_each; and the values that say so. A group whose list is empty, too long or not to be had has a visit.
func (d *decision) withoutMembers(id verification.NodeID, n workflow.Node) (seen map[string]any, out bool) {
	if !n.Spares() {
		return nil, false
	}
	if n.ForEach == "" {
		return d.leavesOut(id, n)
	}
	items, err := d.program.Elements(id, d.run.scope())
	if err != nil || len(items) == 0 || len(items) > n.MaxElements() {
		return nil, false
	}
	began := GroupBegan{Node: id, Type: n.Type, Each: true, Elements: len(items)}
	if began.Items, err = verification.NewData(map[string]any{itemsField: items}); err != nil {
		return nil, false
	}
	trial, seen := d.supposing(began), map[string]any{}
	for i := range items {
		read, out := trial.leavesOut(id.Element(i+1), n)
		if !out {
			return nil, false
		}
		maps.Copy(seen, read)
	}
	return seen, true
}

// leavesOut reports whether a visit of a group, or of an element that is one, would call no member, and the values that say so.
func (d *decision) leavesOut(group verification.NodeID, n workflow.Node) (seen map[string]any, out bool) {
	if !n.Spares() {
		return nil, false
	}
	trial := d.supposing(GroupBegan{Node: group, Type: n.Type})
	seen, scope := map[string]any{}, trial.run.scopeAt(group)
	for _, m := range n.Members {
		condition := d.program.When(group.Member(m.Name))
		if condition == nil {
			return nil, false
		}
		holds, read, err := condition.Holds(scope)
		if err != nil || holds {
			return nil, false
		}
		maps.Copy(seen, read)
	}
	return seen, true
}

// supposing returns a decision on the run as it would be after a group begins.
func (d *decision) supposing(f GroupBegan) *decision {
	trial, run := *d, *d.run
	run.own = ownership{}
	trial.run = &run
	run.evolve(Event{At: d.now, Fact: f})
	return &trial
}

// beginEach begins the elements of a node with for_each.
func (d *decision) beginEach(id verification.NodeID, n workflow.Node) (next verification.NodeID, ok bool) {
	items, err := d.program.Elements(id, d.run.scope())
	if err != nil {
		d.abort(id, fmt.Sprintf("for_each: %v", err))
		return "", false
	}
	f := GroupBegan{Node: id, Type: n.Type, Label: n.Title(id), Each: true, Elements: len(items), Screens: screening(&d.program, n)}
	if n.Type == workflow.NodeCheck {
		f.Key = n.CheckKey(id)
	}
	if len(items) > n.MaxElements() {
		d.groupBegan(f)
		long := GroupDecided{Node: id, Type: n.Type, Data: verification.DataOf(map[string]any{fieldAnalysis: false, "elements": len(items)})}
		for _, m := range n.Members {
			member := id.Member(m.Name)
			long.Checks = append(long.Checks, workflow.CheckInfo{Key: m.Check().CheckKey(member), Label: d.label(member)})
		}
		d.add(long)
		return d.leaveGroup(id, n)
	}
	if len(items) > 0 {
		if f.Items, err = verification.NewData(map[string]any{itemsField: items}); err != nil {
			d.abort(id, fmt.Sprintf("for_each: %v", err))
			return "", false
		}
	}
	d.groupBegan(f)
	for i := range items {
		element := id.Element(i + 1)
		switch {
		case n.Asks(): // the customer comes to one element after the other
			d.await(element, n)
			return "", false
		case n.Type == workflow.NodeCheck:
			d.dispatch(element, n, n.Provider, true)
		default:
			if seen, out := d.leavesOut(element, n); out {
				d.skip(element, "", seen)
			} else if d.beginGroup(element, n); !d.live() {
				return "", false
			}
		}
	}
	if !d.decideEach(id, n) {
		return "", false
	}
	return d.leaveGroup(id, n)
}

// await parks the run on its customer.
func (d *decision) await(id verification.NodeID, n workflow.Node) {
	d.add(CustomerAwaited{Node: id, Type: n.Type, Label: d.label(id), Signal: n.SignalName(id)})
}

// beginGroup begins a visit of a group of checks, and reports whether it is decided at once.
func (d *decision) beginGroup(id verification.NodeID, n workflow.Node) (decided bool) {
	f := GroupBegan{Node: id, Type: n.Type, Label: d.label(id)}
	if _, element, _ := id.Parts(); element == 0 {
		f.Screens = screening(&d.program, n)
	}
	d.groupBegan(f)
	return d.callMembers(id, n) && d.decideGroup(id, n)
}

// callMembers calls the members of a group that have not been called on this visit: all, or the next one. It reports whether the
// run is still live.
func (d *decision) callMembers(id verification.NodeID, n workflow.Node) bool {
	for _, m := range n.Members {
		member := id.Member(m.Name)
		if g, _ := d.run.Group(id); g.has(d.run, member) {
			continue
		}
		visits, ok := d.visits(member, "")
		if !ok {
			return false
		}
		if !visits {
			continue
		}
		d.dispatch(member, m.Check(), m.Provider, true)
		if n.Called() == workflow.OrderOneByOne {
			break
		}
	}
	return true
}

// has reports whether a member was called or left out on the last visit.
func (g Group) has(r *Run, member verification.NodeID) bool {
	return slices.Contains(g.skipped, member) || g.onVisit(r.step(member))
}

// settled goes on after a member or an element has its answer, or will have none.
func (d *decision) settled(step verification.NodeID) {
	node, element, member := step.Parts()
	n, _ := d.program.Node(node)
	if member != "" && !d.decideGroup(groupOf(step), n) {
		return
	}
	if element > 0 && !d.decideEach(node, n) {
		return
	}
	if next, ok := d.leaveGroup(node, n); ok {
		goesTo(d, next)
	}
}

// members counts the members of a group on its last visit by what their answers say.
type members struct {
	confirmed, open, undetermined int
	called                        int // or yet to be called
	lacking                       []verification.NodeID
	waiting                       bool // for a member that was called
	screening                     bool // for one of them that screens
}

// count counts the members of a group. A member that is yet to be called is open.
func (d *decision) count(g Group, n workflow.Node) (c members) {
	for _, m := range n.Members {
		id := g.Node.Member(m.Name)
		s := d.run.step(id)
		switch {
		case !g.has(d.run, id):
			c.open++
		case !g.onVisit(s):
			continue // left out
		case !s.finished():
			c.open++
			c.waiting = true
			c.screening = c.screening || screens(d, id, m.Check())
		case s.unavailable:
			c.undetermined++
			c.lacking = append(c.lacking, id)
		case s.Confirms != nil && *s.Confirms:
			c.confirmed++
		}
		c.called++
	}
	return c
}

// decideGroup decides a group of checks as far as the answers of its members do, whichever came first, and calls the next
// member if it has one. The answer of a member that screens is awaited once it was called. It reports whether the group is
// decided.
func (d *decision) decideGroup(id verification.NodeID, n workflow.Node) bool {
	for { // each turn calls or leaves out a member
		g, _ := d.run.Group(id)
		c := d.count(g, n)
		need := int(n.Need)
		if n.Need == workflow.NeedAll {
			need = max(1, c.called)
		}
		met, cannot := c.confirmed >= need, c.confirmed+c.open+c.undetermined < need
		unavailable := c.confirmed+c.open < need && c.confirmed+c.undetermined >= need
		if !met && !cannot && !unavailable || c.waiting && n.Finish == workflow.FinishAll || c.screening {
			if c.waiting || !d.callMembers(id, n) {
				return false
			}
			continue
		}
		leaveOutScreenings(d, id, n)
		f := GroupDecided{Node: id, Type: n.Type, Passed: met, Unavailable: unavailable}
		to := n.OnNotMet
		if f.Unavailable {
			to = n.OnUnavailable
		}
		if _, goesOn := n.Leads(to); goesOn && !met {
			f.Lacking = c.lacking
		}
		d.add(f)
		return true
	}
}

// decideEach decides a node with for_each once every element is, and comes to the next element of a form. It reports
// whether the node is decided.
func (d *decision) decideEach(id verification.NodeID, n workflow.Node) bool {
	g, _ := d.run.Group(id)
	f := GroupDecided{Node: id, Type: n.Type, Passed: true}
	failed := false
	for i := range g.Elements {
		element := id.Element(i + 1)
		status, unavailable := StepRunning, false
		if slices.Contains(g.skipped, element) {
			continue
		}
		if n.Type == workflow.NodeChecks {
			if sub, _ := d.run.Group(element); sub.began > g.began {
				status, unavailable = sub.Status, sub.Unavailable
			}
		} else if s := d.run.step(element); g.onVisit(s) && s.finished() {
			status, unavailable = s.Status, s.unavailable
		} else if s == nil || !g.onVisit(s) {
			d.await(element, n) // the next element of a form
		}
		if status == StepRunning {
			return false
		}
		f.Passed = f.Passed && status == StepPassed
		f.Unavailable = f.Unavailable || unavailable
		failed = failed || status == StepFailed && !unavailable
	}
	f.Unavailable = f.Unavailable && !failed
	d.add(f)
	return true
}

// leaveGroup returns where a run goes from a node whose group is decided. ok is false if the run ends.
func (d *decision) leaveGroup(id verification.NodeID, n workflow.Node) (next verification.NodeID, ok bool) {
	g, _ := d.run.Group(id)
	key := d.failing(g, n)
	to, failure := n.OnFailed, notPassed(key)
	if n.Type == workflow.NodeChecks {
		to = n.OnNotMet
	}
	if g.Unavailable {
		to, failure = n.OnUnavailable, unanswered(key)
	}
	if g.Status == StepPassed || n.Type == workflow.NodeCustomerInput {
		return n.Next, true
	}
	if next, ok = n.Leads(to); !ok {
		d.add(Failed{Node: id, Error: failure})
	}
	return next, ok
}

// failing returns the key of the check that kept a group from passing: of the first member, in the order of the file, that has failed or,
// if none has, that does not confirm or has no answer. Of a group that is unavailable, it is the first one without an answer.
func (d *decision) failing(g Group, n workflow.Node) string {
	if n.Type != workflow.NodeChecks {
		return n.CheckKey(g.Node)
	}
	answers, first := d.run.called(g), 0
	if g.Unavailable {
		first = 2
	}
	for _, is := range []func(s *Step) bool{
		func(s *Step) bool { return s.Status == StepFailed && s.Confirms != nil && !*s.Confirms },
		func(s *Step) bool { return s.Confirms != nil && !*s.Confirms },
		func(s *Step) bool { return s.unavailable },
		func(*Step) bool { return true },
	}[first:] {
		for _, m := range n.Members {
			key := m.Check().CheckKey(g.Node.Member(m.Name))
			if slices.ContainsFunc(answers, func(s *Step) bool { return s.Key == key && is(s) }) {
				return key
			}
		}
	}
	return n.Members[0].Check().CheckKey(g.Node.Member(n.Members[0].Name)) // no member was called
}

// notPassed returns the error of a run whose check did not pass.
func notPassed(key string) RunError {
	return RunError{Code: CodeCheckFailed, Check: key, Message: "The check " + key + " did not pass."}
}

// unanswered returns the error of a run whose check has no answer.
func unanswered(key string) RunError {
	return RunError{Code: CodeCheckUnavailable, Check: key, Message: "The source of the check " + key + " gave no answer."}
}

// label returns the label of a step: that of its node, with the number of the element and the member.
func (d *decision) label(id verification.NodeID) string {
	node, element, _ := id.Parts()
	def := &d.program.Version.Definition
	if element == 0 {
		return def.Label(id)
	}
	g, _ := d.run.Group(node)
	of := def.Label(node)
	return workflow.ElementLabel(of, element, g.Elements) + strings.TrimPrefix(def.Label(id.InDefinition()), of)
}

// confirms returns whether the answer of a member of a group confirms: what is recorded of it, and its data as the source said it. ok is
// false if that cannot be told, and the run has failed.
func (d *decision) confirms(f ResultRecorded, status StepStatus, said verification.Data) (_ *bool, ok bool) {
	yes := status == StepPassed
	if until := d.program.Until(f.Node); until != nil {
		step, _ := d.run.Step(f.Node)
		step.Status, step.Data, step.Screening, step.flags = status, said, f.Screening, reasonsOf(f.Data, f.Screening)
		_, _, name := f.Node.Parts()
		scope, member := d.run.scopeAt(f.Node), step.values(verification.NodeID(name))
		scope.Member = &member
		holds, _, err := until.Holds(scope)
		if err != nil {
			d.abort(f.Node, fmt.Sprintf("until: %v", err))
			return nil, false
		}
		yes = holds
	}
	return &yes, true
}
