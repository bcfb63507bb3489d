// Texts of a workflow, as a page shows them.

package pdf

import (
	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/internal/typeset"
)

// marked sets a text of a workflow as a page shows it: with paragraphs, lists, bold parts and,
// after each link, its address.
func (l *layout) marked(text string, st style, width float64) (lines []typeset.Line) {
	const step = 4.0
	for _, line := range l.markdown.Lines(text) {
		left := float64(line.Depth) * step
		spans, plain := make([]typeset.Span, 0, len(line.Spans)+1), ""
		for _, s := range line.Spans {
			spans, plain = append(spans, typeset.Span(s)), plain+s.Text
		}
		marker := line.Marker
		if marker != "" && labels.FromRight(plain) { // the marker is on the right, as the first word
			spans, marker = append([]typeset.Span{{Text: marker + " "}}, spans...), ""
		}
		set := l.spans(spans, limitText, st, width-left)
		for i := range set {
			for j := range set[i].Pieces {
				set[i].Pieces[j].X += left
			}
			set[i].Width += left
		}
		if marker != "" {
			set[0].Pieces = append(l.shifted(marker, st, left-step), set[0].Pieces...)
		}
		lines = append(lines, set...)
	}
	return lines
}

// shifted sets a word at a distance from the start of a line.
func (l *layout) shifted(word string, st style, left float64) []typeset.Piece {
	pieces := l.word(word, st).Pieces
	for i := range pieces {
		pieces[i].X += left
	}
	return pieces
}
