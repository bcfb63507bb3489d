// Numbers by check, reject reason and reviewer.

package desk

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// CheckNumbers are the numbers of a check. Checks of several workflows with the same id
// are added up.
type CheckNumbers struct {
	Node verification.NodeID
	// Label is that of the current version of the workflow in the query; Node if there is
	// none.
	Label string
	// Passed and Failed count the results; a check that a run visits twice counts twice.
	Passed, Failed int
	// Hits counts the screenings that found hits, also those of completed runs by later
	// versions of a list.
	Hits int
}

// ReasonNumbers counts the rejections with one reason.
type ReasonNumbers struct {
	// Reason is that of the current version of the workflow in the query. It has only a Code
	// if there is none.
	Reason workflow.RejectReason
	Count  int
}

// MaxReviewers is the maximum number of reviewers in Numbers by name.
const MaxReviewers = 50

// ReviewerNumbers count the verdicts of one reviewer. Under four eyes, the verdict is that
// of the reviewer who confirmed it.
type ReviewerNumbers struct {
	// Name is the name that was recorded with the verdicts, which is personal data. It is
	// empty for clients that name nobody.
	Name string
	// Others says that these are all reviewers beyond the first MaxReviewers.
	Others             bool
	Approved, Rejected int
}

// labelIn returns the label of a node or a member in a definition, or else its id in words.
func labelIn(d workflow.Definition, id verification.NodeID) string {
	if n, ok := d.Node(id); !ok || n.Label == "" {
		return strings.NewReplacer(".", ": ", "_", " ").Replace(string(id))
	}
	return d.Label(id)
}

func checkNumbers(current workflow.Definition, found measured) []CheckNumbers {
	checks := map[verification.NodeID]*CheckNumbers{}
	at := func(id verification.NodeID) *CheckNumbers {
		if checks[id] == nil {
			checks[id] = &CheckNumbers{Node: id, Label: labelIn(current, id)}
		}
		return checks[id]
	}
	for _, m := range found[store.MeasureChecked] {
		if p := m.Parts(); p.Passed {
			at(p.Node).Passed += sum(m.Counts)
		} else {
			at(p.Node).Failed += sum(m.Counts)
		}
	}
	for _, m := range found[store.MeasureHits] {
		at(m.Parts().Node).Hits += sum(m.Counts)
	}
	var all []CheckNumbers
	for _, c := range checks {
		all = append(all, *c)
	}
	most := map[verification.NodeID]CheckNumbers{} // of the members of each group
	for _, c := range all {
		group, _, _ := c.Node.Parts()
		m := most[group]
		most[group] = CheckNumbers{Node: group, Failed: max(m.Failed, c.Failed), Hits: max(m.Hits, c.Hits)}
	}
	order := func(a, b CheckNumbers) int {
		return cmp.Or(b.Failed-a.Failed, b.Hits-a.Hits, cmp.Compare(a.Node, b.Node))
	}
	slices.SortFunc(all, func(a, b CheckNumbers) int { // the members of a group stand together, below the group
		groupA, _, memberA := a.Node.Parts()
		groupB, _, memberB := b.Node.Parts()
		return cmp.Or(order(most[groupA], most[groupB]), min(len(memberA), 1)-min(len(memberB), 1), order(a, b))
	})
	return all
}

func reasonNumbers(current workflow.Definition, found measured) []ReasonNumbers {
	var all []ReasonNumbers
	for _, m := range found[store.MeasureVerdictReason] {
		code := m.Parts().Reason
		reason, known := current.RejectReason(code)
		if !known {
			reason.Code = code
		}
		all = append(all, ReasonNumbers{Reason: reason, Count: sum(m.Counts)})
	}
	slices.SortFunc(all, func(a, b ReasonNumbers) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Reason.Code, b.Reason.Code))
	})
	return all
}

func reviewerNumbers(found measured) []ReviewerNumbers {
	reviewers := map[string]ReviewerNumbers{}
	for _, m := range found[store.MeasureVerdictBy] {
		p := m.Parts()
		r := reviewers[p.By]
		r.Name = p.By
		if p.Decision == rules.DecisionApprove {
			r.Approved += sum(m.Counts)
		} else {
			r.Rejected += sum(m.Counts)
		}
		reviewers[p.By] = r
	}
	all := slices.SortedFunc(maps.Values(reviewers), func(a, b ReviewerNumbers) int {
		return cmp.Or(b.Approved+b.Rejected-a.Approved-a.Rejected, cmp.Compare(a.Name, b.Name))
	})
	if len(all) <= MaxReviewers {
		return all
	}
	others := ReviewerNumbers{Others: true}
	for _, r := range all[MaxReviewers:] {
		others.Approved += r.Approved
		others.Rejected += r.Rejected
	}
	return append(all[:MaxReviewers], others)
}
