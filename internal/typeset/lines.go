// Line breaks.

package typeset

import "strings"

// span is the range of characters of one line.
type span struct{ start, end int }

// breakLines breaks text at the opportunities, which are the indexes where a line
// may start; in a word longer than a line, after the punctuation of tokens and
// URLs; and otherwise where the line is full. A character without an advance stays
// with the one before it. No hyphens are added, so that copied text is unchanged;
// spaces at both ends of a line are dropped.
func breakLines(runes []rune, advances []float64, opportunities []bool, width float64) []span {
	var lines []span
	for start := 0; ; {
		x, word, sign, i := 0.0, start, start, start
		for ; i < len(runes); i++ {
			if opportunities[i] && i > start {
				word = i
			}
			if runes[i] != ' ' && advances[i] > 0 && x+advances[i] > width && i > start {
				break
			}
			if strings.ContainsRune("-/_.,;:@&=?|#+", runes[i]) && i+1 < len(runes) && advances[i+1] > 0 {
				sign = i + 1
			}
			x += advances[i]
		}
		if i == len(runes) {
			return append(lines, trim(runes, start, i))
		}
		cut := i
		switch {
		case word > start && wordWidth(runes, advances, opportunities, word) <= width:
			cut = word
		case sign > word && sign <= i:
			cut = sign
		}
		lines = append(lines, trim(runes, start, cut))
		for start = cut; start < len(runes) && runes[start] == ' '; start++ {
		}
	}
}

// trim drops the spaces at the end of a line.
func trim(runes []rune, start, end int) span {
	for end > start && runes[end-1] == ' ' {
		end--
	}
	return span{start, end}
}

// wordWidth returns the width up to the next opportunity or space.
func wordWidth(runes []rune, advances []float64, opportunities []bool, from int) float64 {
	w := 0.0
	for i := from; i < len(runes) && runes[i] != ' ' && (i == from || !opportunities[i]); i++ {
		w += advances[i]
	}
	return w
}
