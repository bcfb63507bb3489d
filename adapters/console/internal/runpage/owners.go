// Who the elements of lists are, and what each check says of them: a table above the evidence.

package runpage

import (
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

// ownersView is a table of the elements of a list, by check.
type ownersView struct {
	*report.ElementTable

	ID      string
	Summary string
	Rows    []ownerRow
	Clean   []ownerRow // without a finding, of more than maxOwners rows
}

// maxOwners is the maximum number of rows that are all in sight: of more, those without a finding are folded.
const maxOwners = 4

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

	found bool // a check did not confirm
}

// ownerCell is what a check says of an element.
type ownerCell struct {
	Check string
	Badge web.Badge
	Link  string // the part of the page with the answer; empty for none
	Why   string // it was not called; empty for nothing to say
}

// ownersOf returns the tables of the lists whose elements have names.
func ownersOf(s shell.Session, rec desk.RunRecord) (all []ownersView) {
	for _, t := range report.Elements(rec.Report, rec.Definition, rec.Elements) {
		v := ownersView{ElementTable: t, ID: "elements-" + string(t.Node), Summary: s.Count("owners.named", t.Named)}
		for _, e := range t.Rows {
			row := ownerRow{Name: e.Name, Born: e.Born}
			for _, c := range e.Cells {
				row.add(s, c)
			}
			v.Rows = append(v.Rows, row)
		}
		hits, unscreened := t.Counts()
		for _, more := range []struct {
			key string
			n   int
		}{{"owners.unnamed", len(t.Rows) - t.Named}, {"owners.with", hits}, {"owners.not_screened", unscreened}} {
			if more.n > 0 {
				v.Summary += ", " + s.Count(more.key, more.n)
			}
		}
		if found := func(r ownerRow) bool { return r.found }; len(v.Rows) > maxOwners && slices.ContainsFunc(v.Rows, found) {
			v.Clean = slices.DeleteFunc(slices.Clone(v.Rows), found)
			v.Rows = slices.DeleteFunc(v.Rows, func(r ownerRow) bool { return !r.found })
		}
		all = append(all, v)
	}
	return all
}

// add adds what a check says of the element.
func (row *ownerRow) add(s shell.Session, c report.ElementCell) {
	cell := ownerCell{Check: c.Label, Badge: answerBadge(s, c.Answer, c.Hits)}
	if c.Card != nil {
		cell.Link = "#step-" + string(c.NodeID)
	}
	switch {
	case len(c.Found) > 0:
		cell.Badge = hitsBadge(s, c.Found)
	case c.Clear():
		cell.Badge.Text = s.Say("owners.nohit")
	}
	if c.Unscreened != nil {
		cell.Badge, cell.Why = web.Badge{Tone: web.Warning, Text: s.Say("owners.unscreened")}, s.Say("owners.why."+string(c.Unscreened.Why))
		if c.StoppedBy != "" {
			cell.Why = s.Say("owners.stopped", shell.Isolate(c.StoppedBy))
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
