// Sentences of the rules in the language of the reader.

package console

import (
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/verification/rules"
)

// sentences returns sentences in the language of the reader, joined by spaces. What the
// workflow says in place of a fixed sentence stays as it is.
func (s session) sentences(all []rules.Sentence) string {
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

// direction returns the direction of most letters of texts, ltr or rtl.
func direction(texts []string) string {
	if labels.FromRight(texts...) {
		return "rtl"
	}
	return "ltr"
}
