// offline.card_number: the number of a payment card.

package offline

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed card_schemes.tsv
var cardSchemes string

type cardNumberWith struct {
	Number  string   `json:"number"`
	Schemes []string `json:"schemes"`
}

// newCardNumberJudge reads the ranges of the schemes. Structure and check digit are those
// of ISO/IEC 7812-1.
func newCardNumberJudge() judge[cardNumberWith] {
	ranges := readCardRanges()
	return func(w cardNumberWith, _ time.Time) (map[string]any, reason, error) {
		return judgeCardNumber(w, ranges)
	}
}

func judgeCardNumber(w cardNumberWith, ranges []cardRange) (map[string]any, reason, error) {
	number := compact(w.Number)
	switch {
	case number == "":
		return nil, reasonEmpty, nil
	case strings.ContainsFunc(number, func(r rune) bool { return !isDigit(r) }):
		return nil, reasonCharacters, nil
	case len(number) < 12 || len(number) > 19:
		return nil, reasonLength, nil
	case number[0] == '0': // the first digit is the industry, and 0 is for none that issues payment cards
		return nil, reasonStructure, nil
	}
	data := map[string]any{"number": masked(number)}
	scheme := ""
	i := slices.IndexFunc(ranges, func(r cardRange) bool { return number[:6] >= r.first && number[:6] <= r.last })
	if i >= 0 {
		scheme = ranges[i].scheme
		data["scheme"] = scheme
	}
	switch {
	case !luhn(number):
		return data, reasonCheckDigit, nil
	case i >= 0 && !slices.Contains(ranges[i].lengths, strconv.Itoa(len(number))):
		return data, reasonLength, nil
	case len(w.Schemes) > 0 && !slices.Contains(w.Schemes, scheme):
		return data, "scheme", nil
	}
	return data, "", nil
}

// cardRange is a line of the table: a range of card numbers, given by their first six
// digits, and the numbers of digits that they may have.
type cardRange struct {
	scheme, first, last string
	lengths             []string
}

// readCardRanges returns the ranges in the order of the table.
func readCardRanges() (ranges []cardRange) {
	for _, columns := range readTable(cardSchemes) {
		ranges = append(ranges, cardRange{columns[0], columns[1], columns[2], strings.Fields(columns[3])})
	}
	return ranges
}
