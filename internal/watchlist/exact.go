// Exact lookup: the names and the identifiers of a list that are equal to a text.

package watchlist

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/verifyd/verifyd/internal/fold"
)

// listed is one name of an entry: its number, see Entry.name.
type listed struct {
	entry uint32
	name  uint16
}

// exact finds what is equal to a text, whatever else is in the list. It holds hashes; the
// texts are those of the entries.
type exact struct {
	seed        maphash.Seed
	names       []hashed
	identifiers []hashed
}

type hashed struct {
	hash uint32
	listed
}

func newExact() *exact { return &exact{seed: maphash.MakeSeed()} }

func (x *exact) hash(folded string) uint32 { return uint32(maphash.String(x.seed, folded)) }

// add adds the names and the identifiers of an entry, and reports whether it has any that
// can be found. unnamed is the number of names without a letter and a digit.
func (x *exact) add(entry uint32, all []string, identifiers []Identifier) (added bool, unnamed int) {
	for i, name := range all {
		if folded := fold.Name(name); folded != "" {
			x.names = append(x.names, hashed{x.hash(folded), listed{entry, uint16(i)}})
			added = true
		} else {
			unnamed++
		}
	}
	for i, id := range identifiers {
		if value := id.folded(); value != "" {
			x.identifiers = append(x.identifiers, hashed{x.hash(value), listed{entry, uint16(i)}})
			added = true
		}
	}
	return added, unnamed
}

// bytes returns the memory that the lookup takes.
func (x *exact) bytes() int64 { return 12 * int64(len(x.names)+len(x.identifiers)) }

// build makes the lookup ready.
func (x *exact) build() {
	for _, all := range []*[]hashed{&x.names, &x.identifiers} {
		*all = slices.Clone(*all)
		slices.SortFunc(*all, func(a, b hashed) int {
			return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.entry, b.entry), cmp.Compare(a.name, b.name))
		})
	}
}

// with returns what has the hash of a folded text.
func (x *exact) with(all []hashed, folded string) []hashed {
	hash := x.hash(folded)
	from, _ := slices.BinarySearchFunc(all, hash, func(h hashed, want uint32) int { return cmp.Compare(h.hash, want) })
	to := from
	for to < len(all) && all[to].hash == hash {
		to++
	}
	return all[from:to]
}

// equal returns the names of the list, of people and of companies, that are equal to a text
// after fold.Name, in the order of their entries.
func (l *List) equal(text string) []listed {
	folded := fold.Name(text)
	if folded == "" {
		return nil
	}
	var out []listed
	for _, h := range l.exact.with(l.exact.names, folded) {
		if fold.Name(nthName(l.fields(h.entry), int(h.name))) == folded {
			out = append(out, h.listed)
		}
	}
	return out
}

// identified returns the entries that have one of the identifiers, in their order. Two
// identifiers are equal if their letters and digits are, and their types, of which one may
// be OtherDocument.
func (l *List) identified(ids []Identifier) []uint32 {
	var out []uint32
	for _, id := range ids {
		value := id.folded()
		if value == "" {
			continue
		}
		for _, h := range l.exact.with(l.exact.identifiers, value) {
			if l.entry(h.entry).Identifiers[h.name].equal(id) {
				out = append(out, h.entry)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (id Identifier) equal(other Identifier) bool {
	return (id.Type == other.Type || id.Type == OtherDocument || other.Type == OtherDocument) && id.folded() == other.folded()
}

// folded returns the letters and digits of an identifier, in upper case.
func (id Identifier) folded() string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r > '\u007f' {
			return r
		}
		return -1
	}, strings.ToUpper(norm.NFKC.String(id.Value)))
}
