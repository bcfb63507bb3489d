// The evidence of a check of documents: its pictures side by side, its score on the scale of the provider, and what was read beside
// what was said.

package runpage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/workflow"
)

// facesView is the evidence of a check that was asked about pictures.
type facesView struct {
	Pictures []documentView
	Scores   []dataField // with a scale
	Read     []readView
}

// readView is a value that a check has read from a document.
type readView struct {
	Label, Text string
	Badge       web.Badge // how it agrees with what was said; without a tone if nothing was said
	Said        string    // what was said, if that differs
}

// maxPictures is how many pictures of a check are shown.
const maxPictures = 4

// addFaces adds the evidence of the checks that were asked about pictures.
func addFaces(s shell.Session, rec desk.RunRecord, cards []cardView) {
	shown := map[string]documentView{}
	for _, card := range cards {
		for _, visit := range slices.Backward(card.Visits) {
			for _, d := range visit.Documents {
				shown[d.ID] = d
			}
		}
		for _, d := range card.Documents {
			shown[d.ID] = d
		}
	}
	asked := askedOf(rec)
	for i := range cards {
		card := &cards[i]
		if card.of != workflow.NodeCheck || rec.Hidden {
			continue
		}
		v := facesView{}
		with := string(asked[card.Node].With)
		for id, d := range shown {
			if d.Picture != "" && strings.Contains(with, id) {
				v.Pictures = append(v.Pictures, d)
			}
		}
		if len(v.Pictures) == 0 {
			continue
		}
		slices.SortFunc(v.Pictures, func(a, b documentView) int { // what was photographed first, and then the customer
			if a.Face != b.Face {
				return strings.Compare(strconv.FormatBool(a.Face), strconv.FormatBool(b.Face))
			}
			return strings.Index(with, a.ID) - strings.Index(with, b.ID)
		})
		v.Pictures = v.Pictures[:min(len(v.Pictures), maxPictures)]
		for _, f := range slices.Concat(card.Table.Fields, card.Found.Fields) {
			switch {
			case f.Scale != nil:
				v.Scores = append(v.Scores, f)
			case f.Text != "" && !f.Ours:
				v.Read = append(v.Read, readOf(s, rec.Facts, card.Node, f))
			}
		}
		card.Faces = &v
		for k := range card.Visits {
			card.Visits[k].Open = false // the pictures come first
		}
	}
}

// readOf compares a value that a check has read with what the customer or the start said.
func readOf(s shell.Session, all facts.Facts, node verification.NodeID, f dataField) readView {
	v := readView{Label: f.Label, Text: f.Text, Badge: web.Badge{Text: s.Say("faces.not_asked")}}
	for _, row := range all.Rows {
		is := func(c facts.Cell) bool { return c.Node == node && strings.HasSuffix(c.Path, ".data."+f.Path) }
		read := slices.IndexFunc(row.Cells, is)
		said := slices.IndexFunc(row.Cells, func(c facts.Cell) bool { return c.Text != "" && all.Sources[c.Source].Node != node })
		if read < 0 || said < 0 {
			continue
		}
		differs, apart := row.Cells[max(read, said)].Differs, apartBy(s, row.Cells[said].Text, f.Text)
		switch {
		case row.Cells[read].OtherScript:
			v.Badge.Text = s.Say("facts.script")
		case !differs:
			v.Badge = web.Badge{Tone: web.Good, Text: s.Say("facts.equal")}
		default:
			v.Badge, v.Said = web.Badge{Tone: web.Bad, Text: cmp.Or(apart, s.Say("facts.differs"))}, row.Cells[said].Text
		}
		break
	}
	return v
}

// apartBy says how far two days are apart, as in "2 years 7 months apart"; empty if one of the texts is no day.
func apartBy(s shell.Session, a, b string) string {
	from, err := time.Parse(time.DateOnly, a)
	to, other := time.Parse(time.DateOnly, b)
	if err != nil || other != nil {
		return ""
	}
	if to.Before(from) {
		from, to = to, from
	}
	months := 12*(to.Year()-from.Year()) + int(to.Month()-from.Month())
	if to.Day() < from.Day() {
		months--
	}
	var parts []string
	for _, part := range []struct {
		key   string
		count int
	}{{"span.years", months / 12}, {"span.months", months % 12}} {
		if part.count > 0 {
			parts = append(parts, s.Count(part.key, part.count))
		}
	}
	if len(parts) == 0 {
		parts = []string{s.Count("span.days", int(to.Sub(from)/(24*time.Hour)))}
	}
	return s.Say("faces.apart", strings.Join(parts, " "))
}

// scaleView draws a score on its scale. The positions are in percent.
type scaleView struct {
	Value, From, To         string
	FailsBelow, PassesFrom  string // in words
	At, Fails, Passes, Rest string // the score, and where the parts of the scale end, begin, and how wide the last one is
}

// scale returns the scale of a value; nil for none.
func (b *tableBuilder) scale(v labels.DataValue) *scaleView {
	value, err := strconv.ParseFloat(v.Text, 64)
	if v.Scale == nil || err != nil {
		return nil
	}
	scale := *v.Scale
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	percent := func(n float64) float64 {
		return min(max(100*(n-scale.From)/(scale.To-scale.From), 0), 100)
	}
	at := func(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) + "%" }
	return &scaleView{
		Value: v.Text, From: number(scale.From), To: number(scale.To),
		FailsBelow: b.message("scale.fails") + " " + number(scale.FailsBelow), PassesFrom: b.message("scale.passes") + " " + number(scale.PassesFrom),
		At: at(percent(value)), Fails: at(percent(scale.FailsBelow)), Passes: at(percent(scale.PassesFrom)), Rest: at(100 - percent(scale.PassesFrom)),
	}
}
