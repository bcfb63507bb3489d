// Rules about texts.

package verification

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// tooLong returns the message for a text of more than limit characters.
func tooLong(limit int) string { return fmt.Sprintf("must be at most %d characters", limit) }

// storable reports whether every store returns the text unchanged.
func storable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// isControl reports whether r is a C0 or C1 control character, or delete.
func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

// joined returns the names separated by commas, for a message.
func joined[S ~string](names []S) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

// folded returns a text without surrounding space, in a form that is the same for all
// texts that strings.EqualFold reports as equal.
func folded(text string) string { return strings.ToLower(strings.ToUpper(strings.TrimSpace(text))) }

// maxURL bounds the URLs of tenants, workflows and runs, in characters.
const maxURL = 2048
