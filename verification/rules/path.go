// Path: the edges of a definition that a run went along.

package rules

import "github.com/verifyd/verifyd/verification"

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
// run was at before them: empty for a whole history, or Run.Wait.Node of the run before
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
	at, on, leaving, event := from, "", false, 0
	leave := func(why string) { on, leaving = why, true }
	arrive := func(id verification.NodeID) {
		if leaving {
			f(event, Transition{From: at, To: id, On: on})
		}
		at, on, leaving = id, "", false
	}
	for i, e := range events {
		event = i
		switch f := e.Fact.(type) {
		case Started:
			leave("")
		case ResultRecorded:
			if f.Passed {
				leave("next")
			} else {
				leave("failed")
			}
		case ResultUnavailable:
			leave("unavailable")
		case CustomerSubmitted:
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
