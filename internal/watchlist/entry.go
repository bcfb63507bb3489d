// An entry of a list.

package watchlist

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/internal/names"
)

// Entry is one person or company of a list.
type Entry struct {
	ID      string
	Name    string
	Aliases []string
	// Weak are aliases of one word that the list calls weak, such as nicknames. They match too
	// many names to be compared: they are found as they are written.
	Weak    []string
	Person  bool
	Company bool
	// BirthDates are YYYY, YYYY-MM or YYYY-MM-DD; with ~ before it if the list says that the
	// date is approximate, such as ~1965, or two of them for a range, such as 1960..1965. A text
	// that could not be read has ? before it.
	BirthDates []string
	Countries  []string // codes as country.Parse returns them
	Topics     []string // such as sanction or role.pep
	// Identifiers are numbers of documents and registrations, such as passports.
	Identifiers []Identifier
	// Formerly are earlier ids of the entry, such as those of the entities that it was merged from, see verification.Hit.
	Formerly []string

	// parts are the names that names and aliases consist of, of an entry that a list has stored:
	// those that are compared, and then those that are found only as they are written.
	parts []string
	exact int // how many of them are not compared

	unnumbered bool // the list has no id for it: ID names its place until the entry is complete
}

// maxFormerly is the maximum number of earlier ids of an entry that are kept.
const maxFormerly = 1000

// identified returns an entry with an id; if it is empty, with its line or another place in the file.
func identified(id, place string, n int) Entry {
	if id == "" {
		return Entry{ID: fmt.Sprintf("%s-%d", place, n), unnumbered: true}
	}
	return Entry{ID: id}
}

// saidPrefix is how the ids of entries begin that are known by what they say.
const saidPrefix = "said-"

// The ids that entries without an id had before: their places in the file.
const anyLine, anyPlace = "line-*", "entry-*"

// identify gives an entry without an id one that depends on what the entry says, and not on its place.
func (e *Entry) identify() {
	if e.unnumbered {
		sum := sha256.Sum256(fmt.Appendf(nil, "%t %t %s", e.Person, e.Company, e.digest()))
		e.ID = saidPrefix + hex.EncodeToString(sum[:8])
	}
}

// earlier returns the earlier ids of a stored entry.
func (e *Entry) earlier(stored []string) []string {
	if len(e.ID) == len(saidPrefix)+16 && strings.HasPrefix(e.ID, saidPrefix) {
		return append(stored, anyLine, anyPlace)
	}
	return stored
}

// Identifier is the number of a document or registration.
type Identifier struct {
	Type  IdentifierType
	Value string // as published
}

// IdentifierType is the type of an identifier.
type IdentifierType string

// The types of identifiers.
const (
	Passport      IdentifierType = "passport"
	NationalID    IdentifierType = "national_id"
	TaxNumber     IdentifierType = "tax"
	LEI           IdentifierType = "lei"
	Registration  IdentifierType = "registration" // of a company
	OtherDocument IdentifierType = "other"        // a list does not say which
)

// title returns what a reason calls the identifier.
func (t IdentifierType) title() string {
	switch t {
	case Passport:
		return "passport number"
	case NationalID:
		return "national number"
	case TaxNumber:
		return "tax number"
	case LEI:
		return "LEI"
	case Registration:
		return "registration number"
	case OtherDocument:
	}
	return "identifier"
}

// maxAliases is the maximum number of names of an entry that are compared. The others are
// found as they are written.
const maxAliases = 500

// maxEntryParts is the maximum number of parts of an entry's names.
const maxEntryParts = maxValues

// entryNames are the names of an entry, without repetitions. Their numbers are those in the order of
// their groups.
type entryNames struct {
	wholes   []string // the name, the aliases and the weak aliases
	compared int      // how many of the wholes are compared: the first ones
	parts    []string // of the wholes, to be compared
	exact    []string // of the wholes, not to be compared
	left     int      // how many names have parts beyond the limits
}

// names returns the names of an entry.
func (e *Entry) names(c *names.Comparer) (n entryNames) {
	seen := map[string]bool{"": true}
	once := func(name string) bool {
		if seen[name] {
			return false
		}
		seen[name] = true
		return true
	}
	add := func(names ...string) {
		for _, name := range names {
			if name = withoutControls(strings.TrimSpace(name)); once(name) {
				n.wholes = append(n.wholes, name)
			}
		}
	}
	add(e.Name)
	add(e.Aliases...)
	n.compared = min(len(n.wholes), maxAliases)
	add(e.Weak...)
	for _, name := range n.wholes {
		parts, more := c.Split(name)
		for _, part := range parts {
			switch {
			case len(n.parts)+len(n.exact) == maxEntryParts:
				more = true
			case !once(part.Text):
			case part.Exact:
				n.exact = append(n.exact, part.Text)
			default:
				n.parts = append(n.parts, part.Text)
			}
		}
		if more {
			n.left++
		}
	}
	return n
}

// all returns the names in the order of their numbers.
func (n *entryNames) all() []string { return slices.Concat(n.wholes, n.parts, n.exact) }

// name returns the name of a stored entry with a number.
func (e *Entry) name(number uint16) string {
	if i := int(number); i < len(e.Aliases) {
		return e.Aliases[i]
	}
	return e.parts[int(number)-len(e.Aliases)]
}

// isPart reports whether the name of a stored entry with a number is a part of another one, and whether
// it is one short word.
func (e *Entry) isPart(number uint16) (part, short bool) {
	exact := int(number) - len(e.Aliases) - len(e.parts) + e.exact
	return int(number) >= len(e.Aliases), exact >= 0 && oneWord(e.name(number))
}

func oneWord(text string) bool { return !strings.Contains(text, " ") }

// digest identifies what the entry says: it changes with any name, date, country, topic or
// identifier, and not with their order.
func (e *Entry) digest() string {
	h := sha256.New()
	part := func(values ...string) {
		for _, v := range slices.Sorted(slices.Values(values)) {
			h.Write([]byte(v + "\x1e"))
		}
		h.Write([]byte("\x1f"))
	}
	part(e.Name)
	part(slices.Concat(e.Aliases, e.Weak)...)
	part(e.BirthDates...)
	part(e.Countries...)
	part(e.Topics...)
	numbers := make([]string, len(e.Identifiers))
	for i, id := range e.Identifiers {
		numbers[i] = string(id.Type) + " " + id.Value
	}
	part(numbers...)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// withoutControls returns a text with spaces for control characters.
func withoutControls(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}

// check returns an error for an entry that cannot be stored.
func (e *Entry) check() error {
	var numbers []string
	for _, id := range e.Identifiers {
		numbers = append(numbers, id.Value)
	}
	for _, field := range []struct {
		name   string
		values []string
		limit  int
	}{
		{"identifier", numbers, maxValues},
		{"id", []string{e.ID}, 1},
		{"name", []string{e.Name}, 1},
		{"alias", e.Aliases, maxValues},
		{"weak alias", e.Weak, maxValues},
		{"birth date", e.BirthDates, maxValues},
		{"country", e.Countries, maxValues},
		{"topic", e.Topics, maxValues},
	} {
		if len(field.values) > field.limit {
			return fmt.Errorf("entry %.100q has %d values of the field %s: the limit is %d", e.ID, len(field.values), field.name, field.limit)
		}
		for _, v := range field.values {
			// names replaces control characters.
			if named := field.name == "name" || strings.HasSuffix(field.name, "alias"); len(v) > maxValue || !named && strings.ContainsAny(v, "\x1e\x1f") {
				return fmt.Errorf("entry %.100q has a value that is too long or has control characters: its %s, of %d bytes; the limit is %d", e.ID, field.name, len(v), maxValue)
			}
		}
	}
	return nil
}
