// Path: the edges of a definition that a run went along.

package rules

import (
	"cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Transition is one move of a run from a node to the next.
type Transition struct {
	From verification.NodeID // empty for the start of the run
	To   verification.NodeID
	// On says why the run moved, as Route.On does: the condition of a rule, or else,
	// next, declined, failed, unavailable or reject. It is empty for the start.
	On string
}

// Transitions returns the moves of a run in order; a loop gives the same one several
// times. The events follow each other in the history, and from is the node that the
// run was at before them: empty for a whole history, or Run.Wait().Node of the run before
// them. Where a node has no route of its own for declined, failed, unavailable or
// reject, the run moved along its next.
func Transitions(from verification.NodeID, events []Event) []Transition {
	var all []Transition
	EachTransition(from, events, func(_ int, t Transition) { all = append(all, t) })
	return all
}

// EachTransition calls f with each move that Transitions returns, and the index of the event in which the run
// arrived.
func EachTransition(from verification.NodeID, events []Event, f func(event int, t Transition)) {
	at, _, _ := from.Parts()
	on, leaving, event := "", false, 0
	leave := func(why string) { on, leaving = why, true }
	arrive := func(id verification.NodeID) {
		if id, _, _ = id.Parts(); id == at && !leaving {
			return // it was there: another provider, member or element is called
		}
		if leaving {
			f(event, Transition{From: at, To: id, On: on})
		}
		at, on, leaving = id, "", false
	}
	for i, e := range events {
		event = i
		switch f := e.Fact.(type) { //nolint:gochecksumtype // the other facts do not move the run
		case Started:
			leave("")
		case ResultRecorded:
			if !alone(f.Node) {
				continue
			}
			if f.Passed {
				leave("next")
			} else {
				leave("failed")
			}
		case ResultUnavailable:
			if alone(f.Node) {
				leave("unavailable")
			}
		case GroupBegan:
			arrive(f.Node)
		case GroupDecided:
			if alone(f.Node) {
				leave(f.route())
			}
		case Skipped:
			if f.Next != "" {
				arrive(f.Node)
				leave(cmp.Or(f.On, "next"))
			}
		case AskedAgain:
			if !leaving { // a branch has its rule
				leave("ask again")
			}
		case CustomerSubmitted:
			if !alone(f.Node) {
				continue
			}
			if flagReasonsOf(f.Data).noConsent {
				leave("declined")
			} else {
				leave("next")
			}
		case VerdictRecorded:
			switch {
			case f.Node == "": // the run was over
			case f.Decision == DecisionReject:
				leave("reject")
			default:
				leave("next")
			}
		case BranchTaken:
			arrive(f.Node)
			if f.When == "" {
				leave("else")
			} else {
				leave(f.When)
			}
		case Dispatched:
			arrive(f.Node)
		case CustomerAwaited:
			arrive(f.Node)
		case ReviewAsked:
			arrive(f.Node)
		case Completed:
			arrive(f.Node)
		}
	}
}

// route returns the way out of the node, as Transition.On.
func (f GroupDecided) route() string {
	switch {
	case f.Passed || f.Type == workflow.NodeCustomerInput:
		return "next"
	case f.Unavailable:
		return "unavailable"
	case f.Type == workflow.NodeChecks:
		return "not met"
	}
	return "failed"
}

// alone reports whether a step is a node of the definition: no member of a group, and no element of a list.
func alone(step verification.NodeID) bool {
	node, _, _ := step.Parts()
	return node == step
}
