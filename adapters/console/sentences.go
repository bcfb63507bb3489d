// Sentences of the rules in the language of the reader.

package console

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/verifyd/verifyd/verification"
)

// sentences returns sentences in the language of the reader, joined by spaces. What the
// workflow says in place of a fixed sentence stays as it is.
func (s session) sentences(all []verification.Sentence) string {
	texts := make([]string, len(all))
	for i, one := range all {
		if texts[i] = one.Text; one.Key != "" {
			texts[i] = s.say("sentence." + one.Key)
		}
	}
	return strings.Join(texts, " ")
}

// isolate keeps the direction of a text apart from the direction of the sentence around it.
func isolate(s string) string { return "\u2068" + s + "\u2069" }

// direction returns the direction of most letters of texts, ltr or rtl. That of the first
// letter would turn a sentence around that begins with a name from another script.
func direction(texts []string) string {
	balance := 0
	for _, text := range texts {
		for _, r := range text {
			switch {
			case unicode.In(r, unicode.Arabic, unicode.Hebrew):
				balance--
			case unicode.IsLetter(r):
				balance++
			}
		}
	}
	if balance < 0 {
		return "rtl"
	}
	return "ltr"
}

var fromRight = regexp.MustCompile(`[\p{Arabic}\p{Hebrew}]+([\s-]+[\p{Arabic}\p{Hebrew}]+)*`)

// isolateWords keeps words from right to left apart from the text around them.
func isolateWords(text string) string { return fromRight.ReplaceAllStringFunc(text, isolate) }
