// Judgements and remarks: what reviewers said about a run.

package report

import (
	"cmp"
	"time"

	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Remark is a note of a reviewer.
type Remark struct {
	Notes, By   string
	At          time.Time
	EscalatedTo string // the team that was asked; empty for a note on its own
}

// Judgement is what a reviewer said about a run.
type Judgement struct {
	Kind JudgementKind
	rules.Verdict
	// ReasonLabel is the label of the reject reason, or its code if the workflow has none of
	// that code; empty for no reason.
	ReasonLabel string
}

// JudgementKind says what a reviewer did.
type JudgementKind string

// The kinds of judgements.
const (
	JudgementVerdict  JudgementKind = "verdict"  // the verdict on the run
	JudgementProposal JudgementKind = "proposal" // a verdict that another reviewer must confirm
	JudgementReturn   JudgementKind = "return"   // a proposal was sent back; its Decision may be empty
)

// judgements returns what reviewers said, oldest first.
func judgements(p workflow.Program, history []rules.Event) (all []Judgement) {
	for _, e := range history {
		j := Judgement{}
		switch f := e.Fact.(type) { //nolint:gochecksumtype // only these are judgements
		case rules.VerdictRecorded:
			j.Kind, j.Verdict = JudgementVerdict, verdictOf(f)
		case rules.VerdictProposed:
			j.Kind, j.Verdict = JudgementProposal, verdictOf(rules.VerdictRecorded(f))
		case rules.ProposalReturned:
			j.Kind = JudgementReturn
			j.Verdict = rules.Verdict{Node: f.Node, Decision: f.Decision, Reason: f.Reason, Notes: f.Notes, By: f.By, Identity: f.Identity}
		default:
			continue
		}
		j.At = e.At
		reason, _ := p.Version.Definition.RejectReason(j.Reason)
		j.ReasonLabel = cmp.Or(reason.Label, j.Reason)
		all = append(all, j)
	}
	return all
}

func verdictOf(f rules.VerdictRecorded) rules.Verdict {
	return rules.Verdict{Node: f.Node, Decision: f.Decision, Reason: f.Reason, Notes: f.Notes, By: f.By, Identity: f.Identity}
}

// remarks returns the notes apart from verdicts, oldest first.
func remarks(history []rules.Event) (all []Remark) {
	for _, e := range history {
		switch f := e.Fact.(type) { //nolint:gochecksumtype // only these are remarks
		case rules.NoteAdded:
			all = append(all, Remark{Notes: f.Notes, By: f.By, At: e.At})
		case rules.Assigned:
			if f.Notes != "" {
				all = append(all, Remark{Notes: f.Notes, By: f.By, At: e.At, EscalatedTo: f.To.Team})
			}
		}
	}
	return all
}
