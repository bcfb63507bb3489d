// The UK Sanctions List, and the list of OFSI before it.

package watchlist

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// readUK reads UK-Sanctions-List.xml.
func readUK(f *listFile) iter.Seq2[Entry, error] {
	return readNodes(f, func(n *node) (Entry, bool) {
		e := official(n.get("UniqueID"), n.get("IndividualEntityShip"))
		all := n.all("Names", "Name")
		slices.SortStableFunc(all, func(a, b *node) int { return first(isPrimary(a.get("NameType")), isPrimary(b.get("NameType"))) })
		for _, name := range all {
			f.alias(&e, name.joined("Name1", "Name2", "Name3", "Name4", "Name5", "Name6"), isLow(name.get("AliasStrength")))
		}
		for _, name := range n.below("NameNonLatinScript") {
			f.alias(&e, name.text, false)
		}
		for _, born := range n.below("DOB") {
			f.born(&e, born.text, false)
		}
		for _, country := range n.below("Nationality") {
			f.country(&e, country.text)
		}
		if e.Company {
			for _, country := range n.all("Addresses", "Address", "AddressCountry") {
				f.country(&e, country.text)
			}
		}
		for _, id := range n.below("PassportNumber") {
			f.identifier(&e, Passport, id.text)
		}
		for _, id := range n.below("NationalIdentifierNumber") {
			f.identifier(&e, NationalID, id.text)
		}
		for _, id := range n.below("BusinessRegistrationNumber") {
			f.identifier(&e, Registration, id.text)
		}
		return e, true
	}, "Designation")
}

// isPrimary reports whether a type of name is that of the name under which an entry is listed.
func isPrimary(kind string) bool { return strings.EqualFold(kind, "primary name") }

// isLow reports whether a list calls an alias weak.
func isLow(strength string) bool { return strings.HasPrefix(strings.ToLower(strength), "low") }

// maxRows is the maximum number of rows of a file whose entries have several, anywhere.
const maxRows = 1_000_000

// readUKTable reads UK-Sanctions-List.csv and ConList.csv. An entry has a row for each of
// its names, birth dates and addresses, anywhere in the file.
func readUKTable(f *listFile) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		at := map[string]int{}
		var header []string
		byID := map[string]*Entry{}
		seen := map[string]bool{}
		var order []string
		lines := 0
		for line, r := range f.rows(',', true) {
			if lines++; r.err == nil && lines > maxRows {
				r.err = fmt.Errorf("the file has more than %d rows", maxRows)
			}
			if r.err != nil {
				yield(Entry{}, r.err)
				return
			}
			if len(at) == 0 {
				if column(r.row, "Name 6") >= 0 {
					for i, name := range r.row {
						header = append(header, strings.Clone(strings.TrimSpace(name)))
						at[header[i]] = i
					}
				} else if lines > 2 {
					yield(Entry{}, errors.New("the first lines have no column Name 6"))
					return
				}
				continue
			}
			if len(r.row) != len(at) {
				yield(Entry{}, fmt.Errorf("line %d: it has %d fields, not %d", line, len(r.row), len(at)))
				return
			}
			used := map[int]bool{}
			get := func(names ...string) string {
				for _, name := range names {
					if i, ok := at[name]; ok {
						used[i] = true
						return strings.TrimSpace(r.row[i])
					}
				}
				return ""
			}
			named := identified(get("Unique ID", "Group ID"), "line", line)
			e, ok := byID[named.ID]
			if !ok {
				first := official(strings.Clone(named.ID), get("Designation Type", "Group Type"))
				first.unnumbered = named.unnumbered
				e, order = &first, append(order, first.ID)
				byID[first.ID] = e
			}
			f.ukRow(e, get, seen)
			for i, name := range header {
				if !used[i] && (e.Person || e.Company) {
					f.ignored(name, e.ID, strings.TrimSpace(r.row[i]))
				}
			}
		}
		for _, id := range order {
			if !yield(*byID[id], nil) {
				return
			}
		}
	}
}

// ukRow adds a row to an entry. Rows repeat values: seen has those that were added.
func (f *filler) ukRow(e *Entry, get func(...string) string, seen map[string]bool) {
	once := func(use, text string) string {
		key := e.ID + "\x00" + use + "\x00" + text
		if text == "" || seen[key] {
			return ""
		}
		seen[key] = true
		return strings.Clone(text)
	}
	var parts []string
	for _, column := range []string{"Name 1", "Name 2", "Name 3", "Name 4", "Name 5", "Name 6"} {
		if part := get(column); part != "" {
			parts = append(parts, part)
		}
	}
	if name := once("name", strings.Join(parts, " ")); isPrimary(get("Name type", "Alias Type")) && name != "" && e.Name != "" {
		e.Name, e.Aliases = name, append(e.Aliases, e.Name) // rows of aliases may come first
	} else {
		f.alias(e, name, isLow(get("Alias strength", "Alias Quality")))
	}
	f.alias(e, once("name", get("Name non-latin script", "Name Non-Latin Script")), false)
	f.born(e, once("birth", get("D.O.B", "DOB")), false)
	f.country(e, once("country", get("Nationality(/ies)", "Nationality")))
	if e.Company {
		f.country(e, once("country", get("Address Country", "Country")))
	}
	f.identifier(e, Passport, once("passport", get("Passport number", "Passport Number")))
	f.identifier(e, NationalID, once("id", get("National Identifier number", "National Identification Number")))
	f.identifier(e, Registration, once("registration", get("Business registration number (s)")))
}
