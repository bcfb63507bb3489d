// Briefs: what the review queue says of the subject of a run.

package facts

import (
	"cmp"

	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// BriefOf returns whom a run is about, and the facts on which its sources differ, each with the
// first value that differs. See SubjectOf and Of.
func BriefOf(p workflow.Program, r rules.Run) (subject rules.Subject, differing []rules.Differing) {
	values := r.FactValues(p)
	facts := factsOf(p, r, values, nil, nil)
	for _, row := range facts.Rows {
		for _, c := range row.Cells {
			if c.Differs {
				source := facts.Sources[c.Source]
				differing = append(differing, rules.Differing{
					Fact: row.Fact, Source: cmp.Or(source.Label, string(source.Node)), Value: c.Text,
				})
				break
			}
		}
	}
	return subjectOf(p, r, values), differing
}
