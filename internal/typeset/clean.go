// Cleaning of text: bounded, and without characters that mislead or crash.

package typeset

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// missing replaces what cannot be set.
	missing = utf8.RuneError
	// maxMarks limits the marks of one letter.
	maxMarks = 6
)

// clean returns at most limit characters of the text, composed, with plain spaces
// as white space, missing in place of control characters and overrides of the
// writing direction, and a note if characters were cut.
func clean(text string, limit int) []rune {
	text, cut := shorten(text, limit)
	out := make([]rune, 0, len(text)+len(cut))
	marks := 0
	for _, r := range norm.NFC.String(text) {
		switch {
		case r == '\r' || r == '\n' || r == '\t' || r == '\v' || r == '\f' || r == 0x85,
			unicode.Is(unicode.Z, r) && r != 0xA0:
			r = ' '
		case joins(r):
			// The shaper needs it; it has no glyph of its own.
		case invisible(r):
			continue
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r):
			r = missing
		}
		if unicode.In(r, unicode.Mn, unicode.Me) {
			if marks++; marks > maxMarks {
				continue
			}
		} else {
			marks = 0
		}
		out = append(out, r)
	}
	return append(out, []rune(cut)...)
}

// shorten cuts the text after limit characters, and returns a note of how many
// there are.
func shorten(text string, limit int) (kept, note string) {
	if len(text) <= limit {
		return text, ""
	}
	n, end := 0, len(text)
	for i, r := range text {
		if directs(r) {
			continue
		}
		if n == limit {
			end = i
		}
		n++
	}
	if n <= limit {
		return text, ""
	}
	return text[:end], fmt.Sprintf("… (%s of %s characters)", Thousands(limit), Thousands(n))
}

// joins reports whether a character controls how its neighbours join or in which
// direction they run, without overriding the direction of letters.
func joins(r rune) bool {
	return r == 0x200C || r == 0x200D || directs(r)
}

// directs reports whether a character only says in which direction its neighbours run.
func directs(r rune) bool {
	return r == 0x200E || r == 0x200F || r == 0x061C || r >= isolateLeft && r <= isolateEnd
}

// invisible reports whether a character has no meaning in print.
func invisible(r rune) bool {
	switch {
	case r == 0x00AD, r == 0x034F, r == 0x200B, r == 0x2060, r == 0xFEFF: // hints for line breaks
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE0FFF: // variants, tags
		return true
	}
	return false
}

// Thousands formats a number with commas.
func Thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", Thousands(n/1000), n%1000)
}

// ScriptsOf returns the names of the scripts of characters, in order; Common for characters
// of no script, such as emoji.
func ScriptsOf(runes []rune) []string {
	var names []string
	for _, r := range runes {
		name := "Unknown"
		for script, table := range unicode.Scripts {
			if unicode.Is(table, r) {
				name = script
			}
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
