// The decision and the notes of reviewers, in a report for the file.

package pdf

import (
	"cmp"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

// decision is the verdict in a report for the file: each verdict and proposal, the last one
// first, with its person, time and notes.
func (l *layout) decision(r report.Print) []block {
	var blocks []block
	if len(r.Judgements) == 0 {
		word, t := decisionWord(r.Decision)
		return append(l.toned(t, word, nil), space(3.5))
	}
	for i, j := range slices.Backward(r.Judgements) {
		word, t := decisionWord(j.Decision)
		later := i < len(r.Judgements)-1
		switch {
		case j.Kind == report.JudgementReturn && j.Decision == rules.DecisionNone:
			word, t = "The proposal was sent back", toneNeutral()
		case j.Kind == report.JudgementReturn:
			word, t = "The proposal was sent back: "+strings.ToLower(word), toneNeutral()
		case j.Kind == report.JudgementProposal:
			word, t = "Proposed: "+strings.ToLower(word), toneNeutral()
		case later:
			word, t = "Earlier verdict: "+strings.ToLower(word), toneNeutral()
		case i > 0 && r.Judgements[i-1].Kind == report.JudgementProposal && r.Judgements[i-1].Person() != j.Person():
			word += ", confirmed by a second person"
		}
		facts := [][2]string{{"By", cmp.Or(j.By, "A client of the API")}, {"On", l.time(j.At)}}
		if j.ReasonLabel != "" {
			facts = append(facts, [2]string{"Reason", j.ReasonLabel})
		}
		blocks = append(blocks, l.toned(t, word, facts)...)
		notes := j.Notes
		if notes == "" && j.ReasonLabel == "" {
			notes = "No reason was given."
		}
		if notes != "" {
			blocks = append(blocks, l.tonedText(t, notes)...)
		}
		blocks = append(blocks, space(2))
	}
	return append(blocks, space(1.5))
}

// remarks are the notes of reviewers in a report for the file, oldest first.
func (l *layout) remarks(all []report.Remark) (blocks []block) {
	for _, n := range all {
		title := "Note"
		if n.EscalatedTo != "" {
			title = "Escalated to " + n.EscalatedTo
		}
		blocks = append(blocks, l.toned(toneNeutral(), title, [][2]string{{"By", n.By}, {"On", l.time(n.At)}})...)
		blocks = append(append(blocks, l.tonedText(toneNeutral(), n.Notes)...), space(2))
	}
	return blocks
}

func decisionWord(d rules.Decision) (string, tone) {
	switch d {
	case rules.DecisionApprove:
		return "Approved", toneGood()
	case rules.DecisionReject:
		return "Rejected", toneBad()
	case rules.DecisionReview:
		return "Review owed", toneCaution()
	case rules.DecisionNone:
	}
	return "No verdict was needed", toneNeutral()
}
