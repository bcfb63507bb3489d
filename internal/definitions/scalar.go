// Plain scalars of YAML: the core schema of YAML 1.2.

package definitions

import (
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// tooLarge is the problem of a number that cannot keep its digits.
const tooLarge = "a number must have at most 64 bits if it is whole, and 100 characters: put it in quotes if it is text"

// resolve returns the value of an unquoted YAML scalar: nil, a bool, a json.Number
// or a string. In YAML 1.2 yes, no, on, off and dates are strings. problem says
// why a number is refused.
func resolve(plain string) (value any, problem string) {
	switch plain {
	case "", "~", "null", "Null", "NULL":
		return nil, ""
	case "true", "True", "TRUE":
		return true, ""
	case "false", "False", "FALSE":
		return false, ""
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN":
		return json.Number("0"), "infinity and not-a-number are not supported"
	}
	if strings.Contains(plain, "_") || strings.Trim(plain, "+-.0123456789abcdefABCDEFox") != "" {
		return plain, ""
	}
	if strings.HasPrefix(plain, "0x") || strings.HasPrefix(plain, "0o") {
		n, err := strconv.ParseUint(plain, 0, 64)
		switch {
		case err == nil:
			return json.Number(strconv.FormatUint(n, 10)), ""
		case errors.Is(err, strconv.ErrRange):
			return json.Number("0"), tooLarge
		}
		return plain, ""
	}
	digits := strings.TrimLeft(plain, "+-")
	_, err := strconv.ParseFloat(plain, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax) || strings.ContainsAny(digits, "xX"):
		return plain, ""
	case len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9':
		return json.Number("0"), "a number must not begin with 0: put it in quotes if it is text"
	}
	return canonical(plain)
}

// canonical returns the JSON of a number, or says why it cannot keep its digits. Equal
// numbers have the same text: a whole number all its digits, and any other the form that
// encoding/json gives it if that is the same number.
func canonical(plain string) (value json.Number, problem string) {
	mantissa, exponent := plain, ""
	if i := strings.IndexAny(plain, "eE"); i >= 0 {
		mantissa, exponent = plain[:i], plain[i:]
	}
	integer, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "+"), ".")
	if strings.Trim(integer, "-") == "" {
		integer += "0"
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		fraction = "." + fraction
	}
	written := json.Number(integer + fraction + exponent)
	switch n, _ := verification.ParseNumber(written); n := n.(type) {
	case int64:
		return json.Number(strconv.FormatInt(n, 10)), ""
	case uint64:
		return json.Number(strconv.FormatUint(n, 10)), ""
	case float64:
		raw, _ := json.Marshal(n) // the number is finite
		exact, _ := new(big.Rat).SetString(string(written))
		if short, ok := new(big.Rat).SetString(string(raw)); ok && exact != nil && short.Cmp(exact) == 0 {
			return json.Number(raw), ""
		}
		return written, ""
	}
	return "0", tooLarge
}
