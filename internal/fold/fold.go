// Package fold gives texts a form in which equal names are equal.
package fold

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Name returns the letters and digits of a text without what two ways of writing one name
// differ in: case, marks above and below letters, punctuation, spaces, and characters that
// are not seen. Vowel signs of Indic scripts and voicing marks of Japanese remain. Texts
// with the same result are the same name; the result of a text without a letter and a digit is
// empty. The ı and I of Turkish are the i, and letters that an Arabic, a Persian and an Urdu keyboard write
// differently are one: yeh, kaf and heh.
func Name(text string) string { return strings.Map(alike, Earlier(text)) }

// alike returns the letter that stands for a letter of the same sound and another keyboard.
func alike(r rune) rune {
	switch r {
	case 'ı':
		return 'i'
	case '\u0649', '\u06cc': // alef maksura, which Egypt writes for yeh, and the Persian yeh
		return '\u064a'
	case '\u06a9', '\u06aa': // the Persian kaf and the swash kaf
		return '\u0643'
	case '\u06c1': // the heh of Urdu
		return '\u0647'
	}
	return r
}

// Earlier returns the form that Name gave before ı, yeh, kaf and heh were folded. Runs are found by it that were saved
// at that time.
func Earlier(text string) string {
	folded := cases.Fold().String(norm.NFKD.String(text))
	return strings.Map(func(r rune) rune {
		if written(r) {
			return r
		}
		return -1
	}, norm.NFKD.String(folded))
}

// Text returns a text in a form that is equal for texts that differ only in case, space and the composition of characters.
func Text(text string) string {
	folded := strings.ToLower(strings.ToUpper(norm.NFC.String(strings.ToValidUTF8(text, "\uFFFD"))))
	return norm.NFC.String(strings.Join(strings.Fields(folded), " "))
}

// Words returns the words of a text in the form of Text, without punctuation and in order of the alphabet.
func Words(text string) string {
	words := strings.FieldsFunc(Text(text), func(r rune) bool { return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Number) })
	slices.Sort(words)
	return strings.Join(words, " ")
}

// Apostrophe reports whether a character stands in a word like an apostrophe: a mark of its letters and no letter of its own, such as the
// ʻ of Uzbek and Hawaiian, the ʼ of Ukrainian, the ʿ of transliterated Arabic and the ʹ of transliterated Russian.
func Apostrophe(r rune) bool {
	if r <= unicode.MaxASCII {
		return r == '\'' || r == '`' || r == '"'
	}
	return r >= 'ʹ' && r <= 'ˁ' || strings.ContainsRune("´’‘‛′″ˈˊˋˮꞌꞋ՚״׳", r)
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
