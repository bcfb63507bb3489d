// Elements: a table of who the elements of a list are, and what each check says of them.

package report

import (
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// ElementTable is a table of the elements of a list, by check.
type ElementTable struct {
	Node   verification.NodeID // the first node over the elements
	Title  string
	Named  int  // how many elements have names
	Born   bool // some element has a birth date
	Checks []string
	Rows   []ElementRow

	of []facts.Element
}

// ElementRow is an element.
type ElementRow struct {
	Name, Born string
	Cells      []ElementCell // in the order of the checks
}

// ElementCell is what a check says of an element.
type ElementCell struct {
	rules.GroupMember             // its Label is of the check
	Card              *rules.Card // nil if the check has none
	Found             []rules.FoundHit
	Unscreened        *rules.Unscreened // nil unless the check was not called, and screens
	StoppedBy         string            // the label of the member that decided the group before; empty for none
}

// Clear reports whether the check has screened the element and found nothing.
func (c ElementCell) Clear() bool {
	return c.Card != nil && c.Called() && len(c.Found) == 0 && c.Card.Screening != nil && c.Answer == rules.AnswerConfirmed
}

// Elements returns the tables of the lists whose elements have names. Nodes over the same elements share one.
func Elements(r rules.Report, d workflow.Definition, named facts.Elements) (all []*ElementTable) {
	for _, g := range r.Groups {
		var of []facts.Element
		for _, m := range g.Members {
			if e, ok := named.Of(m.NodeID); ok && g.Each && g.Type != workflow.NodeCustomerInput {
				e.Node, e.Label, e.Kind = "", "", ""
				of = append(of, e)
			}
		}
		if len(of) == 0 {
			continue
		}
		i := slices.IndexFunc(all, func(t *ElementTable) bool { return slices.Equal(t.of, of) })
		if i < 0 {
			i, all = len(all), append(all, &ElementTable{Node: g.NodeID, Title: g.Label, Named: len(of), of: of, Rows: make([]ElementRow, len(g.Members))})
		}
		all[i].add(r, d, named, g)
	}
	return all
}

// Counts returns how many elements have hits, and of how many a check that screens was not called.
func (t *ElementTable) Counts() (hits, unscreened int) {
	for _, row := range t.Rows {
		if slices.ContainsFunc(row.Cells, func(c ElementCell) bool { return len(c.Found) > 0 }) {
			hits++
		}
		if slices.ContainsFunc(row.Cells, func(c ElementCell) bool { return c.Unscreened != nil }) {
			unscreened++
		}
	}
	return hits, unscreened
}

// add adds the checks of a node.
func (t *ElementTable) add(r rules.Report, d workflow.Definition, named facts.Elements, g rules.ReportGroup) {
	for i, m := range g.Members {
		row := &t.Rows[i]
		row.Name = m.Label
		if e, ok := named.Of(m.NodeID); ok {
			row.Name, row.Born = e.Who(), e.BirthDate
			t.Born = t.Born || e.BirthDate != ""
		}
		checks, sub := []rules.GroupMember{m}, rules.ReportGroup{}
		if g.Type == workflow.NodeChecks {
			checks = nil
			if at := slices.IndexFunc(r.Groups, func(sub rules.ReportGroup) bool { return sub.NodeID == m.NodeID }); at >= 0 {
				sub = r.Groups[at]
			}
			for _, member := range d.Nodes[g.NodeID].Members {
				check := rules.GroupMember{NodeID: m.NodeID.Member(member.Name), Label: member.Check().Label, Answer: rules.AnswerNotCalled}
				if at := slices.IndexFunc(sub.Members, func(m rules.GroupMember) bool { return m.NodeID == check.NodeID }); at >= 0 {
					check = sub.Members[at]
				} else if m.Answer == rules.AnswerLeftOut {
					check.Answer = m.Answer
				}
				checks = append(checks, check)
			}
		} else {
			checks[0].Label = g.Label
		}
		for _, check := range checks {
			row.Cells = append(row.Cells, cellOf(r, sub, check))
			if i == 0 {
				t.Checks = append(t.Checks, check.Label)
			}
		}
	}
}

// cellOf returns what a check, which is of the group of an element, says of the element.
func cellOf(r rules.Report, g rules.ReportGroup, m rules.GroupMember) ElementCell {
	cell := ElementCell{GroupMember: m}
	if at := slices.IndexFunc(r.Cards, func(c rules.Card) bool { return c.NodeID == m.NodeID }); at >= 0 {
		cell.Card = &r.Cards[at]
		if m.Called() {
			cell.Found = cell.Card.Hits()
		}
	}
	at := slices.IndexFunc(r.Unscreened, func(u rules.Unscreened) bool { return u.NodeID == m.NodeID })
	if at < 0 {
		return cell
	}
	cell.Unscreened = &r.Unscreened[at]
	stopped := slices.IndexFunc(g.Members, func(m rules.GroupMember) bool { return m.Answer == rules.AnswerNotConfirmed })
	if cell.Unscreened.Why == "decided" && stopped >= 0 {
		cell.StoppedBy = g.Members[stopped].Label
	}
	return cell
}
