// Plain scalars of YAML: the core schema of YAML 1.2.

package definition

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// resolve tells what an unquoted YAML scalar stands for. In YAML 1.2 yes, no,
// on, off and dates are strings. fault says why a number will not do.
func resolve(plain string) (k kind, word, fault string) {
	switch plain {
	case "", "~", "null", "Null", "NULL":
		return kindNull, "", ""
	case "true", "True", "TRUE":
		return kindBoolean, "true", ""
	case "false", "False", "FALSE":
		return kindBoolean, "false", ""
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN":
		return kindNumber, "0", "infinity and not-a-number have no place here"
	}
	if based := len(plain) > 2 && (plain[:2] == "0x" || plain[:2] == "0o"); based {
		if n, err := strconv.ParseUint(plain, 0, 64); err == nil && !strings.Contains(plain, "_") {
			return kindNumber, strconv.FormatUint(n, 10), ""
		}
		return kindText, plain, ""
	}
	if !looksNumeric(plain) {
		return kindText, plain, ""
	}
	digits := strings.TrimLeft(plain, "+-")
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return kindNumber, "0", "a number must not begin with 0: put it in quotes if it is text"
	}
	return canonical(plain)
}

// looksNumeric matches [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
func looksNumeric(s string) bool {
	sign := func() {
		if s != "" && (s[0] == '-' || s[0] == '+') {
			s = s[1:]
		}
	}
	digits := func() int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n
	}
	sign()
	before, after := digits(), 0
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		after = digits()
	}
	if before+after == 0 {
		return false
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		sign()
		if digits() == 0 {
			return false
		}
	}
	return s == ""
}

// canonical is a number as this package always writes it, so that equal numbers
// have equal texts: a whole number exactly, any other as encoding/json does.
func canonical(n string) (k kind, word, fault string) {
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return kindNumber, "0", "the number is too large"
	}
	if !strings.ContainsAny(n, ".eE") {
		if i, ok := new(big.Int).SetString(n, 10); ok {
			return kindNumber, i.String(), ""
		}
	}
	if f == 0 {
		return kindNumber, "0", ""
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return kindNumber, "0", "the number cannot be read"
	}
	return kindNumber, string(raw), ""
}
