// Identifiers of list files: their types, and what is written for none.

package watchlist

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"

	"github.com/verifyd/verifyd/internal/fold"
)

// identifierTypes has the types of identifiers by the words of their labels.
//
//go:embed identifiers.txt
var identifierTypes string

// labelled adds an identifier to an entry whose type the list says in words.
func (f *filler) labelled(e *Entry, label, value string) {
	words := " " + strings.Join(strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(label, ".", "")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ") + " "
	for _, t := range f.types {
		if strings.Contains(words, " "+t[1]+" ") {
			if t[0] != "-" {
				f.identifier(e, IdentifierType(t[0]), value)
			}
			return
		}
	}
	if !unknown(value) {
		f.leaveOut(otherIdentifiers, e.ID)
		f.column(otherIdentifiers, "").count(label+" "+value, false)
	}
}

// minIdentifier is the minimum number of letters and digits of an identifier: shorter ones
// identify nobody, and nor do short words without a digit.
const minIdentifier = 3

// identifier adds identifiers to an entry. A text may have several, numbered as in (1) A (2) B.
func (f *filler) identifier(e *Entry, kind IdentifierType, text string) {
	for _, value := range numbered(text) {
		value, _, _ = strings.Cut(value, " (") // a remark
		value = strings.Trim(value, " .,;")
		letters := len(fold.Name(value))
		if isPlaceholder(value) {
			continue
		}
		ok := letters >= minIdentifier && len(value) <= 100 && (letters == len(value) && letters >= 8 || strings.ContainsFunc(value, unicode.IsDigit))
		f.count(fieldIdentifiers, e.ID, value, ok)
		if id := (Identifier{kind, value}); ok && len(e.Identifiers) <= maxValues && !slices.Contains(e.Identifiers, id) {
			e.Identifiers = append(e.Identifiers, id)
		}
	}
}

// isPlaceholder reports whether a number is one that systems and people write for none, so that strangers have the same: one character again and
// again, such as 00000000 or XXXXXXXX, zeros behind one or two letters, and 12345678 or more digits that count up.
func isPlaceholder(value string) bool {
	text := Identifier{Value: value}.folded()
	if len(text) < minIdentifier {
		return false
	}
	digits := strings.TrimLeft(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	const counting, leastCounting, leastZeros = "01234567890123456789", 8, 5
	switch {
	case strings.Trim(text, text[:1]) == "":
		return true
	case len(digits) >= leastZeros && len(text)-len(digits) <= 2 && strings.Trim(digits, "0") == "":
		return true
	}
	return len(text) >= leastCounting && (strings.HasPrefix(counting, text) || strings.HasPrefix(counting[1:], text) || strings.HasPrefix("123456789101112131415", text))
}
