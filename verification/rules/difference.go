// Differences: a step is flagged if its facts differ from those of another step.

package rules

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The fields of a step's data about differences.
const (
	fieldAnalysis = "analysis_ok"
	fieldDiffers  = "differs"
)

// compared returns the data of an answer of a step, after which the run goes to another
// node: with the facts whose values now differ from it, as far as the workflow flags
// them. A value is not compared with one that the run is sure to replace: the step of that one is
// compared when the run has come to it again, or keeps its answer. to is empty if the run ends.
func (d *decision) compared(node verification.NodeID, status StepStatus, data verification.Data, to verification.NodeID) (_ verification.Data, differs bool) {
	if !d.compares() {
		return data, false
	}
	r := *d.run
	r.Steps = slices.Clone(r.Steps)
	if i := r.index(node); i >= 0 {
		r.Steps[i].Status, r.Steps[i].Data = status, data
	}
	facts := d.facts(func(_ string, kind workflow.FactKind, values []FactValue) bool {
		return d.differ(values, kind, node, to)
	}, &r)
	if facts == nil {
		return data, false
	}
	return differing(data, facts), true
}

// compares reports whether differences flag steps.
func (d *decision) compares() bool {
	return slices.ContainsFunc(d.program.Version.Definition.Compare, workflow.Comparison.Flags) && d.program.Facts() != nil
}

// facts returns the facts of a run that flag and of which differ says that they differ.
func (d *decision) facts(differ func(fact string, kind workflow.FactKind, values []FactValue) bool, r *Run) (all []string) {
	def := d.program.Version.Definition
	for i, values := range r.FactValues(d.program).Compared {
		if c := def.Compare[i]; c.Flags() && differ(c.Fact, def.KindOf(c, readsOf(values)), values) {
			all = append(all, c.Fact)
		}
	}
	return all
}

// comparedAnew compares the facts of the steps of a node whose answers stay in a round, as far as a value has changed in it.
func (d *decision) comparedAnew(id, to verification.NodeID) {
	d.anew(func(s *Step) bool { node, _, _ := s.Node.Parts(); return node == id }, func(s *Step, fact string, kind workflow.FactKind, values []FactValue) bool {
		return d.differ(values, kind, s.Node, to)
	})
}

// outdated compares the facts that differed at steps before the run comes to a node in a round: they no longer flag a step if
// all values agree by now.
func (d *decision) outdated(id verification.NodeID) {
	d.anew(func(s *Step) bool {
		node, _, _ := s.Node.Parts()
		return node != id && len(s.differs()) > 0
	}, func(s *Step, fact string, kind workflow.FactKind, values []FactValue) bool {
		return slices.Contains(s.differs(), fact) && d.differ(values, kind, s.Node, "")
	})
}

// anew compares facts of steps with an answer anew, as far as a value has changed in the present round.
func (d *decision) anew(of func(s *Step) bool, differ func(s *Step, fact string, kind workflow.FactKind, values []FactValue) bool) {
	began := d.run.round.began
	if began == 0 || !d.compares() {
		return
	}
	for i := range d.run.Steps {
		s := d.run.Steps[i]
		if !d.run.compares(&s) || !of(&s) {
			continue
		}
		before := s.differs()
		facts := d.facts(func(fact string, kind workflow.FactKind, values []FactValue) bool {
			if !slices.ContainsFunc(values, func(v FactValue) bool { return d.changed(v, began) }) {
				return slices.Contains(before, fact)
			}
			return differ(&s, fact, kind, values)
		}, d.run)
		if !slices.Equal(facts, before) {
			d.add(Compared{Node: s.Node, Differs: facts})
		}
	}
}

// changed reports whether a value is from a step that the run came to since its history had a length.
func (d *decision) changed(v FactValue, began int) bool {
	return slices.ContainsFunc(v.steps(), func(step verification.NodeID) bool {
		of, _, _ := step.Parts()
		return d.run.since(of, began)
	})
}

// compares reports whether the facts of a step are compared: of a check, a member of the last visit of its group, or a form,
// with an answer.
func (r *Run) compares(s *Step) bool {
	_, element, _ := s.Node.Parts()
	if group := groupOf(s.Node); group != "" {
		if g, _ := r.Group(group); !g.onVisit(s) {
			return false
		}
	}
	return element == 0 && s.finished() && (s.Type == workflow.NodeCheck || s.Type == workflow.NodeCustomerInput)
}

// differs returns the facts that flag a step.
func (s *Step) differs() (facts []string) {
	if !s.flags.analysisNotOK {
		return nil
	}
	jsontext.Each(s.Data, func(name, value []byte) {
		if string(name) == fieldDiffers && json.Unmarshal(value, &facts) != nil {
			facts = nil // it is from the source
		}
	})
	return facts
}

func (f Compared) fold(r *Run, _ time.Time) {
	r.withStep(f.Node, func(s *Step) { s.compared(f.Differs) })
}

// compared sets the facts that flag a step.
func (s *Step) compared(facts []string) {
	own := flagReasonsOf(s.Data).analysisNotOK
	if s.differs() != nil {
		own = s.doubted
	}
	s.doubted = own
	switch {
	case len(facts) > 0:
		s.Data = differing(s.Data, facts)
	case own:
		s.Data = withoutDifference(s.Data, [2]string{fieldAnalysis, "false"})
	case s.Type == workflow.NodeCheck:
		s.Data = withoutDifference(s.Data, [2]string{fieldAnalysis, "true"})
	default:
		s.Data = withoutDifference(s.Data)
	}
	flags := reasonsOf(s.Data, s.Screening)
	flags.recovered = s.flags.recovered
	s.flag(flags)
}

// differ reports whether a value that a step gave differs from another value of a fact.
func (d *decision) differ(values []FactValue, kind workflow.FactKind, node, to verification.NodeID) bool {
	for i, v := range values {
		if !v.given() || !slices.Contains(v.steps(), node) {
			continue
		}
		for k, other := range values {
			if k == i || !other.given() || v.agrees(other, kind, d.program.Facts()) {
				continue
			}
			if !slices.ContainsFunc(other.steps(), func(step verification.NodeID) bool { return step != node && d.comesTo(step, to) }) {
				return true
			}
		}
	}
	return false
}

// comesTo reports whether every path from a node to an end leads through another node.
func (d *decision) comesTo(through, from verification.NodeID) bool {
	def := d.program.Version.Definition
	through, _, _ = through.Parts()
	switch {
	case from == through:
		return true
	case from == "" || def.Nodes[from].Type == workflow.NodeEnd:
		return false
	}
	return !slices.ContainsFunc(def.Reach(from, func(id verification.NodeID) bool { return id == through }), func(id verification.NodeID) bool {
		return def.Nodes[id].Type == workflow.NodeEnd
	})
}

// readsOf returns the paths that values come from.
func readsOf(values []FactValue) (paths []string) {
	for _, v := range values {
		paths = append(paths, v.Reads...)
	}
	return paths
}

// given reports whether there is a value: a blank text and an empty list are none.
func (v FactValue) given() bool {
	switch value := v.Value.(type) {
	case nil:
		return v.Unclear
	case string:
		return strings.TrimSpace(value) != ""
	case []any:
		return len(value) > 0
	}
	return true
}

// agrees reports whether two values agree. One that is unclear agrees with nothing.
func (v FactValue) agrees(other FactValue, kind workflow.FactKind, l workflow.Values) bool {
	return !v.Unclear && !other.Unclear && l.Agree(kind, v.Value, other.Value)
}

// steps returns the steps that the value is from.
func (v FactValue) steps() (all []verification.NodeID) {
	for _, path := range v.Reads {
		if step, ok := workflow.StepOf(path); ok {
			all = append(all, step)
		}
	}
	return all
}

// differing returns the data with the facts that differ.
func differing(d verification.Data, facts []string) verification.Data {
	return withoutDifference(d, [2]string{fieldAnalysis, "false"}, [2]string{fieldDiffers, string(jsontext.Text(facts))})
}

// withoutDifference returns the data with other fields about differences.
func withoutDifference(d verification.Data, more ...[2]string) verification.Data {
	return jsontext.Edit(d, func(name string, value []byte) []byte {
		if name == fieldAnalysis || name == fieldDiffers {
			return nil
		}
		return value
	}, more...)
}

// withFalse returns the data with a field that is false.
func withFalse(d verification.Data, field string) verification.Data {
	return jsontext.Edit(d, func(name string, value []byte) []byte {
		if name == field {
			return nil
		}
		return value
	}, [2]string{field, "false"})
}
