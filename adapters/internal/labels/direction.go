// Writing direction: names from right to left in sentences that run from left to right.

package labels

import (
	"strings"
	"unicode"
)

// FromRight reports whether most letters of texts run from right to left. The first letter
// would turn a sentence around that begins with a name from another script.
func FromRight(texts ...string) bool {
	balance := 0
	for _, text := range texts {
		for _, r := range text {
			switch {
			case fromRight(r):
				balance++
			case unicode.IsLetter(r):
				balance--
			}
		}
	}
	return balance > 0
}

// fromRight reports whether a character is of a script that runs from right to left.
func fromRight(r rune) bool {
	return r >= 0x590 && unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana, unicode.Nko)
}

// IsolateWords keeps the words from right to left in a text apart from the text around them, with the
// characters that Unicode has for it. Words with only space or hyphens
// between them stay together.
func IsolateWords(text string) string {
	if !strings.ContainsFunc(text, fromRight) {
		return text
	}
	var b strings.Builder
	runes := []rune(text)
	for i := 0; i < len(runes); {
		if !fromRight(runes[i]) {
			b.WriteRune(runes[i])
			i++
			continue
		}
		end := i + 1
		for j := end; j < len(runes); j++ {
			if r := runes[j]; fromRight(r) || j == end && (unicode.Is(unicode.Mn, r) || r == 0x200C || r == 0x200D) {
				end = j + 1
			} else if r != '-' && !unicode.IsSpace(r) {
				break
			}
		}
		b.WriteString("\u2068" + string(runes[i:end]) + "\u2069") // isolated: see UAX #9
		i = end
	}
	return b.String()
}
