// Package fold gives texts a form in which equal names are equal.
package fold

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Name returns the letters and digits of a text without what two ways of writing one name
// differ in: case, marks above and below letters, punctuation, spaces, and characters that
// are not seen. Vowel signs of Indic scripts and voicing marks of Japanese remain. Texts
// with the same result are the same name; the result of a text without a letter and a digit is
// empty.
func Name(text string) string {
	folded := cases.Fold().String(norm.NFKD.String(text))
	return strings.Map(func(r rune) rune {
		if written(r) {
			return r
		}
		return -1
	}, norm.NFKD.String(folded))
}

// written reports whether Name keeps a character.
func written(r rune) bool {
	switch {
	case r <= unicode.MaxASCII:
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	case r == '\u3099' || r == '\u309a': // the marks of ga and pa
		return true
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), // such as the filler of Hangul
		r >= '\u02b0' && r <= '\u02ff' || r == '\u0640': // letters like apostrophes; the tatweel
		return false
	case unicode.IsMark(r):
		return !unicode.In(r, unicode.Inherited, unicode.Arabic, unicode.Hebrew, unicode.Cyrillic, unicode.Latin, unicode.Greek)
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}
