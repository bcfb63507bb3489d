// Findings: hits and who decided them, what was not screened, what was asked again, and the elements by check.

package pdf

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

// Limits on the first page. The cards have all of it.
const (
	minOpeningHits, maxOpeningHits = 2, 8
	openingLines                   = 3   // checks that were not called, and rounds
	openingReason                  = 120 // characters of a reason
	openingChecks                  = 5   // beside each other in a table of elements
)

// finding is a hit with the check that found it.
type finding struct {
	rules.FoundHit
	check   string
	earlier bool // it is of an earlier visit of the check
	like    rules.Likeness
}

// findings returns the hits of all visits, the closest first, and the lists that were searched with the number of their hits. An entry
// that a check found more than once is there once, with what was decided last.
func findings(r report.Print) (hits []finding, lists []string) {
	count := map[string]int{}
	for _, c := range r.Cards {
		seen := map[verification.ClearedHit]bool{}
		add := func(s *rules.Screening, found []rules.FoundHit, earlier bool) {
			if s != nil && !slices.Contains(lists, s.List) {
				lists = append(lists, s.List)
			}
			for _, h := range found {
				id := verification.ClearedHit{List: h.List, Entry: h.ID, Digest: h.Digest}
				if seen[id] && h.ID != "" {
					continue
				}
				f := finding{FoundHit: h, check: c.Label, earlier: earlier}
				if !earlier {
					f.like = rules.LikenessOf(h.Hit, r.Sources[c.NodeID].Asked, r.Subject)
				}
				seen[id], hits = true, append(hits, f)
				if count[h.List]++; !slices.Contains(lists, h.List) {
					lists = append(lists, h.List)
				}
			}
		}
		add(c.Screening, c.Hits(), false)
		for _, v := range slices.Backward(c.Visits) {
			add(v.Screening, v.Hits(), true)
		}
	}
	for i, list := range lists {
		lists[i] = labels.InWords(list) + " (" + hitCount(count[list]) + ")"
	}
	slices.SortStableFunc(hits, func(a, b finding) int {
		return cmp.Or(a.like.Compare(b.like), cmp.Compare(b.Score, a.Score))
	})
	return hits, lists
}

// screening is how many hits there are on which lists and, in a report for the file, what was decided about each, as far as there is
// room; nothing if nobody was screened.
func (l *layout) screening(r report.Print, room float64) []section {
	hits, lists := findings(r)
	if len(lists) == 0 {
		return nil
	}
	found, t := make([]rules.FoundHit, len(hits)), toneNeutral()
	for i, h := range hits {
		if found[i] = h.FoundHit; h.Decision.Match != rules.MatchOther {
			t = toneCaution()
		}
	}
	title, text := "Screening: "+hitCount(len(hits)), "Lists: "+strings.Join(lists, ", ")+"."
	if !r.ForFile || len(hits) == 0 {
		return []section{{blocks: append(append(l.toned(t, title, nil), l.tonedText(t, text)...), space(2))}}
	}
	left := 0
	for _, c := range r.Cards {
		left += len(c.Cleared)
	}
	if left > 0 {
		text += " Left out, because reviewers decided before: " + typeset.Thousands(left) + "."
	}
	rows := &table{columns: []string{"Entry, and the check that found it", "Decision"}, fixed: []float64{70, cardWidth - 70}}
	for _, h := range hits[:min(len(hits), maxOpeningHits)] {
		rows.rows = append(rows.rows, l.hitRow(h))
	}
	for {
		said := text
		if more := len(hits) - len(rows.rows); more > 0 {
			said += " The closest hits are here, and " + typeset.Thousands(more) + " more below the steps that found them."
		}
		s := l.framed(0, "Screening: "+hitsWord(found), "", t, l.openingTable(said, rows, t))
		if len(rows.rows) <= minOpeningHits || height(s.blocks) <= room {
			return []section{s}
		}
		rows.rows = rows.rows[:len(rows.rows)-1]
	}
}

// hitRow is who was found by which check, and what was decided.
func (l *layout) hitRow(h finding) []string {
	who := fromLeft + cmp.Or(h.Name, h.ID, "–")
	if born := cmp.Or(h.like.Date, strings.Join(h.BirthDates, ", ")); born != "" {
		who += ", born " + l.formatter.text(born)
	}
	if who += "\n" + fromLeft + h.check + ", " + labels.InWords(h.List); h.earlier {
		who += ", on an earlier visit"
	}
	return []string{who, l.decided(h.FoundHit, "", openingReason)}
}

// openingTable is a table that does not count as data.
func (l *layout) openingTable(text string, rows *table, t tone) []block {
	more, left := 0, l.linesLeft
	defer func() { l.linesLeft = left }()
	return l.cardTable(entry{key: text, table: rows}, t, &more)
}

// decided says what reviewers decided about a hit, in another run if there is one, with up to so many characters of the reason.
func (l *layout) decided(h rules.FoundHit, run verification.RunID, limit int) string {
	d := h.Decision
	switch {
	case h.ID == "" && d.Match == "":
		return "–" // it is redacted
	case d.Match == "":
		return "Not decided"
	}
	text := matchWord(d.Match) + ", by " + cmp.Or(d.By, "a client of the API") + " on " + l.time(d.At)
	if run != "" {
		text += "\nIn the run " + string(run)
	}
	if d.Reason != "" {
		text += "\n" + cut(d.Reason, limit)
	}
	return text
}

func cut(text string, limit int) string {
	if all := []rune(text); len(all) > limit {
		return string(all[:limit]) + "…"
	}
	return text
}

func hitCount(n int) string {
	if n == 0 {
		return "no hits"
	}
	return strings.TrimPrefix(flaggedFor(n), ", ")
}

// hitsWord counts hits by what reviewers decided.
func hitsWord(hits []rules.FoundHit) string {
	words := map[rules.HitMatch]string{rules.MatchSame: "the same person", "": "not decided", rules.MatchUnsure: "not sure", rules.MatchOther: "another person"}
	text, of := hitCount(len(hits)), map[rules.HitMatch]int{}
	for _, h := range hits {
		of[h.Decision.Match]++
	}
	for _, m := range []rules.HitMatch{rules.MatchSame, "", rules.MatchUnsure, rules.MatchOther} {
		switch n := of[m]; n {
		case 0:
		case len(hits):
			text += ", " + words[m]
		default:
			text += fmt.Sprintf(", %d %s", n, words[m])
		}
	}
	return text
}

// unscreened are the checks that screen and that the run has not called.
func (l *layout) unscreened(all []rules.Unscreened) []block {
	lines := make([]string, len(all))
	for i, u := range all {
		lines[i] = u.Label + ": " + u.Reason()
	}
	return l.listed("Not screened", lines)
}

// again are the times at which the customer was asked again, oldest first.
func (l *layout) again(r report.Print) []block {
	type asked struct {
		report.Round
		step string
	}
	var all []asked
	for _, c := range r.Cards {
		for _, round := range r.Rounds[c.NodeID] {
			all = append(all, asked{round, c.Label})
		}
	}
	slices.SortStableFunc(all, func(a, b asked) int { return a.At.Compare(b.At) })
	lines := make([]string, len(all))
	for i, a := range all {
		lines[i] = a.step + ": " + l.roundAsked(a.Round, " ")
	}
	return l.listed("Asked again", lines)
}

// listed is a heading and lines in the tone of caution, up to the limit of the first page; nothing without lines.
func (l *layout) listed(title string, lines []string) []block {
	if len(lines) == 0 {
		return nil
	}
	if more := len(lines) - openingLines; more > 0 {
		lines = append(lines[:openingLines:openingLines], "And "+typeset.Thousands(more)+" more. The report that the API returns has all of them.")
	}
	for i := range lines {
		lines[i] = cut(lines[i], 3*openingReason)
	}
	blocks := l.toned(toneCaution(), title, nil)
	return append(append(blocks, l.tonedText(toneCaution(), strings.Join(lines, "\n"))...), space(2))
}

// elements is a table of the elements of a list by check.
func (l *layout) elements(e *report.ElementTable) section {
	t, body := toneNeutral(), []block(nil)
	hits, unscreened := e.Counts()
	text := fmt.Sprintf("%d in the list, %d with hits, %d not screened.", len(e.Rows), hits, unscreened)
	for from := 0; from < len(e.Checks); from += openingChecks {
		to := min(from+openingChecks, len(e.Checks))
		const name, born = 38.0, 22.0
		each := math.Floor((cardWidth-name-born)/float64(to-from)*gridPerMillimetre) / gridPerMillimetre
		rows := &table{columns: append([]string{"Name", "Born"}, e.Checks[from:to]...), fixed: []float64{name, born}}
		rows.fixed = append(rows.fixed, slices.Repeat([]float64{each}, to-from)...)
		rows.fixed[len(rows.fixed)-1] += cardWidth - name - born - each*float64(to-from)
		for _, row := range e.Rows {
			texts := []string{fromLeft + row.Name, cmp.Or(l.formatter.text(row.Born), "–")}
			for _, c := range row.Cells[from:to] {
				texts = append(texts, cellWord(c))
			}
			rows.rows = append(rows.rows, texts)
		}
		body, text = append(body, l.openingTable(text, rows, t)...), "More checks"
	}
	return l.framed(0, e.Title+", by check", "", t, body)
}

// cellWord is what a check says of an element.
func cellWord(c report.ElementCell) string {
	switch {
	case c.StoppedBy != "":
		return "Not screened: " + c.StoppedBy + " failed"
	case c.Unscreened != nil:
		return "Not screened"
	case len(c.Found) > 0:
		return hitsWord(c.Found)
	case c.Clear():
		return "No hit"
	}
	return labels.InWords(string(c.Answer))
}
