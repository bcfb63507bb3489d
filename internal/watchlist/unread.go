// What could not be read: the values of a list file that its entries lack.

package watchlist

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/verifyd/verifyd/internal/birthdate"
	"github.com/verifyd/verifyd/internal/country"
)

// Unread says how many values of a field of a list file are not in its entries.
type Unread struct {
	Field string `json:"field"` // such as birth_date
	Count int    `json:"count"`
	// Of is how many values the field has in the file. It is 0 for what the reader leaves
	// out on purpose, such as ships.
	Of int `json:"of,omitempty"`
	// First is the id of the first entry with such a value, and Form the form of the
	// value, with 9 for a digit and a for a letter.
	First string `json:"first"`
	Form  string `json:"form,omitempty"`
}

// String returns what a log or a table says.
func (u Unread) String() string {
	switch {
	case u.Of == 0:
		return fmt.Sprintf("%d %s, first in entry %q", u.Count, u.Field, u.First)
	case u.Form == "":
		return fmt.Sprintf("%d of %d %s, first in entry %q", u.Count, u.Of, u.Field, u.First)
	}
	return fmt.Sprintf("%d of %d %s, first %s in entry %q", u.Count, u.Of, u.Field, u.Form, u.First)
}

// The fields of Unread.
const (
	fieldName        = "name"
	fieldAliases     = "aliases"
	fieldBirthDate   = "birth_date"
	fieldCountries   = "countries"
	fieldIdentifiers = "identifiers"
	otherKinds       = "entries that are neither person nor company"
	otherIdentifiers = "identifiers of other types"
	otherDocuments   = "documents apart from their holders"
)

// filler fills entries from the texts of a file, and counts what it cannot read.
type filler struct {
	unread map[string]*Unread
	types  [][2]string // identifier types and the words of their labels
	today  time.Time   // by which birth dates are judged; zero if none is too late or too early

	columns   []*Column          // in the order in which the file has them
	byName    map[string]*Column // the same
	reportAll bool               // all columns that nothing reads are reported
	reading   *Column            // the column of a table whose values are being read; nil for the field itself
	nameIn    string             // the column that has the names
}

func newFiller() *filler {
	f := &filler{unread: map[string]*Unread{}, byName: map[string]*Column{}, nameIn: fieldName}
	for line := range strings.Lines(identifierTypes) {
		if kind, words, ok := strings.Cut(strings.TrimSpace(line), " "); ok && kind != "#" {
			f.types = append(f.types, [2]string{kind, words})
		}
	}
	return f
}

func (f *filler) field(name string) *Unread {
	u, ok := f.unread[name]
	if !ok {
		u = &Unread{Field: name}
		f.unread[name] = u
	}
	return u
}

// count counts a value of a field, and whether it could be read.
func (f *filler) count(field, entry, value string, read bool) {
	c := f.reading
	if c == nil {
		c = f.column(field, field)
	}
	c.count(value, read)
	u := f.field(field)
	u.Of++
	if read {
		return
	}
	if u.Count++; u.Count == 1 {
		u.First, u.Form = shown(entry), form(value)
	}
}

// leaveOut counts what is left out on purpose.
func (f *filler) leaveOut(field, entry string) {
	u := f.field(field)
	if u.Count++; u.Count == 1 {
		u.First = shown(entry)
	}
}

// shown returns the id of an entry, cut for a message.
func shown(id string) string { return strings.ToValidUTF8(id[:min(len(id), 100)], "") }

// form returns the form of a value, with 9 for digits and a for letters, so that a log
// shows why it was not read without showing it.
func form(value string) string {
	if len(value) > 50 {
		value = strings.ToValidUTF8(value[:50], "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return '9'
		case unicode.IsLetter(r), unicode.IsMark(r):
			return 'a'
		case !unicode.IsPrint(r):
			return ' '
		}
		return r
	}, value)
}

// result returns the fields with values that were not read, in order. The error says which
// field lacks most of its values.
func (f *filler) result() ([]Unread, error) {
	var out []Unread
	for _, name := range slices.Sorted(maps.Keys(f.unread)) {
		u := f.unread[name]
		if u.Count > 0 {
			out = append(out, *u)
		}
		if u.Of > 0 && u.Count*2 > u.Of {
			return nil, fmt.Errorf("%s: %d of %d values cannot be read; %s", u.Field, u.Count, u.Of, f.advice(u))
		}
	}
	return out, nil
}

func (f *filler) advice(u *Unread) string {
	first := fmt.Sprintf("the first is %s, in entry %q", u.Form, u.First)
	switch u.Field {
	case fieldName:
		return fmt.Sprintf("the first entry without a name is %q: is it the right column?", u.First)
	case fieldBirthDate:
		return first + ": write YYYY-MM-DD, YYYY-MM or YYYY, or leave the column out"
	case fieldCountries:
		return first + ": write codes of ISO 3166 or names of countries, separated by semicolons, or leave the column out"
	}
	return first + ": is it the right column?"
}

// country adds a country to an entry.
func (f *filler) country(e *Entry, text string) {
	for _, text := range numbered(text) {
		code, ok := country.Parse(text)
		if !ok {
			bare, _, _ := strings.Cut(text, "(") // Iraq (previous address)
			code, ok = country.Parse(bare)
		}
		f.count(fieldCountries, e.ID, text, ok)
		if code != "" && !slices.Contains(e.Countries, code) {
			e.Countries = append(e.Countries, code)
		}
	}
}

// born adds the birth dates of a text to an entry; circa says that the list calls them approximate.
func (f *filler) born(e *Entry, text string, circa bool) {
	if unknown(text) {
		return
	}
	dates, ok := writtenDates(text)
	for i := range dates {
		dates[i] = approximate(dates[i], circa)
	}
	f.dated(e, text, dates, ok)
}

// dated adds birth dates to an entry, and their text if it could not be read as a whole. A date on which nobody can have been born counts as
// one that cannot be read.
func (f *filler) dated(e *Entry, text string, dates []string, ok bool) {
	n := len(dates)
	dates = slices.DeleteFunc(dates, func(date string) bool { return !f.plausible(date) })
	ok = ok && n == len(dates)
	f.count(fieldBirthDate, e.ID, text, ok)
	if !ok {
		dates = append(dates, unreadDate(text))
	}
	for _, date := range dates {
		if len(e.BirthDates) <= maxValues && !slices.Contains(e.BirthDates, date) {
			e.BirthDates = append(e.BirthDates, date)
		}
	}
}

// plausible reports whether somebody can have been born on a date of Entry.BirthDates.
func (f *filler) plausible(date string) bool {
	b, ok := readBirth(date)
	if !ok || f.today.IsZero() {
		return true
	}
	return birthdate.Plausible(b.first, f.today) || birthdate.Plausible(b.last, f.today)
}

// alias adds a name to an entry. Weak aliases are those that the list calls so.
func (f *filler) alias(e *Entry, name string, weak bool) {
	name = strings.Join(strings.Fields(name), " ")
	if name != "" && (e.Name != "" || weak) {
		f.column(fieldAliases, fieldAliases).count(name, true)
	}
	switch {
	case name == "":
	case weak && !strings.Contains(name, " "): // a single word matches too many
		e.Weak = append(e.Weak, name)
	case e.Name == "" && !weak:
		e.Name = name
	default:
		e.Aliases = append(e.Aliases, name)
	}
}

// finish reports whether an entry can be screened. It counts an entry without a name.
func (f *filler) finish(e *Entry) bool {
	if !e.Person && !e.Company {
		f.leaveOut(otherKinds, e.ID)
		return false
	}
	if e.Name == "" && len(e.Aliases) > 0 {
		e.Name, e.Aliases = e.Aliases[0], e.Aliases[1:]
	}
	written := func(name string) bool {
		return strings.ContainsFunc(name, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	}
	if !written(e.Name) {
		if i := slices.IndexFunc(e.Aliases, written); i >= 0 {
			e.Name = e.Aliases[i]
		}
	}
	f.reading = f.column(f.nameIn, fieldName)
	f.count(fieldName, e.ID, e.Name, written(e.Name))
	f.reading = nil
	return written(e.Name)
}

// numbered returns the parts of a text such as "(1) A. (2) B", without those that say that
// they are not known.
func numbered(text string) []string {
	var out []string
	for text != "" {
		part, rest := text, ""
		for i := 1; i+2 < len(text); i++ {
			if text[i] == '(' && text[i+1] >= '0' && text[i+1] <= '9' && (text[i+2] == ')' || i+3 < len(text) && text[i+3] == ')') {
				part, rest = text[:i], text[i:]
				break
			}
		}
		if end := strings.IndexByte(part, ')'); part[0] == '(' && (end == 2 || end == 3) && part[1] >= '0' && part[1] <= '9' {
			part = part[end+1:]
		}
		if part = strings.Trim(part, " .,;\u00a0"); !unknown(part) {
			out = append(out, part)
		}
		text = rest
	}
	return out
}

// unknown reports whether a text says that a value is not known.
func unknown(text string) bool {
	switch strings.ToLower(strings.Trim(text, " .")) {
	case "", "-", "00", "zz", "na", "n/a", "n.a", "none", "nil", "null", "unk", "unknown", "undetermined", "not available",
		"not known", "not applicable", "not provided", "-0-",
		"unbekannt", "keine", "inconnu", "inconnue", "desconocido", "desconocida", "desconhecido",
		"sconosciuto", "onbekend", "nieznany", "неизвестно", "невідомо", "غير معروف":
		return true
	}
	return false
}
