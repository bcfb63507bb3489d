// Hits of a screening: the person or company that was screened beside the entry of the list.

package labels

import (
	"slices"
	"strings"

	"github.com/verifyd/verifyd/internal/screened"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
)

// HitRow is a fact of the customer beside the same fact of the entry. The parts that both have
// are marked. A side that does not say it is empty.
type HitRow struct {
	Fact            HitFact
	Customer, Entry []Part
}

// HitFact is a fact of a person or company.
type HitFact string

// The facts of hits, in the order of their rows.
const (
	HitName      HitFact = "name"
	HitAlias     HitFact = "alias" // the name of the entry that matched, if it is another one
	HitBorn      HitFact = "born"
	HitCountries HitFact = "countries"
	HitNumbers   HitFact = "numbers"
	HitTopics    HitFact = "topics" // why the entry is on the list
)

// HitWords are the words of a reader for codes.
type HitWords struct {
	// CountryCode returns the code of a country that a text names, or the text.
	CountryCode func(text string) string
	// CountryName returns the name of a country by its code, or the code.
	CountryName func(code string) string
	// Topic returns why an entry is on a list in words, or the topic.
	Topic func(topic string) string
}

// Part is a part of a text, which is marked or not.
type Part struct {
	Text string
	Mark bool
}

// maxScreened is how many birth dates, countries and numbers of a person are shown.
const maxScreened = 20

// upTo returns the first of texts that are shown.
func upTo(texts []string) []string { return texts[:min(len(texts), maxScreened)] }

// HitRows returns the facts of the person or company that a check has screened beside the facts
// of an entry: as the check was asked and, if the run is about the same one, as the run says. A
// fact that neither side has gets no row.
func HitRows(asked verification.Data, about rules.Subject, h verification.Hit, words HitWords) (rows []HitRow) {
	who := screened.Of(asked.Map(), about.Name, about.BirthDate, about.Number)
	var countries []string // codes, as far as they are known
	for _, text := range upTo(who.Countries) {
		countries = append(countries, words.CountryCode(text))
	}
	born := upTo(who.BirthDates)
	add := func(fact HitFact, customer, entry []Part) {
		if len(customer) > 0 || len(entry) > 0 {
			rows = append(rows, HitRow{fact, customer, entry})
		}
	}
	customer, _ := facts.SameWords(who.Name, h.Name+" "+h.Alias)
	_, name := facts.SameWords(who.Name, h.Name)
	add(HitName, Parts(customer), Parts(name))
	if h.Alias != "" {
		_, alias := facts.SameWords(who.Name, h.Alias)
		add(HitAlias, nil, Parts(alias))
	}
	add(HitBorn, equalDates(born, h.BirthDates), equalDates(h.BirthDates, born))
	add(HitCountries, equalCountries(countries, h.Countries, words), equalCountries(h.Countries, countries, words))
	add(HitNumbers, Parts(facts.Cell{Text: strings.Join(upTo(who.Numbers), ", ")}), nil)
	var topics []string
	for _, topic := range h.Topics {
		topics = append(topics, words.Topic(topic))
	}
	add(HitTopics, nil, Parts(facts.Cell{Text: strings.Join(topics, ", ")}))
	return rows
}

// Parts splits the text of a cell at its marks.
func Parts(c facts.Cell) (parts []Part) {
	text, at := []rune(c.Text), 0
	add := func(to int, mark bool) {
		if to = min(to, len(text)); to > at {
			parts = append(parts, Part{string(text[at:to]), mark})
			at = to
		}
	}
	for _, mark := range c.Marks {
		add(mark.From, false)
		add(mark.To, true)
	}
	add(len(text), false)
	return parts
}

// equalDates marks the beginning of each date that one of others has, too: the year, the year
// and the month, or all of it.
func equalDates(dates, others []string) (parts []Part) {
	for i, date := range dates {
		if i > 0 {
			parts = append(parts, Part{", ", false})
		}
		longest := 0
		for _, other := range others {
			longest = max(longest, equalStart(date, other))
		}
		for _, part := range []Part{{date[:longest], true}, {date[longest:], false}} {
			if part.Text != "" {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// equalStart returns the length of what two dates begin with, in whole years, months and days.
func equalStart(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if (n == len(a) || a[n] == '-') && (n == len(b) || b[n] == '-') {
		return n
	}
	return max(strings.LastIndexByte(a[:n], '-'), 0)
}

// equalCountries returns the names of countries by their codes. Those that others have, too,
// are marked.
func equalCountries(given, others []string, words HitWords) (parts []Part) {
	for i, text := range given {
		if i > 0 {
			parts = append(parts, Part{", ", false})
		}
		equal := slices.ContainsFunc(others, func(other string) bool { return strings.EqualFold(other, text) })
		parts = append(parts, Part{words.CountryName(text), equal})
	}
	return parts
}
