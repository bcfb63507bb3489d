// Tables: the rows of a card, and lists of objects with a column for each field.

package pdf

import (
	"math"
	"unicode/utf8"

	"github.com/johnfercher/maroto/v2/pkg/consts/border"
	"github.com/johnfercher/maroto/v2/pkg/core"

	"github.com/verifyd/verifyd/internal/typeset"
)

// cell is a part of a row of a card.
type cell struct {
	width float64
	style style
	lines []typeset.Line
	left  float64 // where they begin
}

// cells is a row with a line below it, in chunks that may be on different pages. It counts
// its lines.
func (l *layout) cells(t tone, head *block, row ...cell) (blocks []block) {
	const pad = 1.0
	total := 0
	for _, c := range row {
		total = max(total, len(c.lines))
	}
	l.linesLeft -= total
	for at := 0; at < total; at += chunkLines {
		end := min(at+chunkLines, total)
		top, bottom, sides := 0.0, 0.0, border.None
		if at == 0 {
			top = pad
		}
		if end == total {
			bottom, sides = pad, border.Bottom
		}
		var cols []core.Col
		leading := 0.0
		for _, c := range row {
			leading = max(leading, c.style.Leading())
			cols = append(cols, bordered(c.width, sides, inkLine, newParagraph(c.left, top, c.style, part(c.lines, at, end)...)))
		}
		b := cardRow(t, top+float64(end-at)*leading+bottom, cols...)
		b.head = head
		blocks = append(blocks, b)
	}
	return blocks
}

// cardTable is a list of objects under its label. It adds the rows that are beyond the limit of
// the document to more.
func (l *layout) cardTable(e entry, t tone, more *int) []block {
	const gap = 3.0
	heavy := styleCaption()
	heavy.Bold = true
	widths := e.table.fixed
	if widths == nil {
		widths = e.table.widths()
	}
	line := func(head *block, st style, texts []string) []block {
		var row []cell
		for i, w := range widths {
			text := ""
			if i < len(texts) {
				text = texts[i]
			}
			c := cell{width: w, style: st, lines: l.paragraphs(text, limitValue, st, w-gap)}
			if i < len(e.table.words) && !e.table.words[i] && len(c.lines) == 1 {
				c.left = w - gap - c.lines[0].Width // the digits of numbers are below each other
			}
			row = append(row, c)
		}
		return l.cells(t, head, row...)
	}
	blocks := l.cells(t, nil, cell{width: cardWidth, style: styleKey(), lines: l.set(e.key, limitName, styleKey(), cardWidth)})
	heads := line(nil, heavy, e.table.columns)
	for _, b := range heads {
		b.keep = true
		blocks[len(blocks)-1].keep = true
		blocks = append(blocks, b)
	}
	var head *block
	if len(heads) == 1 {
		head = &heads[0]
	}
	for i, texts := range e.table.rows {
		if l.linesLeft <= 0 {
			*more += len(e.table.rows) - i
			break
		}
		blocks = append(blocks, line(head, styleCell(), texts)...)
	}
	return blocks
}

// widths divides the width of a card by the longest texts of the columns.
func (t *table) widths() []float64 {
	weights, sum := make([]float64, len(t.columns)), 0.0
	for i, title := range t.columns {
		longest := utf8.RuneCountInString(title)
		for _, row := range t.rows {
			if i < len(row) {
				longest = max(longest, utf8.RuneCountInString(row[i]))
			}
		}
		weights[i] = float64(min(max(longest, 5), 40)) + 3
		sum += weights[i]
	}
	widths, left := make([]float64, len(weights)), cardWidth
	for i, w := range weights {
		widths[i] = math.Floor(cardWidth*w/sum*gridPerMillimetre) / gridPerMillimetre
		left -= widths[i]
	}
	widths[len(widths)-1] += left
	return widths
}

// part returns the lines from one index to another, as far as there are any.
func part(lines []typeset.Line, from, to int) []typeset.Line {
	return lines[min(from, len(lines)):min(to, len(lines))]
}
