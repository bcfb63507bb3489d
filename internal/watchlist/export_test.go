package watchlist

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/verifyd/verifyd/internal/names"
)

// Equal returns the ids of the entries with a name that is equal to a text.
func (l *List) Equal(text string) []string {
	var ids []string
	for _, name := range l.equal(text) {
		ids = append(ids, l.entry(name.entry).ID)
	}
	return ids
}

// WithID returns the ids of the entries with an identifier.
func (l *List) WithID(ids ...Identifier) []string {
	var out []string
	for _, entry := range l.identified(ids) {
		out = append(out, l.entry(entry).ID)
	}
	return out
}

// ForgetExactNames makes the exact lookup of a list find nothing.
func (l *List) ForgetExactNames() { l.exact.seed = maphash.MakeSeed() }

// ForgetKeys makes the indexes of a list find nothing.
func (l *List) ForgetKeys() { l.people.keys, l.companies.keys = nil, nil }

// Problem returns the error for a list that loses names.
func (t SelfTest) Problem() error { return t.problem() }

func (l *List) index(kind names.Kind) *index {
	if kind == names.Company {
		return l.companies
	}
	return l.people
}

// Found returns the scores of the entries that a search by similarity finds, by the number
// of the entry.
func (l *List) Found(kind names.Kind, text string, minimum float32) (map[uint32]float32, error) {
	x := l.index(kind)
	query, err := l.comparer.Parse(kind, text)
	out := map[uint32]float32{}
	if err != nil {
		return out, err
	}
	for _, f := range x.search(query, minimum) {
		out[x.entries[f.name]] = max(out[x.entries[f.name]], f.match.Score)
	}
	return out, nil
}

// Compared returns the scores of those entries, or of all if there are none given, as a
// comparison with each of their names gives them, with the weights of a search. It leaves
// out those below minimum.
func (l *List) Compared(kind names.Kind, text string, minimum float32, entries ...uint32) (map[uint32]float32, error) {
	x := l.index(kind)
	query, err := l.comparer.Parse(kind, text)
	out := map[uint32]float32{}
	if err != nil {
		return out, err
	}
	x.terms(query)
	wanted := map[uint32]bool{}
	for _, e := range entries {
		wanted[e] = true
	}
	var lock sync.Mutex
	var all sync.WaitGroup
	const parts = 4
	for part := range uint32(parts) {
		all.Go(func() {
			for i := part; i < uint32(x.names.size()); i += parts {
				entry := x.entries[i]
				if len(entries) > 0 && !wanted[entry] {
					continue
				}
				if score := x.comparer.Compare(query, x.name(i)).Score; score >= minimum {
					lock.Lock()
					out[entry] = max(out[entry], score)
					lock.Unlock()
				}
			}
		})
	}
	all.Wait()
	return out, nil
}

// All returns the entries in their order.
func (l *List) All() []Entry {
	all := make([]Entry, l.Entries)
	for i := range all {
		all[i] = l.entry(uint32(i))
	}
	return all
}

// Parts returns the parts of the names of a stored entry: those that are compared, and the others.
func (e Entry) Parts() (compared, exact []string) {
	at := len(e.parts) - e.exact
	return e.parts[:at], e.parts[at:]
}

// Has reports whether the index of a kind has a name of the entry with an id.
func (l *List) Has(kind names.Kind, id string) bool {
	for _, number := range l.index(kind).entries {
		if l.entry(number).ID == id {
			return true
		}
	}
	return false
}

// BreakNext makes the next loads of all lists return lists that find nothing.
func (a *Lists) BreakNext() {
	a.read = func(ctx context.Context, s Source) (*List, error) {
		l, err := Load(ctx, s)
		if err == nil {
			l.ForgetExactNames()
			l.ForgetKeys()
		}
		return l, err
	}
}

// Uncleared returns the number of hits that remain if another birth date clears an entry.
func (l *List) Uncleared(s Subject, minimum float64) (int, error) {
	found, err := l.Search(s, minimum)
	n := 0
	for _, h := range found.Hits {
		if !Clears(s.BirthDate, h.BirthDates) {
			n++
		}
	}
	return n, err
}

// LostAsWritten searches each name of the list as it is written, and returns the number of
// names, and of those whose entry is not found.
func (l *List) LostAsWritten() (searched, lost int) {
	for i := range l.Entries {
		e := l.entry(uint32(i))
		for _, name := range append(e.Aliases, e.parts...) {
			searched++
			if !slices.ContainsFunc(l.equal(name), func(found listed) bool { return found.entry == uint32(i) }) {
				lost++
			}
		}
	}
	return searched, lost
}
