// Search: the words by which people find a run.

package view

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/verifyd/verifyd/internal/fold"
	"github.com/verifyd/verifyd/verification"
)

// SearchKind is the kind of a search word.
type SearchKind string

// The kinds of search words.
const (
	SearchName   SearchKind = "name"   // one word of a name
	SearchNumber SearchKind = "number" // the letters and digits of a number
	SearchPhone  SearchKind = "phone"  // the number in a phone field; it is found as a number
	SearchMail   SearchKind = "mail"   // a mail address
	SearchDate   SearchKind = "date"   // YYYY-MM-DD
	SearchPerson SearchKind = "person" // all words of a name, and a date; no text that a person types has one
)

// SearchWord is a word by which a run is found, in a form that does not depend on case, marks
// and punctuation.
type SearchWord struct {
	Kind SearchKind
	Text string // 1 to 100 characters; of a SearchPerson to 1,011
}

// The bounds of search words.
const (
	maxSearchWords = 64 // of a run
	maxTypedWords  = 16 // of a text that a person types
	maxSearchText  = 100
	maxPersonText  = 1000
)

// SearchWords returns the words by which a run is found: those of the answers to fields with
// `search`, and of the input marked with "x-search". If there are more than 64, the last words
// of names are left out. A word is cut after 100 characters.
func SearchWords(p verification.Program, r verification.Run) []SearchWord {
	var all searchWords
	input := r.Started.Input.Map()
	var values []searchValue
	for _, name := range p.SearchedInput() {
		values = append(values, searchValue{value: input[name]})
	}
	all.add(values)
	for _, s := range r.Steps {
		n, ok := p.Node(s.Node)
		if !ok || s.Type != verification.NodeCustomerInput {
			continue
		}
		answers := s.Data.Map()
		values = nil
		for _, f := range n.Fields {
			if f.Search {
				values = append(values, searchValue{answers[f.Name], f.Type == verification.FieldPhone})
			}
		}
		all.add(values)
	}
	return all.words(maxSearchWords)
}

// ParseSearch returns the words of a text that a person types: a run is meant if it has all of
// them. Words after the 16th are ignored.
func ParseSearch(text string) []SearchWord {
	var all searchWords
	all.addText(text, SearchNumber)
	return all.words(maxTypedWords)
}

// searchValue is a value by which a run is found.
type searchValue struct {
	value any
	phone bool
}

// searchWords collects words.
type searchWords struct {
	names, others []SearchWord
	persons       []string // the names, each as its words in alphabetical order
}

// words returns up to limit of the words, those of names last.
func (s *searchWords) words(limit int) (all []SearchWord) {
	add := func(w SearchWord) {
		if len(all) < limit && !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	for _, w := range s.others {
		add(w)
	}
	for _, w := range s.others {
		for _, name := range s.persons {
			if w.Kind == SearchDate {
				add(SearchWord{SearchPerson, name + " " + w.Text})
			}
		}
	}
	for _, w := range s.names {
		add(w)
	}
	return all
}

// add adds the values of one form, or of the input. A name may be in several fields, such as
// the given name and the family name.
func (s *searchWords) add(values []searchValue) {
	var together []string
	for _, v := range values {
		number := SearchNumber
		if v.phone {
			number = SearchPhone
		}
		words := s.addText(full(v.value), number)
		together = append(together, words...)
		if len(words) > 1 {
			s.addPerson(words)
		}
	}
	s.addPerson(together)
}

// addPerson adds a name.
func (s *searchWords) addPerson(words []string) {
	if len(words) == 0 {
		return
	}
	name := cut(strings.Join(slices.Compact(slices.Sorted(slices.Values(words))), " "), maxPersonText)
	if !slices.Contains(s.persons, name) {
		s.persons = append(s.persons, name)
	}
}

// addText adds the words of a text, and returns those of names. Parts with an @ are mail
// addresses. Parts with a digit are one number, together with all others if none of these has
// more than two letters, as in AB 12 34 56 C.
func (s *searchWords) addText(text string, number SearchKind) (names []string) {
	var parts []string
	digits := false
	for part := range strings.FieldsSeq(text) {
		_, err := time.Parse(time.DateOnly, part)
		switch {
		case err == nil:
			s.addWord(SearchDate, part)
		case strings.Contains(part, "@"):
			s.addWord(SearchMail, strings.ToLower(composed(part)))
		default:
			digits = digits || strings.ContainsFunc(part, unicode.IsDigit)
			parts = append(parts, part)
		}
	}
	long := func(part string) bool {
		return !strings.ContainsFunc(part, unicode.IsDigit) && len([]rune(fold.Name(part))) > 2
	}
	whole := digits && !slices.ContainsFunc(parts, long)
	var b strings.Builder
	for _, part := range parts {
		if whole || strings.ContainsFunc(part, unicode.IsDigit) {
			b.WriteString(part)
			continue
		}
		for _, word := range strings.FieldsFunc(part, endsWord) {
			if word = cut(fold.Name(word), maxSearchText); word != "" {
				names = append(names, word)
				s.names = append(s.names, SearchWord{SearchName, word})
			}
		}
	}
	s.addWord(number, numberOf(b.String()))
	return names
}

func (s *searchWords) addWord(kind SearchKind, text string) {
	if text != "" {
		s.others = append(s.others, SearchWord{kind, cut(text, maxSearchText)})
	}
}

// endsWord reports whether a character stands between two words of a name. An apostrophe does
// not.
func endsWord(r rune) bool {
	return !strings.ContainsRune("'`´’‘ʼ", r) && (unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r))
}

// numberOf returns the letters and digits of a number. Digits of any script become those of
// ASCII. A phone number loses the 00 in front of its country, which others write as a +.
func numberOf(text string) string {
	number := fold.Name(verification.ASCIIDigits(text))
	letters := strings.ContainsFunc(number, func(r rune) bool { return r < '0' || r > '9' })
	if rest, ok := strings.CutPrefix(number, "00"); ok && !letters && len(rest) >= 7 && len(rest) <= 15 {
		return rest
	}
	return number
}

// cut returns the first characters of a text.
func cut(text string, limit int) string {
	n := 0
	for i := range text {
		if n++; n > limit {
			return text[:i]
		}
	}
	return text
}
