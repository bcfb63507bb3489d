// The table on the run page that says what to do about a status, a decision and an outcome.

package runpage

import (
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification/rules"
)

// guideRow is a line of the table.
type guideRow struct {
	Status, Decision, Outcome, Do string

	Here bool // the line holds for the run of the page
}

// guideLine says for which runs a line of the table holds.
type guideLine struct {
	key       string // of the message "guide.do." and the key
	statuses  []rules.Status
	decisions []rules.Decision
	outcome   guideOutcome
}

// guideOutcome is the end of the key of the message "guide.outcome.".
type guideOutcome string

const (
	anyOutcome   guideOutcome = "any"
	namedOutcome guideOutcome = "named"
	noOutcome    guideOutcome = "none"
)

// guideLines are the table "What you do" of docs/api.md, in its order.
func guideLines() []guideLine {
	live := []rules.Status{rules.StatusInProgress, rules.StatusAbandoned}
	completed := []rules.Status{rules.StatusCompleted}
	broken := []rules.Status{rules.StatusFailed, rules.StatusExpired, rules.StatusCancelled}
	none := []rules.Decision{rules.DecisionNone}
	review := []rules.Decision{rules.DecisionReview}
	approve := []rules.Decision{rules.DecisionApprove}
	reject := []rules.Decision{rules.DecisionReject}
	verdict := []rules.Decision{rules.DecisionApprove, rules.DecisionReject}
	return []guideLine{
		{"wait", live, none, noOutcome},
		{"decide", live, review, noOutcome},
		{"continues", live, verdict, noOutcome},
		{"outcome", completed, none, namedOutcome},
		{"steps", completed, none, noOutcome},
		{"open", completed, review, noOutcome},
		{"accept", completed, approve, anyOutcome},
		{"refuse", completed, reject, anyOutcome},
		{"again", broken, none, noOutcome},
		{"follow", broken, verdict, noOutcome},
	}
}

// holds reports whether a line holds for a run.
func (l guideLine) holds(report rules.Report) bool {
	return slices.Contains(l.statuses, report.Run.Status) && slices.Contains(l.decisions, report.Decision) &&
		(l.outcome == anyOutcome || (l.outcome == namedOutcome) == (report.Run.Outcome != ""))
}

// guideOf returns the table, with the line that holds for a run marked.
func guideOf(s shell.Session, report rules.Report) (rows []guideRow) {
	for _, line := range guideLines() {
		var statuses, decisions []string
		for _, status := range line.statuses {
			statuses = append(statuses, s.Say("status."+string(status)))
		}
		for _, decision := range line.decisions {
			decisions = append(decisions, s.DecisionBadge(decision).Text)
		}
		rows = append(rows, guideRow{
			Status: strings.Join(statuses, ", "), Decision: strings.Join(decisions, ", "),
			Outcome: s.Say("guide.outcome." + string(line.outcome)), Do: s.Say("guide.do." + line.key), Here: line.holds(report),
		})
	}
	return rows
}
