// Corrections beside the values of a card.

package pdf

import (
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification/rules"
)

// beside returns the corrections below each row: of its value, of one inside it or, below the last of them,
// of the object or list that its value is in. rest are the corrections of values that have no row.
func beside(rows []entry, all []rules.Correction) (below [][]rules.Correction, rest []rules.Correction) {
	below = make([][]rules.Correction, len(rows))
	for _, c := range all {
		row, inside := -1, -1
		for i, e := range rows {
			switch {
			case within(e.path, c.Field) && (row < 0 || len(e.path) > len(rows[row].path)):
				row = i
			case within(c.Field, e.path):
				inside = i
			}
		}
		if row < 0 {
			row = inside
		}
		if row < 0 {
			rest = append(rest, c)
			continue
		}
		below[row] = append(below[row], c)
	}
	return below, rest
}

// within reports whether a path is one of a value, or leads to it.
func within(path, value string) bool {
	below, begins := strings.CutPrefix(value, path)
	return path != "" && begins && (below == "" || below[0] == '.' || below[0] == '[')
}

// cardCorrections are the corrections below a row. It adds those that are beyond the limit of the document to
// more.
func (l *layout) cardCorrections(e entry, all []rules.Correction, t tone, more *int) (blocks []block) {
	for i, c := range all {
		if l.linesLeft <= 0 {
			*more += len(all) - i
			break
		}
		text := "Corrected " + l.time(c.At)
		if c.By != "" {
			text += " by " + c.By
		}
		if c.Field != e.path {
			text += " (" + c.Field + ")"
		}
		row := l.cells(t, nil,
			cell{width: cardKeyWidth, style: styleKey()},
			cell{width: cardWidth - cardKeyWidth, style: styleKey(), lines: l.paragraphs(text+": "+c.Text, limitValue, styleKey(), cardWidth-cardKeyWidth)})
		blocks = slices.Concat(blocks, row)
	}
	return blocks
}
