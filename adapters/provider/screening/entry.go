// An entry of a list.

package screening

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
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
	// date is approximate, such as ~1965, or two of them for a range, such as 1960..1965.
	BirthDates []string
	Countries  []string // codes as country.Parse returns them
	Topics     []string // such as sanction or role.pep
	// Identifiers are numbers of documents and registrations, such as passports.
	Identifiers []Identifier
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

// names returns the name and the aliases, without repetitions: first those that are compared,
// then the others.
func (e *Entry) names() (all []string, compared int) {
	seen := map[string]bool{"": true}
	add := func(names ...string) {
		for _, name := range names {
			if name = withoutControls(strings.TrimSpace(name)); !seen[name] {
				seen[name] = true
				all = append(all, name)
			}
		}
	}
	add(e.Name)
	add(e.Aliases...)
	compared = min(len(all), maxAliases)
	add(e.Weak...)
	return all, compared
}

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
