// Hits of a screening: the customer beside the entry of the list, and what reviewers said.

package pdf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/internal/country"
	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

// hitFields are the fields of the data of a screening that have hits, which are printed apart.
func hitFields(c rules.Card) []string {
	if c.Screening == nil {
		return nil
	}
	return []string{"hits", "noted", "cleared"}
}

// listed is an entry that a check found.
type listed struct {
	rules.FoundHit
	run   verification.RunID // with the decision, if it is another run
	asked bool               // reviewers decide it
}

// cardHits are the entries that a check found: the hits and, below them, those that an earlier
// decision cleared, and those that the check only noted or cleared itself.
func (l *layout) cardHits(c rules.Card, r report.Print, t tone) (blocks []block) {
	for _, group := range hitGroups(c, r.Run.ID) {
		for i, h := range group.hits {
			if l.linesLeft <= 0 {
				text := newParagraph(0, 1.6, styleKey(), l.set(typeset.Thousands(len(group.hits)-i)+
					" more entries are not printed here. The report that the API returns has them.", limitName, styleKey(), cardWidth)...)
				return append(blocks, cardRow(t, text.bottom()+1, column(cardWidth, text)))
			}
			head := fmt.Sprintf("%s %d of %d: %s", group.title, i+1, len(group.hits), cmp.Or(h.Name, h.ID))
			if c.Screening == nil || h.List != c.Screening.List {
				head += ", on the list " + h.List
			}
			blocks = append(blocks, l.hit(fromLeft+head, h, r, c.NodeID, t)...)
		}
	}
	return blocks
}

type hitGroup struct {
	title string
	hits  []listed
}

// hitGroups returns the entries that a check found, by what became of them.
func hitGroups(c rules.Card, run verification.RunID) []hitGroup {
	groups := []hitGroup{{title: "Hit"}, {title: "Left out, decided before"}, {title: "Noted, no hit"}, {title: "Cleared by the check"}}
	add := func(group int, h rules.FoundHit, run verification.RunID) {
		groups[group].hits = append(groups[group].hits, listed{h, run, group == 0 && h.ID != ""})
	}
	for _, h := range c.Hits() {
		add(0, h, "")
	}
	for _, cleared := range c.Cleared { // only a report for the file has them
		h := rules.FoundHit{List: cleared.List, Hit: cleared.Hit, Decision: rules.HitDecision{
			HitDecided: rules.HitDecided{Match: rules.MatchOther, By: cleared.By}, At: cleared.At,
		}}
		if cleared.Run == run {
			add(1, h, "")
		} else {
			add(1, h, cleared.Run)
		}
	}
	if c.Screening != nil {
		var others struct{ Noted, Cleared []verification.Hit }
		_ = json.Unmarshal(c.Data, &others) // a provider may give other data
		for i, hits := range [][]verification.Hit{others.Noted, others.Cleared} {
			for _, h := range hits {
				add(2+i, rules.FoundHit{List: c.Screening.List, Hit: h}, "")
			}
		}
	}
	return groups
}

// hit is the customer beside an entry, how they compare and, in a report for the file, what a
// reviewer decided.
func (l *layout) hit(head string, h listed, r report.Print, node verification.NodeID, t tone) []block {
	blocks := l.hitHead(head, t)
	blocks = append(blocks, l.hitFacts(labels.HitRows(r.Sources[node].Asked, r.Subject, h.Hit, hitWords()), t)...)
	reasons := l.hitReasons(h.Reasons)
	reasons = append(reasons, l.set(fmt.Sprintf("Score of the list: %.0f %%", 100*h.Score), limitValue, styleCell(), cardWidth-cardKeyWidth)...)
	blocks = append(blocks, l.cardEntry(entry{key: "How they compare", lines: reasons}, t, limitText)...)
	d, key := h.Decision, "Decided"
	if h.asked && !h.Settled() {
		key = "Not decided"
	}
	if d.Match == "" && h.asked && r.ForFile {
		blocks = append(blocks, l.cardEntry(entry{key: key, value: "No reviewer has said whether it is the same person or company."}, t, limitText)...)
	}
	if d.Match != "" {
		blocks = append(blocks, l.cardEntry(entry{key: key, value: l.decided(h.FoundHit, h.run, limitText)}, t, limitText)...)
	}
	for i := range blocks[:len(blocks)-1] {
		blocks[i].keep = true // a hit is on one page, as far as it fits
	}
	return blocks
}

// hitHead is the name of the entry.
func (l *layout) hitHead(name string, t tone) []block {
	st := styleStrong()
	text := newParagraph(0, 3, st, l.name(name, st, cardWidth, limitNameLines)...)
	return []block{cardRow(t, text.bottom()+1, column(cardWidth, text))}
}

// hitFacts is a table of the customer beside the entry. What both have is bold, and a birth date
// or a country that only one of them has is said to differ.
func (l *layout) hitFacts(rows []labels.HitRow, t tone) (blocks []block) {
	const factWidth, sideWidth, gap = 35.0, 54.0, 3.0
	heavy := styleCaption()
	heavy.Bold = true
	row := func(st style, fact, customer, entry []typeset.Span, verdict string) []block {
		set := func(spans []typeset.Span, width float64) []typeset.Line {
			return l.spans(spans, limitName, st, width-gap)
		}
		return l.cells(t, nil,
			cell{width: factWidth, style: styleKey(), lines: set(fact, factWidth)},
			cell{width: sideWidth, style: st, lines: set(customer, sideWidth)},
			cell{width: sideWidth, style: st, lines: set(entry, sideWidth)},
			cell{width: cardWidth - factWidth - 2*sideWidth, style: styleKey(), lines: l.set(verdict, limitName, styleKey(), cardWidth-factWidth-2*sideWidth)})
	}
	plain := func(text string) []typeset.Span { return []typeset.Span{{Text: text}} }
	blocks = append(blocks, row(heavy, plain(""), plain("Customer"), plain("Entry"), "")...)
	for _, r := range rows {
		blocks = append(blocks, row(styleCell(), plain(factWord(r.Fact)), spansOf(r.Customer), spansOf(r.Entry), agreement(r))...)
	}
	return blocks
}

// spansOf returns parts with the marked ones in bold.
func spansOf(parts []labels.Part) (spans []typeset.Span) {
	if len(parts) == 0 {
		return []typeset.Span{{Text: "–"}}
	}
	for _, p := range parts {
		spans = append(spans, typeset.Span{Text: p.Text, Bold: p.Mark})
	}
	return spans
}

// agreement says of a fact that both sides have whether it is the same; nothing of names, which
// may be the same in other letters.
func agreement(r labels.HitRow) string {
	if r.Fact != labels.HitBorn && r.Fact != labels.HitCountries || len(r.Customer) == 0 || len(r.Entry) == 0 {
		return ""
	}
	isMarked := func(p labels.Part) bool { return p.Mark }
	isOther := func(p labels.Part) bool { return !p.Mark && p.Text != ", " }
	switch all := slices.Concat(r.Customer, r.Entry); {
	case !slices.ContainsFunc(all, isMarked):
		return "Differs"
	case slices.ContainsFunc(all, isOther):
		return "Differs in part"
	}
	return "The same"
}

// hitReasons sets why a customer and an entry are alike. All reasons of a hit have one direction.
func (l *layout) hitReasons(reasons []string) (lines []typeset.Line) {
	mark := fromLeft
	if labels.FromRight(reasons...) {
		mark = ""
	}
	for _, reason := range reasons {
		lines = append(lines, l.set(mark+reason, limitValue, styleCell(), cardWidth-cardKeyWidth)...)
	}
	return lines
}

// hitWords are English.
func hitWords() labels.HitWords {
	return labels.HitWords{
		CountryCode: func(text string) string {
			code, _ := country.Parse(text)
			return cmp.Or(code, text)
		},
		CountryName: func(code string) string { return country.Name(code, "en") },
		Topic:       topicWord,
	}
}

// topicWord says why an entry is on a list.
func topicWord(topic string) string {
	switch topic {
	case "sanction":
		return "sanctioned"
	case "sanction.linked":
		return "linked to someone sanctioned"
	case "debarment":
		return "debarred"
	case "role.pep":
		return "politically exposed person"
	case "role.rca":
		return "relative or close associate"
	case "poi":
		return "person of interest"
	}
	return strings.ReplaceAll(topic, ".", " ")
}

func factWord(f labels.HitFact) string {
	switch f {
	case labels.HitName:
		return "Name"
	case labels.HitAlias:
		return "Name that matched"
	case labels.HitBorn:
		return "Born"
	case labels.HitCountries:
		return "Countries"
	case labels.HitNumbers:
		return "Numbers"
	case labels.HitTopics:
		return "Listed as"
	}
	return string(f)
}

func matchWord(m rules.HitMatch) string {
	switch m {
	case rules.MatchSame:
		return "The same person"
	case rules.MatchOther:
		return "Another person"
	case rules.MatchUnsure:
		return "Not sure"
	}
	return string(m)
}
