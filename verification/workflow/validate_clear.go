// Validation of definitions: what a screening finds must count on the way to an end.

package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// unreadScreenings warns of each end to which a screening leads with a hit: see unreadScreening and passedInData. A group whose `until`
// reads what a screening finds is not met by a hit.
func (v *validator) unreadScreenings(p *Program) {
	for _, id := range v.names() {
		for _, s := range v.def.checksAt(id) {
			if !v.screens(s.check.Provider) && !v.screens(s.check.Fallback) {
				continue
			}
			found := screenedAt{id, s.id, v.def.Nodes[id].ForEach != ""}
			if until, ok := p.untils[s.id].(Reader); ok && slices.ContainsFunc(until.ReadPaths(), func(path string) bool {
				rest, ok := strings.CutPrefix(path, "member.")
				return ok && ofStep(rest) == tellsResult
			}) {
				continue
			}
			v.unreadScreening(p, found)
			v.passedInData(p, found)
		}
	}
}

func (v *validator) screens(provider string) bool {
	d := v.described[provider]
	return d.Screens || d.Rescreens
}

// screenedAt is a check that screens, in a node that may be a group, or have for_each.
type screenedAt struct {
	node, step verification.NodeID
	each       bool
}

// clear returns the expression that says that nothing is open.
func (s screenedAt) clear() string { return "steps." + string(s.node) + ".clear" }

// reading says what a text reads of a check that screens.
type reading int

const (
	readsNothing reading = iota
	readsPassed          // that it passed, as it does with a hit
	tellsResult          // what it found
)

// in returns the most that a text reads of the check, and the path by which it reads that the check passed.
func (s screenedAt) in(text any) (most reading, passed string) {
	r, ok := text.(Reader)
	if !ok {
		return readsNothing, ""
	}
	paths := r.ReadPaths()
	for _, path := range paths {
		is := s.of(path)
		if is == tellsResult && slices.ContainsFunc(paths, func(inside string) bool { return strings.HasPrefix(inside, path+"[]") }) {
			continue // a loop over the elements: what it reads of them counts
		}
		if is == readsPassed && passed == "" {
			passed = path
		}
		most = max(most, is)
	}
	return most, passed
}

// of returns what a path reads of the check.
func (s screenedAt) of(path string) reading {
	rest, ok := strings.CutPrefix(path, "steps."+string(s.node))
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return readsNothing
	}
	parts := strings.Split(strings.TrimPrefix(rest, "."), ".")
	if s.each && strings.HasPrefix(parts[0], "items") {
		parts = parts[1:]
	}
	if _, _, member := s.step.Parts(); member != "" && len(parts) > 0 && parts[0] == "members" {
		if len(parts) > 1 && parts[1] != member {
			return readsNothing
		}
		parts = parts[min(2, len(parts)):]
	}
	return ofStep(strings.Join(parts, "."))
}

// ofStep returns what a path reads that leads on from a step.
func ofStep(path string) reading {
	switch path {
	case "passed", "status":
		return readsPassed
	case "dispatches", "data.source_ok", "data.no_answer":
		return readsNothing
	}
	return tellsResult // clear, its data, or all of it
}

// unreadScreening warns of each end with an outcome to which a screening leads whatever it finds: no branch on the way reads its
// result, and no review step is on it. That it passed is no result, because it passes with a hit. The routes that a screening takes
// when it fails or has no answer depend on its result already.
func (v *validator) unreadScreening(p *Program, s screenedAt) {
	asked := ""
	reach := v.unread(p, s, func(at verification.NodeID, n Node) []verification.NodeID {
		if is, _ := s.in(p.whens[at]); n.When != "" && is != tellsResult {
			return []verification.NodeID{n.Next}
		}
		return nil
	}, &asked)
	for _, end := range reach {
		e := v.def.Nodes[end]
		if e.Type != NodeEnd || e.Outcome == "" {
			continue
		}
		message := fmt.Sprintf("the screening %s leads here whatever it finds: test %s in a branch, or add a review step", s.step, s.clear())
		if asked != "" {
			message = fmt.Sprintf("the screening %s leads here with a hit, too, because %s says nothing of hits: test %s, or add a review step", s.step, asked, s.clear())
		}
		v.warnings = append(v.warnings, verification.FieldError{Name: nodePath(end) + ".outcome", Message: message})
	}
}

// passedInData warns of each end whose data says that a screening passed, although nothing on the way and nothing in the data reads what
// it found. A review does not help: the data says the same after it.
func (v *validator) passedInData(p *Program, s screenedAt) {
	for _, end := range v.unread(p, s, func(_ verification.NodeID, n Node) []verification.NodeID { return n.Targets() }, new(string)) {
		if v.def.Nodes[end].Type != NodeEnd {
			continue
		}
		if is, passed := s.in(p.templates[end]); is == readsPassed {
			v.warnings = append(v.warnings, verification.FieldError{Name: nodePath(end) + ".data", Message: fmt.Sprintf(
				"%s says nothing of the hits of the screening %s: write %s", passed, s.step, s.clear())})
		}
	}
}

// unread returns the nodes to which a run may come from a screening that passed, before a condition reads what it found. review returns
// where it goes on from a review. asked is the path by which a branch on the way asked whether the screening passed.
func (v *validator) unread(
	p *Program, s screenedAt, review func(at verification.NodeID, n Node) []verification.NodeID, asked *string,
) []verification.NodeID {
	return walk([]verification.NodeID{s.node}, func(at verification.NodeID) (to []verification.NodeID) {
		switch n := v.def.Nodes[at]; {
		case at == s.node:
			return []verification.NodeID{n.Next}
		case n.Type == NodeReview:
			return review(at, n)
		case n.Type == NodeBranch:
			for i, c := range p.conditions[at] {
				is, passed := s.in(c)
				if is == tellsResult { // so this route and those below depend on the result
					return to
				}
				*asked = cmp.Or(*asked, passed)
				to = append(to, n.Rules[i].targets()...)
			}
			return append(to, n.Else)
		default:
			return n.Targets()
		}
	}, nil)
}
