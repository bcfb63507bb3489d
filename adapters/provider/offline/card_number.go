// offline.card_number: the number of a payment card.

package offline

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

type cardNumberWith struct {
	Number  string   `json:"number"`
	Schemes []string `json:"schemes"`
}

// judgeCardNumber judges structure and check digit by ISO/IEC 7812-1; the first digits
// and the lengths of the schemes are those that the schemes publish.
func judgeCardNumber(w cardNumberWith, _ time.Time) (map[string]any, reason, error) {
	number := compact(w.Number)
	switch {
	case number == "":
		return nil, reasonEmpty, nil
	case strings.ContainsFunc(number, func(r rune) bool { return !isDigit(r) }):
		return nil, reasonCharacters, nil
	case len(number) < 12 || len(number) > 19:
		return nil, reasonLength, nil
	}
	data := map[string]any{"number": masked(number)}
	scheme, known := cardScheme(number)
	if known {
		data["scheme"] = scheme.name
	}
	switch {
	case !luhn(number):
		return data, reasonCheckDigit, nil
	case known && (len(number) < scheme.shortest || len(number) > scheme.longest):
		return data, reasonLength, nil
	case len(w.Schemes) > 0 && !slices.Contains(w.Schemes, scheme.name):
		return data, "scheme", nil
	}
	return data, "", nil
}

// cardRange is a range of card numbers, given by their first six digits.
type cardRange struct {
	name              string
	first, last       int
	shortest, longest int // digits of a number
}

// cardScheme returns the first range that has a number. The ranges that lie inside
// others come first.
func cardScheme(number string) (cardRange, bool) {
	prefix, err := strconv.Atoi(number[:6])
	if err != nil {
		return cardRange{}, false
	}
	ranges := [...]cardRange{
		{"rupay", 508500, 508999, 16, 16},
		{"rupay", 606985, 607984, 16, 16},
		{"rupay", 608001, 608500, 16, 16},
		{"rupay", 652150, 653149, 16, 16},
		{"rupay", 817200, 820199, 16, 16},
		{"mir", 220000, 220499, 16, 19},
		{"mastercard", 222100, 272099, 16, 16},
		{"mastercard", 510000, 559999, 16, 16},
		{"diners_club", 300000, 305999, 14, 19},
		{"diners_club", 309500, 309599, 14, 19},
		{"diners_club", 360000, 369999, 14, 19},
		{"diners_club", 380000, 399999, 14, 19},
		{"american_express", 340000, 349999, 15, 15},
		{"american_express", 370000, 379999, 15, 15},
		{"jcb", 352800, 358999, 16, 19},
		{"visa", 400000, 499999, 13, 19},
		{"discover", 601100, 601199, 16, 19},
		{"discover", 644000, 659999, 16, 19},
		{"unionpay", 620000, 629999, 16, 19},
		{"unionpay", 810000, 817199, 16, 19},
		{"maestro", 500000, 509999, 12, 19},
		{"maestro", 560000, 589999, 12, 19},
		{"maestro", 600000, 699999, 12, 19},
	}
	i := slices.IndexFunc(ranges[:], func(r cardRange) bool { return prefix >= r.first && prefix <= r.last })
	if i < 0 {
		return cardRange{}, false
	}
	return ranges[i], true
}
