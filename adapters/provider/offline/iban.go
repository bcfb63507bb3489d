// offline.iban: the International Bank Account Number.

package offline

import (
	_ "embed"
	"strconv"
	"strings"
	"time"
)

//go:embed iban_registry.tsv
var ibanRegistry string

type ibanWith struct {
	Number    string   `json:"number"`
	Countries []string `json:"countries"`
}

// ibanCountry is one line of the registry.
type ibanCountry struct {
	pattern      string // of the whole IBAN, see structured
	bank, branch span
}

// span is a range of positions in an IBAN, from 0.
type span struct{ from, to int }

// newIBANJudge reads the registry, which is the IBAN Registry of SWIFT. The check digits
// follow ISO 13616-1, by ISO/IEC 7064 MOD 97-10.
func newIBANJudge() judge[ibanWith] {
	registry := readIBANRegistry()
	return func(w ibanWith, _ time.Time) (map[string]any, reason, error) {
		number := withoutLabel(compact(w.Number))
		if number == "" {
			return nil, reasonEmpty, nil
		}
		form, ok := registry[number[:min(2, len(number))]]
		if !ok {
			return nil, reasonCountry, nil
		}
		if why := structured(number, form.pattern); why != "" {
			return nil, why, nil
		}
		data := map[string]any{"number": number, "country": number[:2], "bank_code": number[form.bank.from:form.bank.to]}
		if form.branch.to > 0 {
			data["branch_code"] = number[form.branch.from:form.branch.to]
		}
		switch {
		case !mod97(number[4:]+number[:2], number[2:4]):
			return data, reasonCheckDigit, nil
		case !accepted(w.Countries, number[:2]):
			return data, reasonCountry, nil
		}
		return data, "", nil
	}
}

// withoutLabel returns a compact number without the word IBAN, which stands before it on
// paper (ISO 13616-1). No country has the code IB.
func withoutLabel(number string) string {
	if rest, ok := strings.CutPrefix(number, "IBAN"); ok {
		return strings.TrimLeft(rest, ":.")
	}
	return number
}

// readIBANRegistry returns the countries by their code.
func readIBANRegistry() map[string]ibanCountry {
	registry := map[string]ibanCountry{}
	for _, columns := range readTable(ibanRegistry) {
		country := ibanCountry{pattern: columns[0] + "99" + ibanPattern(columns[1]), bank: readSpan(columns[2])}
		if len(columns) > 3 {
			country.branch = readSpan(columns[3])
		}
		registry[columns[0]] = country
	}
	return registry
}

// ibanPattern converts a structure of the registry, such as 4!a10!n, to a pattern.
func ibanPattern(structure string) string {
	var pattern strings.Builder
	for structure != "" {
		count, rest, _ := strings.Cut(structure, "!")
		n, err := strconv.Atoi(count)
		if err != nil {
			panic("offline: the IBAN registry has the structure " + structure)
		}
		class := map[byte]string{'n': "9", 'a': "A", 'c': "X"}[rest[0]]
		pattern.WriteString(strings.Repeat(class, n))
		structure = rest[1:]
	}
	return pattern.String()
}

// readSpan parses positions in the BBAN from 1, such as 5-8.
func readSpan(s string) span {
	first, last, _ := strings.Cut(s, "-")
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err != nil || err2 != nil {
		panic("offline: the IBAN registry has the positions " + s)
	}
	const bban = 4 // the BBAN follows the country and the check digits
	return span{from: bban + from - 1, to: bban + to}
}
