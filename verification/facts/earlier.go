// Earlier runs: the words by which two runs are of the same person or company.

package facts

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/internal/fold"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// EarlierWord is what a run has in common with the other runs of its person or company.
type EarlierWord struct {
	By verification.EarlierBy // a number or a person
	// Key is a search word of every run that has the same; a run with the key may have something else.
	Key SearchWord
	// Same is equal in two runs that have the same.
	Same string
}

// minNumberInText is the minimum length of a number that stands beside words.
const minNumberInText = 5

// EarlierWords returns what other runs of the same person or company have in common with a run:
// the numbers, and the names with a date, of the answers by which the run is found. A phone
// number, and a number such as 0000, is none of them. A name and a date of a row, and of an element, are of
// one person, and so are those of all forms and the input.
func EarlierWords(p workflow.Program, r rules.Run) []EarlierWord {
	var all earlierWords
	var customer []searchWords
	searched(p, r, func(values []searchValue, row bool) {
		var words searchWords
		words.add(values)
		for _, v := range values {
			all.addNumber(v)
		}
		if row {
			all.addPersons(words)
		} else {
			customer = append(customer, words)
		}
	})
	all.addPersons(customer...)
	for _, e := range ElementsOf(p, r).All {
		all.addPersons(e.searchWords())
	}
	return all
}

// namesPhone reports whether a property of the input has the name of a phone number: a schema has no type for one.
func namesPhone(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"phone", "mobile", "msisdn"}, func(part string) bool { return strings.Contains(name, part) })
}

type earlierWords []EarlierWord

func (all *earlierWords) add(w EarlierWord) {
	if !slices.Contains(*all, w) {
		*all = append(*all, w)
	}
}

// addNumber adds the number of a value that is no phone number.
func (all *earlierWords) addNumber(v searchValue) {
	text := full(v.value)
	if v.phone || v.named || v.partialDate() != "" || strings.HasPrefix(text, "+") {
		return
	}
	var words searchWords
	words.addText(text, SearchNumber)
	i := slices.IndexFunc(words.others, func(w SearchWord) bool { return w.Kind == SearchNumber })
	if i < 0 {
		return
	}
	key := words.others[i]
	same := key.Text
	if len(words.names) == 0 && len(words.others) == 1 {
		same = cut(fold.Name(verification.ASCIIDigits(text)), maxSearchText) // with the zeros that a search ignores
	} else if utf8.RuneCountInString(same) < minNumberInText {
		return // such as the number of a house
	}
	if first, n := utf8.DecodeRuneInString(same); strings.Trim(same[n:], string(first)) == "" {
		return // such as 0000
	}
	if key.CouldBeLocal() {
		key.Kind = SearchWhole
	}
	all.add(EarlierWord{verification.EarlierNumber, key, same})
}

// addPersons adds the names and dates of one person.
func (all *earlierWords) addPersons(parts ...searchWords) {
	for _, names := range parts {
		for _, name := range names.persons {
			for _, dates := range parts {
				for _, w := range dates.others {
					if w.Kind == SearchDate {
						word := name.with(" " + w.Text).word(SearchPerson)
						all.add(EarlierWord{verification.EarlierPerson, word, word.Text})
					}
				}
			}
		}
	}
}
