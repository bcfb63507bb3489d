// Searching a list for a person or a company.

package screening

import (
	"cmp"
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
	Alias      string   `json:"alias,omitempty"` // the name that matched, if it is not Name
	Score      float64  `json:"score"`           // 0 to 1
	Reasons    []string `json:"reasons"`
	BirthDates []string `json:"birth_dates,omitempty"`
	Countries  []string `json:"countries,omitempty"`
	Topics     []string `json:"topics,omitempty"`
	Digest     string   `json:"-"` // identifies what the entry says, see Entry.digest
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
	all, doubts, err := l.matches(s, minimum)
	return Result{Hits: best(all), Total: len(all), Doubts: doubts}, err
}

// match is an entry that is like a subject, and what a check decides by.
type match struct {
	Hit
	entry      uint32       // its number
	named      bool         // a name is equal
	identified bool         // an identifier is equal
	indexed    bool         // the index found it
	alias      uint16       // the name that is equal or alike, among Entry.Aliases
	alike      *names.Match // nil if a name is equal, or none is alike
	reading    names.Name   // the reading of the subject's name that alike is of
	differences
}

// best returns the first hits of sorted matches.
func best(all []*match) []Hit {
	hits := make([]Hit, 0, maxHits)
	for _, m := range all[:min(len(all), maxHits)] {
		hits = append(hits, m.Hit)
	}
	return hits
}

// matches returns the entries that are like a subject, the best first, and what could not
// be compared.
func (l *List) matches(s Subject, minimum float64) (all []*match, doubts []string, err error) {
	found, doubts, err := l.like(s, minimum)
	if err != nil {
		return nil, nil, err
	}
	for number, m := range found {
		e := l.entry(number)
		m.entry = number
		score, reasons, differs := adjust(s, e, m.Score)
		if m.differences = differs; !m.named && !m.identified {
			m.Score = round(score)
		}
		if m.Score < minimum {
			continue
		}
		m.ID, m.Name, m.BirthDates, m.Countries, m.Topics, m.Digest = e.ID, e.Name, e.BirthDates, e.Countries, e.Topics, e.digest()
		switch {
		case m.alike != nil:
			m.Reasons = append(m.Reasons, l.explain(m.reading, e.Aliases[m.alias], *m.alike)...)
		case !m.named:
			m.name = true
			m.Reasons = append(m.Reasons, "the name is not like the listed name")
		}
		if m.alias > 0 {
			m.Alias = e.Aliases[m.alias]
		}
		m.Reasons = append(m.Reasons, reasons...)
		if l.otherKind(s.Kind, number) {
			m.kind = true
			m.Reasons = append(m.Reasons, "listed as a "+string(otherKind(s.Kind)))
		}
		all = append(all, m)
	}
	bestFirst(all)
	return all, doubts, nil
}

// bestFirst sorts matches.
func bestFirst(all []*match) {
	slices.SortFunc(all, func(a, b *match) int {
		return cmp.Or(
			cmp.Compare(b.Score, a.Score), first(a.named || a.identified, b.named || b.identified), first(!a.any(), !b.any()),
			cmp.Compare(a.ID, b.ID), cmp.Compare(a.Name, b.Name),
		)
	})
}

// like returns the entries with an equal identifier or name, or a name that is like the
// subject's, by their numbers, and what could not be compared.
func (l *List) like(s Subject, minimum float64) (found map[uint32]*match, doubts []string, err error) {
	readings, err := l.comparer.Readings(s.Kind, s.Name)
	found = l.exactly(s, readings)
	if err == nil {
		doubts = readings[0].Doubts
		l.compare(s, readings, minimum, found)
	}
	if err != nil && len(found) > 0 {
		doubts, err = []string{nameless}, nil
	}
	return found, doubts, err
}

// nameless is what could not be compared of a subject whose name has no letter and no digit.
const nameless = "the name has no letter and no digit: it was not compared"

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

// exactly returns the entries with an identifier or a name, of either kind, that is equal to one of
// the subject, or to a reading of its name.
func (l *List) exactly(s Subject, readings []names.Name) map[uint32]*match {
	found := map[uint32]*match{}
	for _, number := range l.identified(s.Identifiers) {
		found[number] = &match{identified: true, Hit: Hit{Score: 1, Reasons: sameIdentifiers(s.Identifiers, l.entry(number).Identifiers)}}
	}
	equal := l.equal(s.Name)
	for _, r := range readings {
		if r.Text != "" {
			equal = append(equal, l.equal(r.Text)...)
		}
	}
	for _, f := range equal {
		m := found[f.entry]
		if m == nil {
			m = &match{Hit: Hit{Score: 1}}
			found[f.entry] = m
		}
		if !m.named {
			m.named, m.alias = true, f.name
			m.Reasons = append(m.Reasons, "the name is the same")
		}
	}
	return found
}

// compare adds the entries with a name that is like one of the readings of the subject's.
func (l *List) compare(s Subject, readings []names.Name, minimum float64, into map[uint32]*match) {
	x := l.people
	if s.Kind == names.Company {
		x = l.companies
	}
	type foundIn struct {
		found
		reading names.Name
	}
	best := map[uint32]foundIn{}
	for _, reading := range readings {
		for _, f := range x.search(reading, float32(minimum)*lowest) {
			entry := x.entries[f.name]
			known, ok := best[entry]
			if !ok || cmp.Or(cmp.Compare(f.match.Score, known.match.Score), cmp.Compare(known.name, f.name)) > 0 {
				best[entry] = foundIn{f, reading}
			}
		}
	}
	for number, f := range best {
		m := into[number]
		if m == nil {
			m = &match{Hit: Hit{Score: float64(f.match.Score)}}
			into[number] = m
		}
		m.indexed = true
		if !m.named {
			m.alike, m.reading, m.alias = &f.match, f.reading, x.aliases[f.name]
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
