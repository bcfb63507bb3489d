// Searching a list for a person or a company.

package watchlist

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/internal/names"
)

// Subject is the person or company that is screened.
type Subject struct {
	Kind      names.Kind
	Name      string
	BirthDate string   // YYYY, YYYY-MM or YYYY-MM-DD; any other text counts as none
	Countries []string // may be empty
	// Identifiers are numbers of documents of the subject; may be empty.
	Identifiers []Identifier
}

// Hit is an entry of a list that is like a subject.
type Hit struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`            // of the entry
	Alias      string   `json:"alias,omitempty"` // the name that matched, or the part of one, if it is not Name
	Score      float64  `json:"score"`           // 0 to 1
	Reasons    []string `json:"reasons"`
	BirthDates []string `json:"birth_dates,omitempty"`
	Countries  []string `json:"countries,omitempty"`
	Topics     []string `json:"topics,omitempty"`
	Digest     string   `json:"-"` // identifies what the entry says, see Entry.digest
	Formerly   []string `json:"-"` // see Entry.Formerly
}

// maxHits is the maximum number of hits of a search.
const maxHits = 10

// Result is the result of a search.
type Result struct {
	Hits  []Hit // the best first, at most 10
	Total int   // the number of hits, of which Hits has the best
	// Doubts say what could not be compared; empty if everything was.
	Doubts []string
}

// Search returns the entries that are like a subject with a score of at least minimum. An
// entry with an equal name, or an equal identifier, has the score 1, whatever else differs. Search
// returns ErrNoName if the name of the subject has no letter and no digit.
func (l *List) Search(s Subject, minimum float64) (Result, error) {
	all, doubts, err := l.Matches(s, minimum)
	return Result{Hits: Best(all), Total: len(all), Doubts: doubts}, err
}

// Match is an entry that is like a subject, and what a check decides by.
type Match struct {
	Hit
	Entry      uint32       // its number in the list
	named      bool         // a name is equal
	equal      string       // the reason that says which
	Identified bool         // an identifier is equal
	indexed    bool         // the index found it
	alias      uint16       // the number of the name that is equal or alike, see Entry.name
	alike      *names.Match // nil if a name is equal, or none is alike
	reading    names.Name   // the reading of the subject's name that alike is of
	differences
}

// Best returns the first hits of sorted matches.
func Best(all []*Match) []Hit {
	hits := make([]Hit, 0, maxHits)
	for _, m := range all[:min(len(all), maxHits)] {
		hits = append(hits, m.Hit)
	}
	return hits
}

// Matches returns the entries that are like a subject, the best first, and what could not
// be compared.
func (l *List) Matches(s Subject, minimum float64) (all []*Match, doubts []string, err error) {
	found, doubts, err := l.like(s, minimum)
	if err != nil {
		return nil, nil, err
	}
	for number, m := range found {
		e := l.entry(number)
		m.Entry = number
		score, reasons, differs := adjust(s, e, m.Score)
		if differs.short = m.short; !m.named && !m.Identified {
			m.Score = round(score)
		}
		m.differences = differs
		if m.Score < minimum {
			continue
		}
		m.ID, m.Name, m.BirthDates, m.Countries, m.Topics, m.Digest = e.ID, e.Name, e.BirthDates, e.Countries, e.Topics, e.digest()
		m.Formerly = e.Formerly
		switch {
		case m.alike != nil:
			m.Reasons = append(m.Reasons, l.explain(m.reading, e.name(m.alias), *m.alike)...)
		case !m.named:
			m.name = true
			m.Reasons = append(m.Reasons, "the name is not like the listed name")
		}
		if m.alias > 0 {
			m.Alias = e.name(m.alias)
		}
		m.Reasons = append(m.Reasons, reasons...)
		if m.short {
			m.Reasons = append(m.Reasons, "only a part of one short word is the same")
		}
		if l.otherKind(s.Kind, number) {
			m.kind = true
			m.Reasons = append(m.Reasons, "listed as a "+string(otherKind(s.Kind)))
		}
		all = append(all, m)
	}
	BestFirst(all)
	return withoutCopies(all), doubts, nil
}

// withoutCopies leaves out entries without an id that say the same as another one.
func withoutCopies(all []*Match) []*Match {
	known := map[string]bool{}
	return slices.DeleteFunc(all, func(m *Match) bool {
		copied := known[m.ID]
		known[m.ID] = slices.Contains(m.Formerly, anyLine)
		return copied
	})
}

// BestFirst sorts matches.
func BestFirst(all []*Match) {
	slices.SortFunc(all, func(a, b *Match) int {
		return cmp.Or(
			cmp.Compare(b.Score, a.Score), first(a.named || a.Identified, b.named || b.Identified), first(!a.Differs(), !b.Differs()),
			cmp.Compare(a.ID, b.ID), cmp.Compare(a.Name, b.Name),
		)
	})
}

// like returns the entries with an equal identifier or name, or a name that is like the
// subject's, by their numbers, and what could not be compared.
func (l *List) like(s Subject, minimum float64) (found map[uint32]*Match, doubts []string, err error) {
	given, doubts, err := l.given(s)
	found = l.exactly(s, given)
	l.compare(s, given, minimum, found)
	if err != nil && len(found) > 0 {
		doubts, err = []string{Nameless}, nil
	}
	return found, doubts, err
}

// Nameless is what could not be compared of a subject whose name has no letter and no digit.
const Nameless = "the name has no letter and no digit: it was not compared"

// given is a text by which a subject is searched: its name, what may be hidden in it, or a part of it.
type given struct {
	text    string
	reading *names.Name // nil if it is only looked up
	part    bool
	short   bool // it is a part of one short word
}

// given returns the texts by which a subject is searched, its name first. The error says that the name has no
// letter and no digit.
func (l *List) given(s Subject) (all []given, doubts []string, err error) {
	all = []given{{text: s.Name}}
	readings, err := l.comparer.Readings(s.Kind, s.Name)
	if err != nil {
		return all, nil, err
	}
	doubts = readings[0].Doubts
	all[0].reading = &readings[0]
	for i, r := range readings {
		if i > 0 || r.Text != "" {
			all = append(all, given{text: r.Text, reading: &readings[i]})
		}
	}
	parts, known, more := 0, map[string]bool{"": true}, false
	for _, whole := range all {
		found, others := l.comparer.Split(whole.text)
		more = more || others
		for _, p := range found {
			if known[p.Text] {
				continue
			}
			if parts++; parts > names.MaxParts {
				more = true
				break
			}
			known[p.Text] = true
			part := given{text: p.Text, part: true, short: p.Exact && oneWord(p.Text)}
			if n, err := l.comparer.Parse(s.Kind, p.Text); err == nil && !p.Exact {
				part.reading = &n
			}
			all = append(all, part)
		}
	}
	if more {
		doubts = append(slices.Clone(doubts), fmt.Sprintf("the name has more than %d names: no more are compared", names.MaxParts))
	}
	return all, doubts, nil
}

// first orders what is true before what is not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// longestAcronym is the maximum length of a word that two names may have in common in brackets.
const longestAcronym = 6

// exactly returns the entries with an identifier or a name, of either kind, that is equal to one of
// the subject.
func (l *List) exactly(s Subject, all []given) map[uint32]*Match {
	found := map[uint32]*Match{}
	for _, number := range l.identified(s.Identifiers) {
		found[number] = &Match{Identified: true, Hit: Hit{Score: 1, Reasons: sameIdentifiers(s.Identifiers, l.entry(number).Identifiers)}}
	}
	for _, g := range all {
		for _, f := range l.equal(g.text) {
			m, e := found[f.entry], l.entry(f.entry)
			part, short := e.isPart(f.name)
			if short && g.short && len([]rune(g.text)) > longestAcronym {
				continue // in brackets on both sides: it is more often a place
			}
			if m == nil {
				m = &Match{Hit: Hit{Score: 1}}
				found[f.entry] = m
			}
			if short = short || g.short; m.named && (!m.short || short) {
				continue
			}
			m.named, m.alias, m.short = true, f.name, short
			switch {
			case g.part:
				m.equal = "a part of the name is the same: " + g.text
			case part:
				m.equal = "the name is the same as a part of the listed name"
			default:
				m.equal = "the name is the same"
			}
		}
	}
	for _, m := range found {
		if m.named {
			m.Reasons = append(m.Reasons, m.equal)
		}
	}
	return found
}

// compare adds the entries with a name that is like one of the subject's.
func (l *List) compare(s Subject, all []given, minimum float64, into map[uint32]*Match) {
	x := l.people
	if s.Kind == names.Company {
		x = l.companies
	}
	type foundBy struct {
		found
		given
	}
	best := map[uint32]foundBy{}
	for _, g := range all {
		if g.reading == nil {
			continue
		}
		for _, f := range x.search(*g.reading, float32(minimum)*lowest) {
			entry := x.entries[f.name]
			known, ok := best[entry]
			if !ok || cmp.Or(cmp.Compare(f.match.Score, known.match.Score), cmp.Compare(known.name, f.name)) > 0 {
				best[entry] = foundBy{f, g}
			}
		}
	}
	for number, f := range best {
		m := into[number]
		if m == nil {
			m = &Match{Hit: Hit{Score: float64(f.match.Score)}}
			into[number] = m
		}
		m.indexed = true
		if !m.named {
			m.alike, m.reading, m.alias = &f.match, *f.reading, x.aliases[f.name]
			if f.part {
				m.Reasons = append(m.Reasons, "a part of the name is compared: "+f.text)
			}
		}
	}
}

// kinds returns the kinds of an entry as which its names are compared; none if no name is.
func (l *List) kinds(number uint32) (kinds []names.Kind) {
	for _, x := range []*index{l.people, l.companies} {
		if _, ok := slices.BinarySearch(x.entries, number); ok {
			kinds = append(kinds, x.kind)
		}
	}
	return kinds
}

// otherKind reports whether an entry is listed as the other kind only.
func (l *List) otherKind(kind names.Kind, number uint32) bool {
	kinds := l.kinds(number)
	return len(kinds) > 0 && !slices.Contains(kinds, kind)
}

func otherKind(kind names.Kind) names.Kind {
	if kind == names.Person {
		return names.Company
	}
	return names.Person
}
