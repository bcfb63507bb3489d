// Names with an alias, as documents write them.

package names

import (
	"strings"
	"unicode"
)

// aliases returns the names that the name of a person has beside the whole text: those before and behind
// @, as identity cards of Malaysia and Singapore write another name, without what is in brackets. What is in
// brackets may be the name of somebody else, such as the holder of an account.
func aliases(text string) []string {
	var out []string
	add := func(name string) {
		if name = strings.TrimSpace(name); strings.ContainsFunc(name, unicode.IsLetter) {
			out = append(out, name)
		}
	}
	for name := range strings.SplitSeq(text, "@") {
		if outside, rest, ok := strings.Cut(name, "("); ok {
			if _, behind, closed := strings.Cut(rest, ")"); closed {
				name = outside + " " + behind
			}
		}
		add(name)
	}
	if len(out) == 1 && out[0] == strings.TrimSpace(text) {
		return nil
	}
	return out
}
