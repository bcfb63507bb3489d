// Cards: the status and the data of a step.

package pdf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/johnfercher/maroto/v2/pkg/consts/border"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/props"

	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification"
)

// Measures of a card, in millimetres. From the left: the bar in the colour of the
// status, padding, the content, padding, and a line.
const (
	cardBar      = 1.3
	cardLeft     = 3.7
	cardWidth    = 165.0
	cardRight    = contentWidth - cardBar - cardLeft - cardWidth - hairline
	cardKeyWidth = 56.0
	// chunkLines is how many lines of one value stay together.
	chunkLines = 12
)

func (l *layout) card(n int, c verification.Card) section {
	word, t := cardStatus(c.Status)
	continued := l.cardHeading(n, c.Label, word, t, "(continued)")
	ending := l.cardEnding(t)
	blocks := []block{l.cardHeading(n, c.Label, word, t, "")}
	blocks = append(blocks, l.cardFacts(c, t)...)
	for i := range blocks {
		blocks[i].keep = true
	}
	if strings.TrimSpace(c.Reason) != "" {
		blocks = append(blocks, l.cardReason(c.Reason, t)...)
	}
	if c.Type != verification.NodeReview { // the data of a review is its verdict, which is not printed
		if table := l.cardData(c.Data, c.DataSchema, t); len(table) > 0 {
			blocks[len(blocks)-1].keep = true
			blocks = append(blocks, table...)
		}
	}
	blocks = append(blocks, l.cardVisits(c, t)...)
	blocks[len(blocks)-1].keep = true
	foot := newBlock(2, filled(cardBar, t.dark), bordered(contentWidth-cardBar-hairline, border.Bottom, inkLine), filled(hairline, inkLine))
	foot.keep = true
	return section{blocks: append(blocks, foot, space(4.5)), heading: &continued, ending: &ending}
}

// cardRow returns a row of columns that add up to cardWidth, with the edges of a
// card.
func cardRow(t tone, height float64, cols ...core.Col) block {
	edges := slices.Concat([]core.Col{filled(cardBar, t.dark), column(cardLeft)}, cols,
		[]core.Col{column(cardRight), filled(hairline, inkLine)})
	return newBlock(height, edges...)
}

// cardHeading is the strip with the number, the label and the status.
func (l *layout) cardHeading(n int, label, word string, t tone, remark string) block {
	const badgeWidth, top = 36.0, 1.6
	st := styleHeading()
	number := st
	number.ink = inkMuted
	figure := l.word(fmt.Sprintf("%d.", n), number)
	indent := cardLeft + max(figure.Width, 4.5) + 1.8
	if strings.TrimSpace(label) == "" {
		label = "Step"
	}
	width := contentWidth - cardBar - badgeWidth - hairline
	lines := l.name(label, st, width-indent, limitNameLines)
	text := newParagraph(indent, top, st, lines...)
	parts := []core.Component{newParagraph(cardLeft, top, number, figure), text}
	if remark != "" {
		line := l.word(remark, styleKey())
		baseline := text.bottom() - st.Leading() + st.Ascent()
		parts = append(parts, newParagraph(indent+lines[len(lines)-1].Width+1.6, baseline-styleKey().Ascent(), styleKey(), line))
	}
	strip := func(width float64, parts ...core.Component) core.Col {
		return column(width, parts...).WithStyle(&props.Cell{
			BackgroundColor: inkPanel.color(), BorderType: border.Top, BorderColor: inkLine.color(), BorderThickness: hairline,
		})
	}
	return newBlock(text.bottom()+top,
		filled(cardBar, t.dark), strip(width, parts...),
		strip(badgeWidth, l.newBadge(badgeWidth-4+hairline, top+(st.Leading()-5)/2, word, t, 1)), filled(hairline, inkLine))
}

// cardFacts are captions and values in three columns.
func (l *layout) cardFacts(c verification.Card, t tone) []block {
	dispatches := ""
	if c.Dispatches > 0 {
		dispatches = fmt.Sprint(c.Dispatches)
	}
	facts := [][2]string{
		{"Type", typeName(c.Type)},
		{"Key", c.Key},
		{"Node ID", string(c.NodeID)},
		{"Started", timestamp(c.StartedAt)},
		{"Completed", timestamp(c.CompletedAt)},
		{"Dispatches", dispatches},
	}
	if c.Type == verification.NodeReview {
		// A review has no key and no dispatches, and is completed at the time of its
		// verdict, which is not printed.
		facts = [][2]string{facts[0], facts[2], facts[3]}
	}
	if earlier := len(c.Visits) + c.VisitsOmitted; earlier > 0 {
		last := typeset.Thousands(earlier + 1)
		facts = append(facts, [2]string{"Visits", last + "; here is visit " + last})
	}
	const columns, gap = 3, 3.0
	width := cardWidth / columns
	blocks := []block{}
	for row := range slices.Chunk(facts, columns) {
		var cols []core.Col
		top, bottom := 0.0, 0.0
		if len(blocks) == 0 {
			top = 1.8
		}
		for _, fact := range row {
			parts, end := l.fact(fact[0], fact[1], 0, top, width-gap)
			cols, bottom = append(cols, column(width, parts...)), max(bottom, end)
		}
		for len(cols) < columns {
			cols = append(cols, column(width))
		}
		blocks = append(blocks, cardRow(t, bottom+1.3, cols...))
	}
	return blocks
}

// cardReason is the reason for the status, on a background of its colour.
func (l *layout) cardReason(reason string, t tone) []block {
	const pad = 1.3
	var blocks []block
	chunks := slices.Collect(slices.Chunk(l.set(reason, limitValue, styleBody(), cardWidth-6), chunkLines))
	for i, lines := range chunks {
		text := newParagraph(3, 0, styleBody(), lines...)
		if i == 0 {
			text.top = pad
		}
		height := text.bottom()
		if i == len(chunks)-1 {
			height += pad
		}
		blocks = append(blocks, cardRow(t, height, filled(cardWidth, t.pale, text)))
	}
	blocks[len(blocks)-1].keep = true
	return append(blocks, cardRow(t, 1.6, column(cardWidth)))
}

// visitLines is how many lines of data a visit without data counts as.
const visitLines = 4

// cardVisits are the earlier visits of a step, the newest first: the number, status and
// times of each, its reason and its data.
func (l *layout) cardVisits(c verification.Card, t tone) []block {
	var blocks []block
	more := c.VisitsOmitted
	for i, v := range slices.Backward(c.Visits) {
		if l.linesLeft -= visitLines; l.linesLeft <= 0 {
			more += i + 1
			break
		}
		blocks = append(blocks, l.visitHeading(v, len(c.Visits)+c.VisitsOmitted+1, t))
		if strings.TrimSpace(v.Reason) != "" {
			_, own := cardStatus(v.Status)
			blocks = append(blocks, l.cardReason(v.Reason, tone{t.dark, own.pale})...)
		}
		if table := l.cardData(v.Data, c.DataSchema, t); c.Type != verification.NodeReview && len(table) > 0 {
			blocks[len(blocks)-1].keep = true
			blocks = append(blocks, table...)
		}
	}
	if more > 0 {
		text := newParagraph(0, 1.6, styleKey(), l.set(typeset.Thousands(more)+
			" more earlier visits of this step are not printed here.", limitName, styleKey(), cardWidth)...)
		blocks = append(blocks, cardRow(t, text.bottom()+1, column(cardWidth, text)))
	}
	return blocks
}

// visitHeading is the strip with the number, the times and the status of a visit, of so many.
func (l *layout) visitHeading(v verification.CardVisit, of int, t tone) block {
	const above, height, badgeWidth = 2.4, 7.2, 36.0
	word, own := cardStatus(v.Status)
	name := l.word("Visit "+typeset.Thousands(v.Number)+" of "+typeset.Thousands(of), styleStrong())
	facts := "Started " + timestamp(v.StartedAt)
	if !v.CompletedAt.IsZero() {
		facts += "   Completed " + timestamp(v.CompletedAt)
	}
	if v.Dispatches > 0 {
		facts += fmt.Sprintf("   Dispatches %d", v.Dispatches)
	}
	baseline := above + height/2 + 1.1
	parts := []core.Component{
		newParagraph(0, baseline-styleStrong().Ascent(), styleStrong(), name),
		newParagraph(name.Width+3, baseline-styleKey().Ascent(), styleKey(), l.word(facts, styleKey())),
	}
	b := cardRow(t, above+height+1.2,
		bordered(cardWidth-badgeWidth, border.Top, inkMuted, parts...),
		bordered(badgeWidth, border.Top, inkMuted, l.newBadge(badgeWidth, above+(height-5)/2, word, own, 1)))
	b.keep = true
	return b
}

func (l *layout) cardData(d verification.Data, s verification.DataSchema, t tone) []block {
	entries, more := rowsOf(d, s, limitRows)
	if len(entries) == 0 {
		return nil
	}
	st := styleCaption()
	st.Bold = true
	top := 4.2 - st.Ascent()
	head := cardRow(t, 6.1,
		bordered(cardKeyWidth, border.Bottom, inkMuted, newParagraph(0, top, st, l.word("Field", st))),
		bordered(cardWidth-cardKeyWidth, border.Bottom, inkMuted, newParagraph(0, top, st, l.word("Value", st))))
	head.keep = true
	blocks := []block{head}
	for i, e := range entries {
		if l.linesLeft <= 0 {
			more += len(entries) - i
			break
		}
		blocks = append(blocks, l.cardEntry(e, t)...)
	}
	if len(blocks) > 3 {
		blocks[len(blocks)-2].keep = true // the last row is not alone on a page
	}
	if more > 0 {
		text := newParagraph(0, 1.6, styleKey(), l.set(typeset.Thousands(more)+
			" more values are not printed here. The report that the API returns has them.", limitName, styleKey(), cardWidth)...)
		blocks = append(blocks, cardRow(t, text.bottom()+1, column(cardWidth, text)))
	}
	return blocks
}

// cardEntry is one row of the table, in chunks that may be on different pages.
func (l *layout) cardEntry(e entry, t tone) []block {
	const gap, pad = 4.0, 1.0
	st := styleCell()
	if e.empty {
		st.ink = inkMuted
	}
	keys := l.set(e.key, limitName, styleKey(), cardKeyWidth-gap)
	values := l.set(e.value, limitValue, st, cardWidth-cardKeyWidth)
	total := max(len(keys), len(values))
	l.linesLeft -= total
	var blocks []block
	for at := 0; at < total; at += chunkLines {
		end := min(at+chunkLines, total)
		top, bottom, sides := 0.0, 0.0, border.None
		if at == 0 {
			top = pad
		}
		if end == total {
			bottom, sides = pad, border.Bottom
		}
		blocks = append(blocks, cardRow(t, top+float64(end-at)*st.Leading()+bottom,
			bordered(cardKeyWidth, sides, inkLine, newParagraph(0, top, styleKey(), part(keys, at, end)...)),
			bordered(cardWidth-cardKeyWidth, sides, inkLine, newParagraph(0, top, st, part(values, at, end)...))))
	}
	return blocks
}

// part returns the lines from one index to another, as far as there are any.
func part(lines []typeset.Line, from, to int) []typeset.Line {
	return lines[min(from, len(lines)):min(to, len(lines))]
}

// cardEnding is the last row of a card on a page if the card continues.
func (l *layout) cardEnding(t tone) block {
	line := l.word("Continued on the next page", styleCaption())
	width := contentWidth - cardBar - hairline
	return newBlock(5.4, filled(cardBar, t.dark),
		bordered(width, border.Bottom, inkLine, newParagraph(width-4+hairline-line.Width, 3.6-styleCaption().Ascent(), styleCaption(), line)),
		filled(hairline, inkLine))
}

func cardStatus(s verification.CardStatus) (string, tone) {
	switch s {
	case verification.CardOK:
		return "OK", toneGood()
	case verification.CardFailed:
		return "FAILED", toneBad()
	case verification.CardNeedsReview:
		return "FLAGGED", toneCaution() // also after a verdict, of which nothing is printed
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
