// Who the elements of lists are, and what each check says of them: a table above the evidence.

package runpage

import (
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// ownersView is a table of the elements of a list, by check.
type ownersView struct {
	ID      string
	Title   string
	Summary string
	Born    bool // some element has a birth date
	Checks  []string
	Rows    []ownerRow
	Clean   []ownerRow // without a finding, of more than maxOwners rows

	of []facts.Element
}

// Folded returns the rows that are in sight and, if there are any, those that are folded.
func (v ownersView) Folded() [][]ownerRow {
	if v.Clean == nil {
		return [][]ownerRow{v.Rows}
	}
	return [][]ownerRow{v.Rows, v.Clean}
}

// Columns is the number of columns of the table.
func (v ownersView) Columns() int {
	if v.Born {
		return len(v.Checks) + 2
	}
	return len(v.Checks) + 1
}

// ownerRow is an element.
type ownerRow struct {
	Name, Born string
	Cells      []ownerCell

	hits, unscreened, found bool // found: a check did not confirm
}

// maxOwners is the maximum number of rows that are all in sight: of more, those without a finding are folded.
const maxOwners = 4

// ownerCell is what a check says of an element.
type ownerCell struct {
	Check string
	Badge web.Badge
	Link  string // the part of the page with the answer; empty for none
	Why   string // it was not called; empty for nothing to say
}

// ownersOf returns the tables of the lists whose elements have names. Nodes over the same elements share one.
func ownersOf(s shell.Session, rec desk.RunRecord) (all []*ownersView) {
	for _, g := range rec.Report.Groups {
		var of []facts.Element
		for _, m := range g.Members {
			if e, ok := rec.Elements.Of(m.NodeID); ok && g.Each && g.Type != workflow.NodeCustomerInput {
				e.Node, e.Label, e.Kind = "", "", ""
				of = append(of, e)
			}
		}
		if len(of) == 0 {
			continue
		}
		i := slices.IndexFunc(all, func(v *ownersView) bool { return slices.Equal(v.of, of) })
		if i < 0 {
			i, all = len(all), append(all, &ownersView{ID: "elements-" + string(g.NodeID), Title: g.Label, of: of, Rows: make([]ownerRow, len(g.Members))})
		}
		all[i].add(s, rec, g)
	}
	for _, v := range all {
		v.count(s)
		if found := func(r ownerRow) bool { return r.found }; len(v.Rows) > maxOwners && slices.ContainsFunc(v.Rows, found) {
			v.Clean = slices.DeleteFunc(slices.Clone(v.Rows), found)
			v.Rows = slices.DeleteFunc(v.Rows, func(r ownerRow) bool { return !r.found })
		}
	}
	return all
}

// add adds the checks of a node.
func (v *ownersView) add(s shell.Session, rec desk.RunRecord, g rules.ReportGroup) {
	for i, m := range g.Members {
		row := &v.Rows[i]
		row.Name = m.Label
		if e, ok := rec.Elements.Of(m.NodeID); ok {
			row.Name, row.Born = e.Who(), e.BirthDate
			v.Born = v.Born || e.BirthDate != ""
		}
		checks, sub := []rules.GroupMember{m}, rules.ReportGroup{}
		if g.Type == workflow.NodeChecks {
			checks = nil
			if at := slices.IndexFunc(rec.Report.Groups, func(sub rules.ReportGroup) bool { return sub.NodeID == m.NodeID }); at >= 0 {
				sub = rec.Report.Groups[at]
			}
			for _, member := range rec.Definition.Nodes[g.NodeID].Members {
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
			row.add(s, rec, sub, check)
			if i == 0 {
				v.Checks = append(v.Checks, check.Label)
			}
		}
	}
}

// add adds what a check says of the element.
func (row *ownerRow) add(s shell.Session, rec desk.RunRecord, g rules.ReportGroup, m rules.GroupMember) {
	cell := ownerCell{Check: m.Label, Badge: answerBadge(s, m.Answer, m.Hits), Link: "#step-" + string(m.NodeID)}
	if at := slices.IndexFunc(rec.Report.Cards, func(c rules.Card) bool { return c.NodeID == m.NodeID }); at < 0 {
		cell.Link = ""
	} else if c := rec.Report.Cards[at]; m.Called() {
		if hits := c.Hits(); len(hits) > 0 {
			cell.Badge, row.hits = hitsBadge(s, hits), true
		} else if c.Screening != nil && m.Answer == rules.AnswerConfirmed {
			cell.Badge.Text = s.Say("owners.nohit")
		}
	}
	at := slices.IndexFunc(rec.Report.Unscreened, func(u rules.Unscreened) bool { return u.NodeID == m.NodeID })
	if at >= 0 {
		cell.Badge, row.unscreened = web.Badge{Tone: web.Warning, Text: s.Say("owners.unscreened")}, true
		stopped := slices.IndexFunc(g.Members, func(m rules.GroupMember) bool { return m.Answer == rules.AnswerNotConfirmed })
		if rec.Report.Unscreened[at].Why == "decided" && stopped >= 0 {
			cell.Why = s.Say("owners.stopped", shell.Isolate(g.Members[stopped].Label))
		} else {
			cell.Why = s.Say("owners.why." + string(rec.Report.Unscreened[at].Why))
		}
		if slices.ContainsFunc(row.Cells, func(c ownerCell) bool { return c.Why == cell.Why }) {
			cell.Why = "" // it is said once
		}
	}
	row.Cells, row.found = append(row.Cells, cell), row.found || cell.Badge.Tone == web.Bad || cell.Badge.Tone == web.Warning
}

// hitsBadge counts hits by what reviewers decided.
func hitsBadge(s shell.Session, hits []rules.FoundHit) web.Badge {
	of := map[rules.HitMatch]int{}
	for _, h := range hits {
		of[h.Decision.Match]++
	}
	b, parts := web.Badge{Tone: web.Warning, Icon: "flag"}, []string{s.Count("owners.hits", len(hits))}
	for _, m := range []rules.HitMatch{rules.MatchSame, "", rules.MatchUnsure, rules.MatchOther} {
		switch n := of[m]; {
		case n == 0:
		case n == len(hits):
			parts = append(parts, s.Say("owners.match."+string(m)))
		default:
			parts = append(parts, s.Say("owners.some", n, s.Say("owners.match."+string(m))))
		}
	}
	switch b.Text = strings.Join(parts, ", "); {
	case of[rules.MatchSame] > 0:
		b.Tone = web.Bad
	case of[rules.MatchOther] == len(hits):
		b.Tone, b.Icon = web.Neutral, "tick"
	}
	return b
}

// count sums the rows up.
func (v *ownersView) count(s shell.Session) {
	hits, unscreened := 0, 0
	for _, row := range v.Rows {
		if row.hits {
			hits++
		}
		if row.unscreened {
			unscreened++
		}
	}
	parts := []string{s.Count("owners.named", len(v.of))}
	if n := len(v.Rows) - len(v.of); n > 0 {
		parts = append(parts, s.Count("owners.unnamed", n))
	}
	if hits > 0 {
		parts = append(parts, s.Count("owners.with", hits))
	}
	if unscreened > 0 {
		parts = append(parts, s.Count("owners.not_screened", unscreened))
	}
	v.Summary = strings.Join(parts, ", ")
}
