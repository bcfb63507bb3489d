// Phone numbers and mail addresses as people paste them.

package verification

import (
	"net/url"
	"strings"
	"unicode"
)

// The bounds of a phone number: a number of E.164 has at most 15 digits.
const (
	minPhoneDigits = 7
	maxPhoneDigits = 15
)

// CleanPhone returns a phone number in the form in which it is stored: ASCII digits,
// single spaces, hyphens and parentheses, with a + in front or without. ok is false if s
// has another character, or fewer than 7 or more than 15 digits.
//
// CleanPhone takes what contacts, letters and web pages write: digits of every script,
// every space and hyphen, dots, brackets, a slash behind the area code, a link of the
// scheme tel without parameters (RFC 3966), and characters that are not seen, such as those
// that set the direction of a copied number. It is the rule of the field phone and of the
// check offline.phone. The form of a clean number is the number itself.
func CleanPhone(s string) (number string, ok bool) {
	s = strings.TrimSpace(visible(s))
	if len(s) > len("tel:") && strings.EqualFold(s[:len("tel:")], "tel:") {
		s = s[len("tel:"):]
		if plain, err := url.PathUnescape(s); err == nil {
			s = strings.TrimSpace(visible(plain))
		}
	}
	var b phoneBuilder
	for _, r := range ASCIIDigits(s) {
		if !b.add(r) {
			return "", false
		}
	}
	number = strings.Join(strings.FieldsFunc(b.String(), func(r rune) bool { return r == ' ' }), " ")
	return number, b.digits >= minPhoneDigits && b.digits <= maxPhoneDigits && b.oneNumber()
}

// phoneBuilder collects a clean phone number.
type phoneBuilder struct {
	strings.Builder

	digits    int
	area      int  // the digits before the slash
	slash     bool // there was one
	bracketed bool // the + stands in parentheses, as in (+91)
}

// add adds a character of a number, and reports whether a number may have it there.
func (b *phoneBuilder) add(r rune) bool {
	switch {
	case r >= '0' && r <= '9':
		b.digits++
		b.WriteRune(r)
	case r == '+', r == '\uff0b':
		if b.bracketed = b.String() == "("; b.bracketed {
			b.Reset()
		}
		if b.Len() > 0 {
			return false
		}
		b.WriteByte('+')
	case unicode.In(r, unicode.Pd), r == '\u2212': // the minus sign
		b.WriteByte('-')
	case unicode.In(r, unicode.Zs), strings.ContainsRune("\t.\uff0e\u00b7\u2022", r):
		b.WriteByte(' ')
	case r == '/', r == '\uff0f':
		if b.slash {
			return false
		}
		b.slash, b.area = true, b.digits
		b.WriteByte(' ')
	case strings.ContainsRune("([\uff08\uff3b", r):
		b.WriteByte('(')
	case strings.ContainsRune(")]\uff09\uff3d", r):
		if b.bracketed {
			b.bracketed = false
			b.WriteByte(' ')
			return true
		}
		b.WriteByte(')')
	default:
		return false
	}
	return true
}

// oneNumber reports whether a slash stands behind an area code, as in 030/123456, and
// not before another number or its last digits, as in 2345 6789/90. The longest area code
// has five digits behind a 0.
func (b *phoneBuilder) oneNumber() bool {
	longest := 6
	switch s := b.String(); {
	case strings.HasPrefix(s, "+"):
		longest = 8
	case strings.HasPrefix(s, "00"):
		longest = 10
	}
	return !b.slash || b.area <= longest && b.digits-b.area >= 3
}

// CleanEmail returns a mail address without the space around it and without characters
// that are not seen. Two joiners, U+200C and U+200D, stay behind a letter outside ASCII,
// where RFC 5892 allows them in a domain name.
func CleanEmail(s string) string {
	behindLetter := false
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		joins := behindLetter && (r == '\u200c' || r == '\u200d')
		if invisible(r) && !joins {
			return -1
		}
		behindLetter = r > unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsMark(r))
		return r
	}, s))
}

// visible removes the characters that are not seen.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, s)
}

// invisible reports whether a character is not seen: marks and controls of the direction,
// joiners, zero-width spaces, soft hyphens and variation selectors. The signs that Arabic
// and Syriac write around a number are seen.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// ASCIIDigits replaces the decimal digits of every script with 0 to 9.
func ASCIIDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= unicode.MaxASCII || !unicode.IsDigit(r) {
			return r
		}
		for _, digits := range unicode.Nd.R16 {
			if lo, hi := rune(digits.Lo), rune(digits.Hi); r >= lo && r <= hi {
				return '0' + (r-lo)%10
			}
		}
		for _, digits := range unicode.Nd.R32 {
			if lo, hi := rune(digits.Lo), rune(digits.Hi); r >= lo && r <= hi {
				return '0' + (r-lo)%10
			}
		}
		return r
	}, s)
}
