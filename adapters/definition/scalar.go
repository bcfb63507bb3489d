// Plain scalars of YAML: the core schema of YAML 1.2.

package definition

import (
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"
)

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
			return json.Number("0"), "the number is too large"
		}
		return plain, ""
	}
	digits := strings.TrimLeft(plain, "+-")
	f, err := strconv.ParseFloat(plain, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax) || strings.ContainsAny(digits, "xX"):
		return plain, ""
	case len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9':
		return json.Number("0"), "a number must not begin with 0: put it in quotes if it is text"
	case err != nil:
		return json.Number("0"), "the number is too large"
	}
	return canonical(plain, f), ""
}

// canonical returns the JSON of a number: all digits of a whole number that is written
// without a point or an exponent, and any other as encoding/json writes it. Equal numbers
// up to 2^53 have the same text.
func canonical(plain string, f float64) json.Number {
	if !strings.ContainsAny(plain, ".eE") {
		if i, ok := new(big.Int).SetString(plain, 10); ok {
			return json.Number(i.String())
		}
	}
	if f == 0 {
		return "0"
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return "0" // unreachable: the number is finite
	}
	return json.Number(raw)
}
