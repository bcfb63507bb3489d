// Package texts has the rules about texts that the packages of verification share.
package texts

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// TooLong returns the message for a text of more than limit characters.
func TooLong(limit int) string { return fmt.Sprintf("must be at most %d characters", limit) }

// Storable reports whether every store returns the text unchanged.
func Storable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// IsControl reports whether r is a C0 or C1 control character, or delete.
func IsControl(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

// Join returns the names separated by commas, for a message.
func Join[S ~string](names []S) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

// Fold returns a text without surrounding space, in a form that is the same for all
// texts that strings.EqualFold reports as equal.
func Fold(text string) string { return strings.ToLower(strings.ToUpper(strings.TrimSpace(text))) }

// MaxURL bounds the URLs of tenants, workflows and runs, in characters.
const MaxURL = 2048
