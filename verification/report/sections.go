// Sections: the cards of a report under the headings of their groups.

package report

import (
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// Section is a part of a report: a card that stands alone, or a group and what stands under it.
type Section struct {
	Card  *rules.Card        // nil for a group
	Group *rules.ReportGroup // nil for a card
	Under []Section
}

// Sections returns the cards of a report under their groups, each group where its first card is.
func Sections(r rules.Report) (all []Section) {
	groups := map[verification.NodeID]*rules.ReportGroup{}
	for i := range r.Groups {
		groups[r.Groups[i].NodeID] = &r.Groups[i]
	}
	under := map[verification.NodeID][]*rules.Card{}
	for i := range r.Cards {
		c := &r.Cards[i]
		node, _, _ := c.NodeID.Parts()
		switch group := groups[node]; {
		case group == nil:
			all = append(all, Section{Card: c})
			continue
		case under[node] == nil:
			all = append(all, Section{Group: group})
		}
		under[node] = append(under[node], c)
	}
	for i := range r.Groups { // those without a card
		g := &r.Groups[i]
		if node, _, _ := g.NodeID.Parts(); node != g.NodeID || under[node] != nil {
			continue
		}
		at := slices.IndexFunc(all, func(s Section) bool { return s.Card != nil && s.Card.StartedAt.After(g.StartedAt) })
		if at < 0 {
			at = len(all)
		}
		all = slices.Insert(all, at, Section{Group: g})
	}
	for i := range all {
		if g := all[i].Group; g != nil {
			all[i].Under = sectionsUnder(g, groups, under[g.NodeID])
		}
	}
	return all
}

// sectionsUnder returns what stands under a group: cards, each element after the other.
func sectionsUnder(g *rules.ReportGroup, groups map[verification.NodeID]*rules.ReportGroup, cards []*rules.Card) (all []Section) {
	of := map[int][]Section{} // by element; 0 for the members of a group that is none
	last := 0
	if g.Each {
		last = len(g.Members)
	}
	for _, c := range cards {
		_, element, _ := c.NodeID.Parts()
		of[element], last = append(of[element], Section{Card: c}), max(last, element)
	}
	for n := range last + 1 {
		if sub := groups[g.NodeID.Element(n)]; n > 0 && sub != nil {
			all = append(all, Section{Group: sub, Under: of[n]})
		} else {
			all = append(all, of[n]...)
		}
	}
	return all
}
