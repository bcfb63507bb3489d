// Messages and sentences of the rules in the language of the reader.

package shell

import (
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification/rules"
)

// Say returns a message, or its key if there is none. A test checks that all of them exist.
func (s Session) Say(key string, args ...any) string {
	text, err := s.T(key, args...)
	if err != nil {
		return key
	}
	return text
}

// Count returns the message of a count; the key itself if there is none.
func (s Session) Count(key string, n int, args ...any) string {
	text, err := s.N(key, n, args...)
	if err != nil {
		return key
	}
	return text
}

// Sentences returns sentences in the language of the reader, joined by spaces. What the
// workflow or a provider says in place of a fixed sentence stays as it is.
func (s Session) Sentences(all []rules.Sentence) string {
	texts := make([]string, len(all))
	for i, one := range all {
		one = one.Worded(s.Describe)
		if texts[i] = one.Text; one.Key != "" {
			texts[i] = s.Say("sentence." + one.Key)
		}
	}
	return strings.Join(texts, " ")
}

// Reference returns the reference id of a run, or says that it was removed or is restricted.
func (s Session) Reference(id string, restricted time.Time) string {
	if id != rules.RedactedReference {
		return id
	}
	return s.Say(map[bool]string{true: "redact.reference", false: "restrict.reference"}[restricted.IsZero()])
}

// Isolate keeps the direction of a text apart from the direction of the sentence around it.
func Isolate(s string) string { return "\u2068" + s + "\u2069" }
