// Numbers that are glued to letters in names of companies.

package names

import (
	"strings"
	"unicode"
)

const decimals = "0123456789"

// apartDigits splits a number from the letters that it is glued to: SPV1 is SPV 1, and No.7 is No 7. A single letter stays with its number,
// because the two are one code: A320, 3M, 24x7. An ordinal, such as 1st, is not split.
func (c *Comparer) apartDigits(w word) []word {
	if !coded(w.plain) {
		return []word{w}
	}
	if _, ok := c.numeral(w, 0, 1); ok {
		return []word{w}
	}
	raw, shown := digitParts(w.raw), digitParts(w.shown)
	if len(raw) == 1 {
		return []word{w}
	}
	var out []word
	for i, text := range raw {
		p := c.tables.transliterate(w.script, strings.Trim(text, "."))
		if p.plain == "" {
			continue
		}
		if p.shown = p.raw; len(shown) == len(raw) {
			p.shown = strings.TrimFunc(shown[i], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
		}
		out = append(out, p)
	}
	return out
}

// coded reports whether a word in ASCII has digits and other characters.
func coded(plain string) bool {
	return strings.ContainsAny(plain, decimals) && strings.Trim(plain, decimals) != ""
}

// digitParts cuts a word between digits and two or more letters, or a character of a script without spaces.
func digitParts(text string) []string {
	var runs []string // of digits or of what is none, in turn
	from, last := 0, ' '
	for i, r := range text {
		if i > 0 && unicode.IsDigit(last) != unicode.IsDigit(r) {
			runs = append(runs, text[from:i])
			from = i
		}
		last = r
	}
	runs = append(runs, text[from:])
	parts := []string{runs[0]}
	for i, run := range runs[1:] {
		if isWord(run) || isWord(runs[i]) {
			parts = append(parts, run)
		} else {
			parts[len(parts)-1] += run
		}
	}
	return parts
}

// isWord reports whether a text has two letters, or a character that is a word or a syllable.
func isWord(text string) bool {
	n := 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
			return true
		case unicode.IsLetter(r):
			n++
		}
	}
	return n > 1
}

// sameDigits reports whether two words have the same digits, in the same order.
func sameDigits(a, b string) bool {
	next := func(s string, i int) int {
		for i < len(s) && (s[i] < '0' || s[i] > '9') {
			i++
		}
		return i
	}
	for i, j := 0, 0; ; i, j = i+1, j+1 {
		i, j = next(a, i), next(b, j)
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		if a[i] != b[j] {
			return false
		}
	}
}
