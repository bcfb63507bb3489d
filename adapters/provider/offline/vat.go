// offline.vat: the VAT identification number of a member state of the European Union.

package offline

import (
	_ "embed"
	"regexp"
	"strings"
	"time"
)

//go:embed vat_numbers.tsv
var vatNumbers string

type vatWith struct {
	Number    string   `json:"number"`
	Countries []string `json:"countries"`
}

// vatRule is a line of the table.
type vatRule struct {
	pattern *regexp.Regexp
	check   vatCheck
}

// newVATJudge reads the table, which has the rules of the European Commission.
func newVATJudge() judge[vatWith] {
	rules := readVATRules()
	return func(w vatWith, _ time.Time) (map[string]any, reason, error) {
		number := strings.ReplaceAll(compact(w.Number), ".", "")
		switch {
		case number == "":
			return nil, reasonEmpty, nil
		case strings.ContainsFunc(number, func(r rune) bool { return !isLetter(r) && !isDigit(r) && r != '+' && r != '*' }):
			return nil, reasonCharacters, nil
		}
		prefix := number[:min(2, len(number))]
		if rules[prefix] == nil {
			return nil, reasonCountry, nil
		}
		known, right := false, false
		for _, rule := range rules[prefix] {
			if rule.pattern.MatchString(number[2:]) {
				known, right = true, right || rule.check(number[2:])
			}
		}
		if !known {
			return nil, reasonStructure, nil
		}
		data := map[string]any{"number": number, "prefix": prefix, "country": vatCountry(prefix)}
		switch {
		case !right:
			return data, reasonCheckDigit, nil
		case !accepted(w.Countries, vatCountry(prefix)):
			return data, reasonCountry, nil
		}
		return data, "", nil
	}
}

// vatCountry returns the code of ISO 3166-1 of a prefix: two have others.
func vatCountry(prefix string) string {
	switch prefix {
	case "EL":
		return "GR"
	case "XI":
		return "GB"
	}
	return prefix
}

// readVATRules returns the rules by their prefix.
func readVATRules() map[string][]vatRule {
	rules := map[string][]vatRule{}
	for _, columns := range readTable(vatNumbers) {
		rule := vatRule{regexp.MustCompile("^(?:" + columns[1] + ")$"), readVATCheck(columns[0], columns[2])}
		rules[columns[0]] = append(rules[columns[0]], rule)
	}
	return rules
}
