// Numbers: a JSON number keeps its digits, as docs/workflow-semantics.md promises under "Numbers".

package verification

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

const (
	// maxNumber is the maximum length of a number in bytes.
	maxNumber = 100
	// firstInexact is the smallest positive integer whose successor a float64 cannot represent: 2^53.
	firstInexact = 1 << 53
)

// ParseNumber returns the value of a JSON number. A number is whole if it has no
// fraction, as 5, 5.0 and 5e3 have none. A whole number becomes an int64 or, above
// the largest int64, a uint64. Any other number becomes the nearest float64.
//
// ParseNumber returns ErrInvalid for a text that is no JSON number or longer than 100
// bytes, for a whole number of more than 64 bits, and for a number that a float64
// cannot tell from zero.
func ParseNumber(n json.Number) (any, error) {
	v, message := parseNumber(string(n))
	if message != "" {
		return nil, &Error{Kind: ErrInvalid, Subject: "number", Message: message}
	}
	return v, nil
}

// Digits returns a JSON number as people read it: a whole number of up to 64 bits
// without fraction and exponent, and any other as it is written.
func Digits(n json.Number) string {
	if digits, whole, _ := wholeDigits(string(n)); whole && len(n) <= maxNumber && len(strings.TrimPrefix(digits, "-")) <= 20 {
		return digits
	}
	return string(n)
}

// parseNumber returns the value of a number, or what is wrong with it.
func parseNumber(text string) (v any, message string) {
	if len(text) > maxNumber {
		return nil, "must be a number of at most 100 characters: send it as a string"
	}
	digits, whole, ok := wholeDigits(text)
	if !ok {
		return nil, "must be a number"
	}
	if whole {
		if i, err := strconv.ParseInt(digits, 10, 64); err == nil {
			return i, ""
		}
		if u, err := strconv.ParseUint(digits, 10, 64); err == nil {
			return u, ""
		}
		return nil, "must be a whole number of at most 64 bits to keep its digits: send it as a string"
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f == 0 {
		return nil, "must not be a number that a float64 cannot tell from zero: send it as a string"
	}
	return f, ""
}

// wholeDigits returns the digits of a number if it is whole, with a minus if it is
// negative. Of a number with more than 64 bits it may return the first digits only, which are more
// than 64 bits hold. ok is false for a text that is not a number of JSON.
func wholeDigits(text string) (digits string, whole, ok bool) {
	rest, negative := strings.CutPrefix(text, "-")
	mantissa, exponent := rest, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		var err error
		mantissa = rest[:i]
		sign := strings.TrimLeft(rest[i+1:], "+-")
		if exponent, err = strconv.Atoi(rest[i+1:]); err != nil && !errors.Is(err, strconv.ErrRange) || !onlyDigits(sign) {
			return "", false, false
		}
		exponent = min(max(exponent, -1e6), 1e6) // more than a text of maxNumber bytes can make up for
	}
	integer, fraction, point := strings.Cut(mantissa, ".")
	if !onlyDigits(integer) || point && !onlyDigits(fraction) || len(integer) > 1 && integer[0] == '0' {
		return "", false, false
	}
	all := strings.TrimRight(integer+fraction, "0")
	size := len(integer) + exponent // digits before the point
	leading := len(all) - len(strings.TrimLeft(all, "0"))
	switch {
	case all == "":
		return "0", true, true
	case len(all) > size:
		return "", false, true
	case size-leading > len("18446744073709551615"):
		size = leading + len("18446744073709551615") + 1
	}
	digits = all[leading:] + strings.Repeat("0", max(0, size-len(all)))
	if negative {
		digits = "-" + digits
	}
	return digits, true, true
}

func onlyDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// plainNumber returns a number of JSON as Map does.
func plainNumber(n json.Number) any {
	f, err := n.Float64()
	if err == nil && math.Abs(f) < firstInexact {
		var buffer [32]byte
		if same, ok := appendValue(buffer[:0], f, 1); ok && string(same) == string(n) {
			return f
		}
	}
	return n
}

// plainNumbers replaces the numbers of a value that was decoded with UseNumber.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(v)
	case map[string]any:
		for name, field := range v {
			v[name] = plainNumbers(field)
		}
	case []any:
		for i, item := range v {
			v[i] = plainNumbers(item)
		}
	}
	return v
}

// short reports whether every number of the object is a whole number of at most 15
// digits, which a float64 writes as it is.
func (d Data) short() bool {
	for i := 0; i < len(d); i++ {
		switch c := d[i]; {
		case c == '"':
			for i++; i < len(d) && d[i] != '"'; i++ {
				if d[i] == '\\' {
					i++
				}
			}
		case c == '-' || c >= '0' && c <= '9':
			begin := i
			for i < len(d) && strings.IndexByte("+-.eE0123456789", d[i]) >= 0 {
				if d[i] == '.' || d[i] == 'e' || d[i] == 'E' {
					return false
				}
				i++
			}
			if i-begin > 15 || d[begin] == '-' && d[begin+1] == '0' {
				return false
			}
			i--
		}
	}
	return true
}
