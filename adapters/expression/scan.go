// Scanning: the positions of the expressions in a string of a template.

package expression

import (
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
)

// piece is a part of a string: an expression, or plain text.
type piece struct {
	text string
	at   int // the byte at which an expression begins
	code bool
}

// scan splits a string at its ${...}. `$${` is the plain text `${`.
func scan(s string) ([]piece, error) {
	var pieces []piece
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			pieces = append(pieces, piece{text: plain.String()})
			plain.Reset()
		}
	}
	for all := s; len(s) > 0; {
		at := len(all) - len(s)
		switch {
		case strings.HasPrefix(s, "$${"):
			plain.WriteString("${")
			s = s[3:]
		case strings.HasPrefix(s, "${"):
			end := closing(s[2:])
			if end < 0 {
				return nil, &verification.TextError{
					Character: utf8.RuneCountInString(all[:at]) + 1, Message: "a ${ is not closed with }",
				}
			}
			flush()
			pieces = append(pieces, piece{text: s[2 : 2+end], at: at + 2, code: true})
			s = s[2+end+1:]
		default:
			next := strings.IndexByte(s[1:], '$') + 1
			if next == 0 {
				next = len(s)
			}
			plain.WriteString(s[:next])
			s = s[next:]
		}
	}
	flush()
	return pieces, nil
}

// closing returns the index of the } that ends an expression: not one of its own
// braces, and none inside a string or a comment. It is -1 if there is none.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
			i++
		case c == '{':
			depth++
			i++
		case c == '"' || c == '\'':
			n := quotation(s[i:], isRaw(s[:i]))
			if n < 0 {
				return -1
			}
			i += n
		case strings.HasPrefix(s[i:], "//"):
			end := strings.IndexAny(s[i:], "\r\n")
			if end < 0 {
				return -1
			}
			i += end
		default:
			i++
		}
	}
	return -1
}

// quotation returns the length of the string literal at the start of s, and -1 if
// it has no end.
func quotation(s string, raw bool) int {
	quote := s[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s, triple) {
		quote = triple
	}
	for i := len(quote); i < len(s); i++ {
		switch {
		case s[i] == '\\' && !raw:
			i++
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote)
		}
	}
	return -1
}

// isRaw reports whether the prefix of a string literal, such as r or bR, makes it
// raw, so that a backslash stands for itself.
func isRaw(before string) bool {
	prefix := before[len(strings.TrimRight(before, "bBrR")):]
	name := strings.TrimSuffix(before, prefix)
	if name != "" && isNameByte(name[len(name)-1]) {
		return false // the end of a name, which cannot stand before a string
	}
	return strings.ContainsAny(prefix, "rR")
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
