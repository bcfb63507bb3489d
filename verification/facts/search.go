// Search: the words by which people find a run.

package facts

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/verifyd/verifyd/internal/birthdate"
	"github.com/verifyd/verifyd/internal/fold"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// SearchKind is the kind of a search word.
type SearchKind string

// The kinds of search words.
const (
	SearchName   SearchKind = "name"   // one word of a name
	SearchNumber SearchKind = "number" // the letters and digits of a number
	SearchPhone  SearchKind = "phone"  // the number in a phone field; it is found as a number
	SearchMail   SearchKind = "mail"   // a mail address
	SearchDate   SearchKind = "date"   // YYYY-MM-DD; of a birth date, also YYYY or YYYY-MM
	SearchLocal  SearchKind = "local"  // a phone number without its country; it is found as a number
	SearchWhole  SearchKind = "whole"  // a number that might be a SearchLocal, as it was written; no text that a person types has one
	SearchPerson SearchKind = "person" // all words of a name, and a date; no text that a person types has one
)

// SearchWord is a word by which a run is found, in a form that does not depend on case, marks
// and punctuation.
type SearchWord struct {
	Kind SearchKind
	Text string // 1 to 100 characters; of a SearchPerson to 1,011
	// Earlier is the text in the form in which words were saved before ı, yeh, kaf and heh were folded; empty if it
	// is the same. A search looks for both, until the keys of all runs are made anew.
	Earlier string
}

// spelling is a text of search words, and its earlier form.
type spelling struct{ text, earlier string }

func spelt(text string, limit int) spelling {
	return spelling{cut(fold.Name(text), limit), cut(fold.Earlier(text), limit)}
}

// with returns the spelling with a text behind it.
func (s spelling) with(text string) spelling { return spelling{s.text + text, s.earlier + text} }

func (s spelling) word(kind SearchKind) SearchWord {
	if s.earlier == s.text {
		return SearchWord{Kind: kind, Text: s.text}
	}
	return SearchWord{kind, s.text, s.earlier}
}

// The bounds of search words.
const (
	maxSearchWords  = 64 // of a run, without its elements
	maxElementWords = 8
	maxTypedWords   = 16 // of a text that a person types
	maxSearchText   = 100
	maxPersonText   = 1000
)

// SearchWords returns the words by which a run is found: those of the answers to fields with
// `search`, of the input marked with "x-search", and of its elements. If there are more than 64, or more than 8 of an element, the last words
// of names are left out. A word is cut after 100 characters.
func SearchWords(p workflow.Program, r rules.Run) []SearchWord {
	r = r.WithEarlierAnswers()
	var all searchWords
	searched(p, r, func(values []searchValue, _ bool) { all.add(values) })
	words := all.words(maxSearchWords)
	for _, e := range ElementsOf(p, r).All {
		words = append(words, e.SearchWords()...)
	}
	return words
}

// searched calls f with the values by which a run is found: those of the input, of each form,
// and of each row. row says that they are of one element of several.
func searched(p workflow.Program, r rules.Run, f func(values []searchValue, row bool)) {
	input := r.Started.Input.Map()
	var values []searchValue
	for _, name := range p.SearchedInput() {
		values = append(values, searchValue{value: input[name], named: namesPhone(name)})
	}
	f(values, false)
	for _, s := range r.Steps {
		n, ok := p.Node(s.Node)
		if !ok || s.Type != workflow.NodeCustomerInput {
			continue
		}
		answers := s.Data.Map()
		f(searchedIn(n.Fields, answers), s.Node != s.Node.InDefinition())
		for _, field := range n.Fields {
			rows, _ := answers[field.Name].([]any)
			for _, row := range rows {
				fields, _ := row.(map[string]any)
				f(searchedIn(field.Fields, fields), true)
			}
		}
	}
}

// searchedIn returns the values of the fields with search.
func searchedIn(fields workflow.InputFields, answers map[string]any) (values []searchValue) {
	for _, f := range fields {
		if f.Search {
			values = append(values, searchValue{value: answers[f.Name], phone: f.Type == workflow.FieldPhone, date: f.Type == workflow.FieldDate})
		}
	}
	return values
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
	named bool // its property of the input has the name of a phone number
	date  bool
}

// partialDate returns the value of a date field without a day or a month; empty for another value.
func (v searchValue) partialDate() string {
	if text := full(v.value); v.date && len(text) < len(time.DateOnly) && birthdate.Is(text) {
		return text
	}
	return ""
}

// searchWords collects words.
type searchWords struct {
	names, others []SearchWord
	locals        []SearchWord // of phone numbers with a country, and what they might be taken for
	persons       []spelling   // the names, each as its words in alphabetical order
}

// words returns up to limit of the words, those of names last.
func (s *searchWords) words(limit int) (all []SearchWord) {
	add := func(w SearchWord) {
		if len(all) < limit && !slices.ContainsFunc(all, func(o SearchWord) bool { return o.Kind == w.Kind && o.Text == w.Text }) {
			all = append(all, w)
		}
	}
	for _, w := range s.others {
		add(w)
	}
	for _, w := range s.locals {
		add(w)
	}
	for _, w := range s.others {
		for _, name := range s.persons {
			if w.Kind == SearchDate {
				add(name.with(" " + w.Text).word(SearchPerson))
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
	var together []spelling
	for _, v := range values {
		number := SearchNumber
		if v.phone {
			number = SearchPhone
		}
		if partial := v.partialDate(); partial != "" { // it is found as a number, because it is typed like one, and is no number of a person
			s.addWord(SearchDate, spelling{partial, partial})
			s.locals = append(s.locals, SearchWord{Kind: SearchNumber, Text: strings.ReplaceAll(partial, "-", "")})
			continue
		}
		text, before := full(v.value), len(s.others)
		words := s.addText(text, number)
		s.addLocal(text, s.others[before:])
		together = append(together, words...)
		if len(words) > 1 {
			s.addPerson(words)
		}
	}
	s.addPerson(together)
}

// addLocal adds the words of a text that keep phone numbers with and without a country apart:
// of a phone number with a country, the numbers that people of the country dial, and of every
// number that could be one of these, the whole number. So a search finds the number in both
// forms, and two runs have the same number only if it was written so in both.
func (s *searchWords) addLocal(text string, words []SearchWord) {
	for _, w := range words {
		if w.CouldBeLocal() {
			s.locals = append(s.locals, SearchWord{Kind: SearchWhole, Text: w.Text})
		}
		if w.Kind != SearchPhone || !strings.HasPrefix(text, "+") && !strings.HasPrefix(text, "00") {
			continue
		}
		if national := w.Text[min(len(w.Text), callingCode(w.Text)):]; len(national) >= minLocal {
			s.locals = append(s.locals, SearchWord{Kind: SearchLocal, Text: national}, SearchWord{Kind: SearchLocal, Text: "0" + national})
		}
	}
}

// The digits of a SearchLocal: a number of E.164 without its country, and a 0.
const (
	minLocal = 5
	maxLocal = 15
)

// CouldBeLocal reports whether a word is a number of digits alone that a SearchLocal may
// equal. Runs have such a number in common if they have its SearchWhole in common.
func (w SearchWord) CouldBeLocal() bool {
	return (w.Kind == SearchNumber || w.Kind == SearchPhone) && len(w.Text) >= minLocal && len(w.Text) <= maxLocal &&
		!strings.ContainsFunc(w.Text, func(r rune) bool { return r < '0' || r > '9' })
}

// callingCode returns how many of the first digits of an international number are the country:
// no code begins with another one (ITU-T E.164, list of assigned codes). One digit is North
// America and the zone of Russia, and these two digits are codes; all others have three.
func callingCode(digits string) int {
	const two = " 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98 "
	switch {
	case strings.HasPrefix(digits, "1"), strings.HasPrefix(digits, "7"):
		return 1
	case len(digits) > 2 && strings.Contains(two, " "+digits[:2]+" "):
		return 2
	}
	return 3
}

// addPerson adds a name.
func (s *searchWords) addPerson(words []spelling) {
	if len(words) == 0 {
		return
	}
	joined := func(text func(spelling) string) string {
		all := make([]string, len(words))
		for i, w := range words {
			all[i] = text(w)
		}
		return cut(strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), " "), maxPersonText)
	}
	name := spelling{joined(func(w spelling) string { return w.text }), joined(func(w spelling) string { return w.earlier })}
	if !slices.Contains(s.persons, name) {
		s.persons = append(s.persons, name)
	}
}

// addText adds the words of a text, and returns those of names. Parts with an @ are mail
// addresses. Parts with a digit are one number, together with all others if none of these has
// more than two letters, as in AB 12 34 56 C.
func (s *searchWords) addText(text string, number SearchKind) (names []spelling) {
	var parts []string
	digits := false
	for part := range strings.FieldsSeq(text) {
		_, err := time.Parse(time.DateOnly, part)
		switch {
		case err == nil:
			s.addWord(SearchDate, spelling{part, part})
		case strings.Contains(part, "@"):
			mail := strings.ToLower(composed(part))
			s.addWord(SearchMail, spelling{mail, mail})
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
			if name := spelt(word, maxSearchText); name.text != "" {
				names = append(names, name)
				s.names = append(s.names, name.word(SearchName))
			}
		}
	}
	s.addWord(number, spelling{numberOf(b.String(), fold.Name), numberOf(b.String(), fold.Earlier)})
	return names
}

func (s *searchWords) addWord(kind SearchKind, t spelling) {
	if t.text != "" {
		s.others = append(s.others, spelling{cut(t.text, maxSearchText), cut(t.earlier, maxSearchText)}.word(kind))
	}
}

// endsWord reports whether a character stands between two words of a name. An apostrophe does
// not.
func endsWord(r rune) bool {
	return !strings.ContainsRune("'`´’‘ʼ", r) && (unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r))
}

// numberOf returns the letters and digits of a number. Digits of any script become those of
// ASCII. A phone number loses the 00 in front of its country, which others write as a +, and
// the 0 in parentheses behind it, which nobody dials from abroad; in Italy it belongs to the
// number.
func numberOf(text string, folded func(string) string) string {
	if strings.HasPrefix(text, "+") && !strings.HasPrefix(text, "+39") || strings.HasPrefix(text, "00") && !strings.HasPrefix(text, "0039") {
		text = strings.Replace(text, "(0)", "", 1)
	}
	number := folded(verification.ASCIIDigits(text))
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
