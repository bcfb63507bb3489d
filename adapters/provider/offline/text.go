// Numbers as people write them: their normal form and their structure.

package offline

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// The reasons that several checks share.
const (
	reasonEmpty      reason = "empty"       // no value
	reasonCharacters reason = "characters"  // a character that the number cannot have
	reasonLength     reason = "length"      // too short or too long
	reasonStructure  reason = "structure"   // a letter or a digit in the wrong position
	reasonCheckDigit reason = "check_digit" // the check digits differ from the computed ones
	reasonCountry    reason = "country"     // no such country, or not one that with allows
	reasonDate       reason = "date"        // no such date
)

// compact returns a number without the spaces and hyphens between its groups, in ASCII
// as far as fold can write it, and with a to z in upper case.
func compact(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '-':
			return -1
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return r
	}, fold(s))
}

// fold returns what keyboards, PDFs and web pages write in place of ASCII as ASCII:
// full-width characters, the decimal digits of every script, and dashes. Characters
// that nobody sees, such as direction marks, are left out.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return '0' + digitValue(r)
		case unicode.Is(unicode.Pd, r), r == '\u2212': // the minus sign
			return '-'
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, width.Fold.String(s))
}

// digitValue returns the value of a decimal digit. Unicode gives the ten digits of a
// script consecutive code points, so the digits before r count up to its value.
func digitValue(r rune) rune {
	value := rune(0)
	for unicode.IsDigit(r - value - 1) {
		value++
	}
	return value % 10
}

// structured returns why s does not have the structure of a pattern, in which A is
// a letter, 9 a digit, X either of them, and any other character itself.
func structured(s, pattern string) reason {
	switch {
	case s == "":
		return reasonEmpty
	case strings.ContainsFunc(s, func(r rune) bool { return !isLetter(r) && !isDigit(r) }):
		return reasonCharacters
	case len(s) != len(pattern):
		return reasonLength
	}
	for i, want := range pattern {
		got := rune(s[i])
		switch want {
		case 'A':
			if !isLetter(got) {
				return reasonStructure
			}
		case '9':
			if !isDigit(got) {
				return reasonStructure
			}
		case 'X':
		default:
			if got != want {
				return reasonStructure
			}
		}
	}
	return ""
}

func isLetter(r rune) bool { return r >= 'A' && r <= 'Z' }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// masked returns a number with all but its last four characters replaced by X.
func masked(s string) string {
	if len(s) <= 4 {
		return strings.Repeat("X", len(s))
	}
	return strings.Repeat("X", len(s)-4) + s[len(s)-4:]
}
