// Lays out one card: a step, its status, and its data.

package pdf

import (
	"fmt"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/pdf/typeset"
	"github.com/verifyd/verifyd/verification"
)

// Measures of a card.
const (
	cardBar      = 1.3 // the bar of the status's colour at the left edge
	cardPad      = 5.0
	cardWidth    = contentWidth - cardPad - 4
	cardKeyWidth = 56.0
	cardGap      = 4.5 // below a card
	cardSeam     = 5.5
	rowPad       = 1.0
	// chunkLines is how many lines of one value stay together.
	chunkLines = 12
)

// printed returns what is printed of a card. The time at which a review step was
// completed is that of its verdict, and its data the verdict itself: neither is
// printed.
func printed(c verification.Card) verification.Card {
	if c.Type == verification.NodeReview {
		c.CompletedAt, c.Data = time.Time{}, nil
	}
	return c
}

// card lays out the step that is number n of the report.
func (l *layout) card(n int, c verification.Card) group {
	c = printed(c)
	word, t := cardStatus(c.Status)
	again := l.cardHeading(n, c.Label, word, t, "continued")
	g := group{
		blocks:  []block{{drawing: l.cardHeading(n, c.Label, word, t, "")}, l.cardFacts(c)},
		heading: &again,
		seam:    l.cardSeam(),
	}
	if strings.TrimSpace(c.Reason) != "" {
		g.blocks = append(g.blocks, l.cardReason(c.Reason, t)...)
	}
	if table := l.cardData(c.Data); len(table) > 0 {
		g.blocks[len(g.blocks)-1].holds = true
		g.blocks = append(g.blocks, table...)
	}
	g.blocks[0].holds, g.blocks[1].holds = true, true
	for i := range g.blocks {
		g.blocks[i].sides(t)
	}
	g.heading.sides(t)
	g.seam.sides(t)
	foot := block{drawing: drawing{height: 2.2 + cardGap}}
	foot.fill(0, 0, cardBar, 2.2, t.dark)
	foot.fill(contentWidth-hairline, 0, hairline, 2.2, inkLine)
	foot.fill(0, 2.2-hairline, contentWidth, hairline, inkLine)
	g.blocks[len(g.blocks)-1].holds = true
	g.blocks = append(g.blocks, foot)
	return g
}

// sides draws what runs down both edges of a card.
func (d *drawing) sides(t tone) {
	d.fill(contentWidth-hairline, 0, hairline, d.height, inkLine)
	d.fill(0, 0, cardBar, d.height, t.dark)
}

// cardHeading is the strip with the number, the label and the status.
func (l *layout) cardHeading(n int, label, word string, t tone, remark string) drawing {
	const badgeRoom = 36
	st := styleHeading()
	number := st
	number.ink = inkMuted
	figure := l.word(fmt.Sprintf("%d.", n), number)
	indent := cardPad + max(figure.Width, 4.5) + 1.8
	if strings.TrimSpace(label) == "" {
		label = "Step"
	}
	var d drawing
	lines := l.name(label, st, contentWidth-indent-badgeRoom, limitNameLines)
	height := 2*1.6 + float64(len(lines))*st.Leading()
	d.fill(0, 0, contentWidth, height, inkPanel)
	d.fill(0, 0, contentWidth, hairline, inkLine)
	d.line(figure, cardPad, 1.6+st.Ascent(), number)
	d.lines(lines, indent, 1.6, st)
	if remark != "" {
		last := lines[len(lines)-1]
		y := 1.6 + st.Ascent() + float64(len(lines)-1)*st.Leading()
		d.line(l.word("("+remark+")", styleKey()), indent+last.Width+1.6, y, styleKey())
	}
	l.badge(&d, contentWidth-4, 1.6+(st.Leading()-5)/2, word, t, 1)
	d.height = height
	return d
}

// cardFacts are the captions and values below the heading, in three columns.
func (l *layout) cardFacts(c verification.Card) block {
	dispatches := ""
	if c.Dispatches > 0 {
		dispatches = fmt.Sprint(c.Dispatches)
	}
	facts := [][2]string{
		{"Type", typeName(c.Type)},
		{"Key", c.Key},
		{"Node ID", string(c.NodeID)},
		{"Started", moment(c.StartedAt)},
		{"Completed", moment(c.CompletedAt)},
		{"Dispatches", dispatches},
	}
	if c.Type == verification.NodeReview {
		facts = [][2]string{facts[0], facts[2], facts[3]} // it has none of the others to show
	}
	const columns, gap = 3, 4.0
	width := (cardWidth - (columns-1)*gap) / columns
	var d drawing
	y := 1.8
	for i := 0; i < len(facts); i += columns {
		bottom := y
		for j, fact := range facts[i : i+columns] {
			bottom = max(bottom, l.fact(&d, fact[0], fact[1], cardPad+float64(j)*(width+gap), y, width))
		}
		y = bottom + 1.1
	}
	d.height = y + 0.4
	return block{drawing: d}
}

// cardReason stands out, because it is what a reader looks for.
func (l *layout) cardReason(reason string, t tone) []block {
	const pad = 1.3
	blocks := l.chunks(reason, styleBody(), cardPad+3, cardWidth-6)
	for i := range blocks {
		d := &blocks[i].drawing
		if i == 0 {
			d.shift(pad + 0.4)
			d.fill(cardPad, 0.4, cardWidth, d.height-0.4, t.pale)
		} else {
			d.fill(cardPad, 0, cardWidth, d.height, t.pale)
		}
	}
	last := &blocks[len(blocks)-1].drawing
	last.fill(cardPad, last.height, cardWidth, pad, t.pale)
	last.height += pad + 1.6
	return blocks
}

// cardData is the table of values.
func (l *layout) cardData(data verification.Data) []block {
	rows, more := rowsOf(data, limitRows)
	if len(rows) == 0 {
		return nil
	}
	head := block{drawing: drawing{height: 6.2}, holds: true}
	st := styleCaption()
	st.Bold = true
	head.line(l.word("Field", st), cardPad, 4.2, st)
	head.line(l.word("Value", st), cardPad+cardKeyWidth, 4.2, st)
	head.fill(cardPad, 6, cardWidth, hairline, inkMuted)
	blocks := []block{head}
	for i, r := range rows {
		if l.linesLeft <= 0 {
			more += len(rows) - i
			break
		}
		blocks = append(blocks, l.cardRow(r)...)
	}
	if len(blocks) > 3 {
		blocks[len(blocks)-2].holds = true // the last row does not go over alone
	}
	if more > 0 {
		var d drawing
		d.height = d.lines(l.set(typeset.Thousands(more)+" more values are not printed here. They stand in the report that the API returns.",
			limitName, styleKey(), cardWidth), cardPad, 1.6, styleKey()) + 1
		blocks = append(blocks, block{drawing: d})
	}
	return blocks
}

// cardRow is one row of the table, in chunks that may part at the end of a page.
func (l *layout) cardRow(r entry) []block {
	const gap = 4.0
	keys := l.set(r.key, limitName, styleKey(), cardKeyWidth-gap)
	st := styleCell()
	if r.quiet {
		st.ink = inkMuted
	}
	values := l.set(r.value, limitValue, st, cardWidth-cardKeyWidth)
	total := max(len(keys), len(values))
	l.linesLeft -= total
	var blocks []block
	for at := 0; at < total; at += chunkLines {
		end := min(at+chunkLines, total)
		var d drawing
		top := 0.0
		if at == 0 {
			top = rowPad
		}
		d.lines(part(keys, at, end), cardPad, top, styleKey())
		d.lines(part(values, at, end), cardPad+cardKeyWidth, top, st)
		d.height = top + float64(end-at)*st.Leading()
		if end == total {
			d.height += rowPad
			d.fill(cardPad, d.height-hairline, cardWidth, hairline, inkLine)
		}
		blocks = append(blocks, block{drawing: d})
	}
	return blocks
}

// part is the lines from one index to another, as far as there are any.
func part(lines []typeset.Line, from, to int) []typeset.Line {
	return lines[min(from, len(lines)):min(to, len(lines))]
}

// cardSeam closes a card at the end of a page that it goes on after.
func (l *layout) cardSeam() *drawing {
	d := drawing{height: cardSeam}
	text := l.word("Continued on the next page", styleCaption())
	d.line(text, contentWidth-4-text.Width, 3.6, styleCaption())
	d.fill(0, cardSeam-hairline, contentWidth, hairline, inkLine)
	return &d
}

func cardStatus(s verification.CardStatus) (string, tone) {
	switch s {
	case verification.CardOK:
		return "OK", toneGood()
	case verification.CardFailed:
		return "FAILED", toneBad()
	case verification.CardNeedsReview:
		return "NEEDS REVIEW", toneCaution()
	}
	return "UNKNOWN", toneNeutral()
}

func typeName(t verification.NodeType) string {
	switch t {
	case verification.NodeConsent:
		return "Consent"
	case verification.NodeCustomerInput:
		return "Customer input"
	case verification.NodeCheck:
		return "Check"
	case verification.NodeReview:
		return "Review"
	case verification.NodeBranch, verification.NodeEnd:
	}
	return string(t)
}
