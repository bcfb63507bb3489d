// Whom a run is about, and what its sources say about them, side by side.

package runpage

import (
	"slices"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
)

// subjectView is whom a run is about.
type subjectView struct {
	Name     string
	Portrait *documentView // nil for none
	Facts    []runFact
}

// subjectOf returns whom a run is about. Its Name is empty if the run does not say it.
func (p *Pages) subjectOf(s shell.Session, rec desk.RunRecord) (v subjectView) {
	v.Name = rec.Subject.Name
	for _, fact := range []struct{ key, value string }{
		{"subject.born", rec.Subject.BirthDate}, {"subject.number", rec.Subject.Number},
	} {
		if fact.value != "" {
			v.Facts = append(v.Facts, runFact{Label: s.Say(fact.key), Value: fact.value})
		}
	}
	if i := slices.IndexFunc(rec.Documents, func(d verification.Document) bool { return d.ID == rec.Subject.Portrait }); i >= 0 {
		portrait := p.documentViewOf(s, rec.Report.Run.ID, rec.Documents[i], s.Say("subject.portrait"))
		v.Portrait = &portrait
	}
	return v
}

// factsView is a table of facts by source.
type factsView struct {
	Title   string
	Summary string // how many facts differ
	Sources []string
	Rows    []factRowView
}

type factRowView struct {
	Fact    string
	Differs bool
	Alone   bool // no two sources say it, so nothing confirms it
	Script  bool // a name is the same in another script
	Cells   []factCellView
}

type factCellView struct {
	Source  string
	Given   bool
	Differs bool
	Parts   []labels.Part
}

// factsOf returns the facts that more than one source has; nil if there are none, or the run is redacted. Facts
// that differ come first.
func factsOf(s shell.Session, rec desk.RunRecord) *factsView {
	f := rec.Facts
	if len(f.Rows) == 0 || rec.Hidden {
		return nil
	}
	v := &factsView{Title: s.Say("facts.same")}
	for _, source := range f.Sources {
		v.Sources = append(v.Sources, sourceName(s, source))
	}
	differing := 0
	for _, row := range f.Rows {
		r, given := factRowView{Fact: row.Fact, Differs: row.Differs}, 0
		for source := range f.Sources {
			cell, _ := row.Cell(source)
			if cell.Text != "" {
				given++
			}
			r.Script = r.Script || cell.OtherScript
			r.Cells = append(r.Cells, factCellView{
				Source: v.Sources[source], Given: cell.Text != "", Differs: cell.Differs, Parts: labels.Parts(cell),
			})
		}
		r.Alone = given < 2
		if row.Differs {
			differing++
		}
		v.Rows = append(v.Rows, r)
	}
	slices.SortStableFunc(v.Rows, func(a, b factRowView) int {
		switch {
		case a.Differs == b.Differs:
			return 0
		case a.Differs:
			return -1
		}
		return 1
	})
	if differing > 0 {
		v.Title, v.Summary = s.Say("facts.differ"), s.Count("facts.count", differing)
	}
	return v
}

// sourceName returns the title of the column of a source.
func sourceName(s shell.Session, f facts.Source) string {
	switch f.Kind {
	case facts.SourceCustomer, facts.SourceInput, facts.SourceRun:
		return s.Say("facts.source." + string(f.Kind))
	case facts.SourceElement, facts.SourceCheck, facts.SourceDocument:
	}
	return f.Label
}

// askedOf returns what each check was asked, by node.
func askedOf(rec desk.RunRecord) map[verification.NodeID]facts.Asked {
	all := map[verification.NodeID]facts.Asked{}
	for _, a := range rec.Asked {
		all[a.Node] = a
	}
	return all
}
