// Validation of definitions: steps that a path avoids.

package workflow

import (
	"maps"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// satisfiable is a Condition that says whether values exist for which conditions hold, and others do not.
type satisfiable interface {
	// Satisfiable reports whether it finds such values. It finds none if a condition compares anything but a value with values that
	// are written out, or if there are too many cases.
	Satisfiable(hold, not []Condition) bool
	// Impossible reports whether it is certain that there are no such values.
	Impossible(hold, not []Condition) bool
}

// The bounds of the search for values that lead past a step: visits of nodes, for one absence and for all.
const (
	maxAvoiding    = 500
	maxAllAvoiding = 20_000
)

// avoiding looks for values with which a run reads something of a step that it has not visited.
type avoiding struct {
	*foreseer
	v     *validator
	a     Absence
	own   bool // the step may be left out by its own condition; else only by the path
	left  int
	found map[missingAt]bool
}

// taken is a path of a run: how it left each node, and which conditions hold on it and which do not.
type taken struct {
	by        map[verification.NodeID]string
	hold, not []Condition
}

// certainly returns what a run reads of a step that it has not visited, with values that the search finds.
func (f *foreseer) certainly(v *validator, a Absence, why cause) map[missingAt]bool {
	s := &avoiding{foreseer: f, v: v, a: a, own: why == skipped, left: min(maxAvoiding, f.avoidable), found: map[missingAt]bool{}}
	before := s.left
	s.visit(v.def.Start, taken{by: map[verification.NodeID]string{}})
	f.avoidable -= before - s.left
	return s.found
}

func (s *avoiding) visit(at verification.NodeID, t taken) {
	if _, been := t.by[at]; been || at == "" {
		return
	}
	if s.left--; s.left < 0 {
		return
	}
	n := s.v.def.Nodes[at]
	switch {
	case n.Type == NodeBranch:
		s.branchOf(at, n, t)
	case at == s.a.Step && s.own && s.whens[at] != nil:
		if next, ok := s.with(t, nil, s.whens[at]); ok {
			s.visit(n.Next, next.left(at, "skipped"))
		}
	case at == s.a.Step:
	default:
		s.stepOf(at, n, t)
	}
}

func (s *avoiding) stepOf(at verification.NodeID, n Node, t taken) {
	if when := s.whens[at]; when != nil {
		if next, ok := s.with(t, nil, when); ok {
			s.visit(n.Next, next.left(at, "skipped"))
		}
		var ok bool
		if t, ok = s.with(t, when, nil); !ok {
			return
		}
	}
	next, found := s.step(s.a, at, n)
	for _, m := range found {
		if m.Sure && s.whens[verification.NodeID(strings.TrimSuffix(strings.Replace(strings.TrimPrefix(m.at, "nodes."), ".members.", ".", 1), ".with"))] == nil {
			s.found[m] = true // else the condition of a member may keep it from being read
		}
	}
	for _, r := range n.Routes() {
		if slices.Contains(next, r.To) {
			s.visit(r.To, t.left(at, r.On))
		}
	}
}

func (s *avoiding) branchOf(at verification.NodeID, n Node, t taken) {
	for i, r := range n.Rules {
		var c Condition
		if i < len(s.conditions[at]) {
			c = s.conditions[at][i]
		}
		p := Prospect{Holds: true, HoldsNot: true}
		if foreseen, ok := c.(Foreseen); ok {
			p = foreseen.Foresee(s.a, nil)
		}
		for _, m := range p.Missing {
			if m.Sure { // and no other part of the condition keeps it from being read
				s.found[missingAt{rulePath(at, i), m}] = true
			}
		}
		if p.Holds && r.AskAgain == nil {
			holding, ok := t, true
			if p.HoldsNot {
				holding, ok = s.with(t, c, nil)
			}
			if ok {
				s.visit(r.Next, holding.left(at, r.When))
			}
		}
		if !p.HoldsNot {
			return
		}
		if p.Holds {
			var ok bool
			if t, ok = s.with(t, nil, c); !ok {
				return
			}
		}
	}
	s.visit(n.Else, t.left(at, "else"))
}

// left returns the path after it has left a node.
func (t taken) left(at verification.NodeID, on string) taken {
	t.by = maps.Clone(t.by)
	t.by[at] = on
	return t
}

// with returns the path with one more condition that holds, or does not. ok is false if no values are found for it.
func (s *avoiding) with(t taken, hold, not Condition) (_ taken, ok bool) {
	if hold != nil {
		t.hold = append(slices.Clip(t.hold), hold)
	}
	if not != nil {
		t.not = append(slices.Clip(t.not), not)
	}
	for _, c := range slices.Concat(t.hold, t.not) {
		r, ok := c.(Reader)
		if !ok || slices.ContainsFunc(r.ReadPaths(), func(path string) bool { return !s.free(path, t) }) {
			return t, false
		}
	}
	for _, c := range slices.Concat(t.hold, t.not) {
		all, ok := c.(satisfiable)
		return t, ok && all.Satisfiable(t.hold, t.not)
	}
	return t, true
}

// free reports whether a value may be anything that its declaration allows, on a path: a field of the input, of an answer of the
// customer or of the data of a check that passed.
func (s *avoiding) free(path string, t taken) bool {
	parts := strings.Split(path, ".")
	switch {
	case len(parts) == 2 && parts[0] == "input":
		schema := s.v.def.InputSchema.Map()
		return schema == nil || plainSchema(DataSchema(schema).Field(parts[1]))
	case len(parts) != 4 || parts[0] != "steps" || parts[2] != "data":
		return false
	}
	id := verification.NodeID(parts[1])
	n := s.v.def.Nodes[id]
	if t.by[id] != "next" || n.repeats() {
		return false
	}
	switch n.Type {
	case NodeCustomerInput:
		f, ok := n.Fields.ByName(parts[3])
		return ok && f.Pattern == "" && f.Min == nil && f.Max == nil && f.MinDate == "" && f.MaxDate == ""
	case NodeCheck:
		data := s.v.described[n.Provider].Data
		return n.Fallback == "" && (data == nil || plainSchema(DataSchema(data.Map()).Field(parts[3])))
	case NodeConsent, NodeChecks, NodeBranch, NodeReview, NodeEnd:
	}
	return false
}

// plainSchema reports whether a schema allows every value of its type, or every one of its enum.
func plainSchema(schema DataSchema) bool {
	for keyword := range schema {
		switch keyword {
		case "type", "enum", "title", "description", "x-search", "x-unit", "x-scale", "maxLength":
		default:
			return false
		}
	}
	return true
}
