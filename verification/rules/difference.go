// Differences: a step is flagged if its facts differ from those of another step.

package rules

import (
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The fields of a step's data about differences.
const (
	fieldAnalysis = "analysis_ok"
	fieldDiffers  = "differs"
)

// kindOf returns Comparison.Kind. Without one, the values are names of people if one of them is the name of
// the subject, or is from a path whose last part is name or ends with _name.
func kindOf(c workflow.Comparison, s *workflow.SubjectFields, values []FactValue) workflow.FactKind {
	named := func(v FactValue) bool {
		return slices.ContainsFunc(v.Reads, func(path string) bool {
			last := path[strings.LastIndex(path, ".")+1:]
			return last == "name" || strings.HasSuffix(last, "_name")
		})
	}
	switch {
	case c.Kind != "":
		return c.Kind
	case s != nil && slices.Contains(c.Of, s.Name), slices.ContainsFunc(values, named):
		return workflow.FactPerson
	}
	return workflow.FactText
}

// compared returns the data of an answer of a step, after which the run goes to another
// node: with the facts whose values now differ from it, as far as the workflow flags
// them. A value is not compared with one that the run is sure to replace: the step of that one is
// compared when the run has come to it again. to is empty if the run ends.
func (d *decision) compared(node verification.NodeID, status StepStatus, data verification.Data, to verification.NodeID) verification.Data {
	def := d.program.Version.Definition
	if !slices.ContainsFunc(def.Compare, workflow.Comparison.Flags) || d.program.Facts() == nil {
		return data
	}
	r := d.run
	r.Steps = slices.Clone(r.Steps)
	if i := r.index(node); i >= 0 {
		r.Steps[i].Status, r.Steps[i].Data = status, data
	}
	var differs []string
	for i, values := range r.FactValues(d.program).Compared {
		c := def.Compare[i]
		if c.Flags() && d.differ(values, kindOf(c, def.Subject, values), node, to) {
			differs = append(differs, c.Fact)
		}
	}
	if differs == nil {
		return data
	}
	return differing(data, differs)
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
	return jsontext.Edit(d, func(name string, value []byte) []byte {
		if name == fieldAnalysis || name == fieldDiffers {
			return nil
		}
		return value
	}, [2]string{fieldAnalysis, "false"}, [2]string{fieldDiffers, string(jsontext.Text(facts))})
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
