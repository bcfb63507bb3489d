// Text on a terminal, without characters that control it.

package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Escape returns text in which every control and format character, except the line
// feed and the tab, is written as in JSON: \u001b. The non-joiner U+200C and the joiner
// U+200D stay: they are part of Persian and Hindi words. A character above U+FFFF is
// written as two. Invalid UTF-8 becomes U+FFFD. So no text of a customer or a client can
// move the cursor, reverse the order of letters, or hide.
func Escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d',
			!unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Escaped returns a writer that escapes what is written to it, and writes it to w. JSON
// stays the same JSON, because it has such characters only inside strings. Each call
// must write whole characters.
func Escaped(w io.Writer) io.Writer { return escaped{w} }

type escaped struct{ io.Writer }

// Write returns the length of p if it wrote all of it, however long the escapes are.
func (e escaped) Write(p []byte) (int, error) {
	if _, err := io.WriteString(e.Writer, Escape(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
