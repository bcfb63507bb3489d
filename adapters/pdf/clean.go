// Makes any text fit to print: bounded, and without what could deceive or crash.

package pdf

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// missing stands for what cannot be shown, and prints as a box.
	missing = utf8.RuneError
	// maxMarks is how many marks one letter may carry.
	maxMarks = 6
)

// clean returns the text as characters that can be printed: at most limit of
// them and a note of what was cut, white space as plain spaces, composed, and
// with a box for each control and each override of the writing direction.
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
			// Kept: the shaper needs it, and it prints nothing by itself.
		case silent(r):
			continue
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && !visibleFormat(r):
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

// shorten cuts the text after limit characters, and returns the note to print
// in their stead.
func shorten(text string, limit int) (kept, note string) {
	if len(text) <= limit {
		return text, ""
	}
	n, end := 0, len(text)
	for i := range text {
		if n == limit {
			end = i
		}
		n++
	}
	if n <= limit {
		return text, ""
	}
	return text[:end], fmt.Sprintf("… (%s of %s characters)", thousands(limit), thousands(n))
}

// joins tells of the characters that steer how their neighbours join or in
// which direction they run. None of them can override a direction.
func joins(r rune) bool {
	switch r {
	case 0x200C, 0x200D, 0x200E, 0x200F, 0x061C: // non-joiner, joiner, direction marks
		return true
	}
	return false
}

// silent tells of the characters that mean nothing on paper.
func silent(r rune) bool {
	switch {
	case r == 0x00AD, r == 0x034F, r == 0x200B, r == 0x2060, r == 0xFEFF: // hints for line breaks
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE0FFF: // variants, tags
		return true
	}
	return false
}

// visibleFormat tells of the format characters that are seen: signs that
// enclose numbers, and such.
func visibleFormat(r rune) bool {
	return r >= 0x0600 && r <= 0x0605 || r == 0x06DD || r == 0x070F || r == 0x08E2 ||
		r == 0x0890 || r == 0x0891 || r == 0x110BD || r == 0x110CD
}

// thousands writes a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
