// Numbers of the steps of a workflow, and of the transitions between them.

package desk

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// StepNumbers are the numbers of one step of a workflow, over all its versions. Without
// a workflow in the query there are none. They are in the order of the current version;
// steps that it does not have come last.
type StepNumbers struct {
	Node verification.NodeID
	// Type and Label are those of the current version or, if it does not have the step, of
	// the latest version that has it. Type is empty if that is not one of the latest 200.
	Type  workflow.NodeType
	Label string
	// Reached counts the visits of the step that began, Left those after which the run
	// went on, and Stopped those at which the run expired, was cancelled or failed.
	Reached, Left, Stopped int
}

// stepNumbers returns the numbers of the steps of a workflow.
func (d *Desk) stepNumbers(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID, current workflow.Definition,
	found measured,
) ([]StepNumbers, error) {
	steps, counted := map[verification.NodeID]*StepNumbers{}, map[int]bool{}
	at := func(id verification.NodeID) *StepNumbers {
		if steps[id] == nil {
			steps[id] = &StepNumbers{Node: id, Label: string(id)}
		}
		return steps[id]
	}
	for _, m := range found[store.MeasureTransition] {
		move, n := m.Parts().Transition, sum(m.Counts)
		at(move.To).Reached += n
		at(move.From).Left += n
		counted[m.Version] = true
	}
	for _, m := range found[store.MeasureStopped] {
		at(m.Parts().Node).Stopped += sum(m.Counts)
		counted[m.Version] = true
	}
	delete(steps, "") // the start
	order := map[verification.NodeID]int{}
	if current.Nodes != nil {
		for i, node := range current.BreadthFirst() {
			at(node).describe(current)
			order[node] = i + 1
		}
	}
	if err := d.describeFormer(ctx, t, id, steps, counted); err != nil {
		return nil, err
	}
	maps.DeleteFunc(steps, func(_ verification.NodeID, s *StepNumbers) bool {
		return s.Type == workflow.NodeBranch || s.Type == workflow.NodeEnd
	})
	return sortedSteps(steps, order), nil
}

// describe sets the type and the label of a step, if the definition has it.
func (s *StepNumbers) describe(d workflow.Definition) {
	n := d.Nodes[s.Node]
	s.Type, s.Label = n.Type, cmp.Or(n.Label, s.Label)
}

// describeFormer describes the steps that the current version does not have, by the latest
// of the versions that were counted.
func (d *Desk) describeFormer(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID,
	steps map[verification.NodeID]*StepNumbers, counted map[int]bool,
) error {
	isDescribed := func(s *StepNumbers) bool { return s.Type != "" }
	former := slices.DeleteFunc(slices.Collect(maps.Values(steps)), isDescribed)
	if len(former) == 0 {
		return nil
	}
	versions, err := d.store.Versions(ctx, t, id, store.PageQuery{Limit: store.MaxLimit})
	if err != nil {
		return err
	}
	for _, info := range versions.Data {
		if len(former) == 0 {
			break
		}
		if !counted[info.Number] {
			continue
		}
		v, err := d.store.Version(ctx, t, id, info.Hash)
		if err != nil {
			return err
		}
		for _, s := range former {
			s.describe(v.Definition)
		}
		former = slices.DeleteFunc(former, isDescribed)
	}
	return nil
}

// sortedSteps returns steps in an order, and those that have none last, by id.
func sortedSteps(steps map[verification.NodeID]*StepNumbers, order map[verification.NodeID]int) []StepNumbers {
	var all []StepNumbers
	for _, s := range steps {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b StepNumbers) int {
		last := len(order) + 1
		return cmp.Or(cmp.Or(order[a.Node], last)-cmp.Or(order[b.Node], last), cmp.Compare(a.Node, b.Node))
	})
	return all
}

// TransitionQuery selects the transitions of one version of a workflow.
type TransitionQuery struct {
	Workflow verification.WorkflowID
	Version  int // its number, 1 for the first
	// First and Last bound the days of the transitions; zero is no bound.
	First, Last store.Day
}

// TransitionCounts says how often the runs of a version moved from node to node.
type TransitionCounts struct {
	// Transitions counts by transition. A run that takes one twice counts twice.
	Transitions map[rules.Transition]int
	// Stopped counts the runs that expired, were cancelled or failed at a node.
	Stopped map[verification.NodeID]int
}

// TransitionCounts counts the transitions of the runs of a version.
func (d *Desk) TransitionCounts(ctx context.Context, t verification.TenantID, q TransitionQuery) (TransitionCounts, error) {
	if q.Last == 0 {
		q.Last = store.DayOf(d.time(), time.UTC) + 1 // every zone is at most a day ahead
	}
	found, err := d.store.Measures(ctx, t, store.MeasureQuery{
		Workflow: q.Workflow, Version: q.Version, First: q.First, Last: q.Last,
		Totals: []store.MeasureName{store.MeasureTransition, store.MeasureStopped},
	})
	if err != nil {
		return TransitionCounts{}, err
	}
	c := TransitionCounts{Transitions: map[rules.Transition]int{}, Stopped: map[verification.NodeID]int{}}
	for _, m := range found {
		if m.Name == store.MeasureTransition {
			c.Transitions[m.Parts().Transition] += sum(m.Counts)
		} else {
			c.Stopped[m.Parts().Node] += sum(m.Counts)
		}
	}
	return c, nil
}
