// The columns of a list file: what was read of each, and which of them nothing reads.

package watchlist

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Column says what was read of a column of a list file, or of an element, an attribute or a property. What
// several of them say is counted under the field of the entry, such as birth_date.
type Column struct {
	Name string `json:"name"`
	// ReadAs is the field of an entry that has its values, such as birth_date; empty if nothing reads
	// the column.
	ReadAs   string   `json:"read_as,omitempty"`
	Read     int      `json:"read"`               // values that were read
	Unread   int      `json:"unread"`             // values that were not
	Examples []string `json:"examples,omitempty"` // at most 3 of the values that were not read, cut at 60 bytes

	reported bool // its values that were not read are reported when the list is loaded
}

// Limits of what is kept of columns.
const (
	maxColumns  = 300
	maxExamples = 3
	maxExample  = 60 // bytes
)

// otherColumns counts the columns after the maximum.
const otherColumns = "other columns"

// leftOut has the names of columns that are left out on purpose.
//
//go:embed columns.txt
var leftOut string

// count counts a value of the column.
func (c *Column) count(value string, read bool) {
	if read {
		c.Read++
		return
	}
	c.Unread++
	if example := cut(withoutControls(value), maxExample); len(c.Examples) < maxExamples && !slices.Contains(c.Examples, example) {
		c.Examples = append(c.Examples, strings.Clone(example))
	}
}

// cut returns the beginning of a text.
func cut(text string, most int) string { return strings.ToValidUTF8(text[:min(len(text), most)], "") }

// column returns the column with a name.
func (f *filler) column(name, readAs string) *Column {
	c, ok := f.byName[name]
	if !ok && len(f.columns) >= maxColumns {
		name, readAs = otherColumns, ""
		c, ok = f.byName[name]
	}
	if !ok {
		c = &Column{Name: cut(strings.Clone(name), 2*maxExample), ReadAs: readAs}
		c.reported = readAs == "" && f.reports(c.Name)
		f.columns = append(f.columns, c)
		f.byName[strings.Clone(name)] = c
	}
	return c
}

// seen returns the columns with a value: first those that are read, in the order in which the file has them.
func (f *filler) seen() (all []Column) {
	for _, read := range []bool{true, false} {
		for _, c := range f.columns {
			if (c.ReadAs != "") == read && c.Read+c.Unread > 0 {
				all = append(all, *c)
			}
		}
	}
	return all
}

// ignored counts a value of a column that nothing reads. If the column seems to have names, dates, numbers or
// countries, it is reported by name.
func (f *filler) ignored(column, entry, value string) {
	if value != "" {
		f.ignoredIn(f.column(column, ""), entry, value)
	}
}

// ignoredBut counts the values of all columns but those that are known.
func (f *filler) ignoredBut(known map[string]bool, values map[string][]string, entry string) {
	for _, column := range slices.Sorted(maps.Keys(values)) {
		for _, value := range values[column] {
			if !known[column] {
				f.ignored(column, entry, value)
			}
		}
	}
}

func (f *filler) ignoredIn(c *Column, entry, value string) {
	if c.count(value, false); c.reported {
		f.leaveOut(`values of the column "`+c.Name+`"`, entry)
	}
}

// reports reports whether a column that nothing reads is reported when the list is loaded.
func (f *filler) reports(column string) bool {
	if !f.reportAll && !carries(column) {
		return false
	}
	for name := range strings.Lines(leftOut) {
		if name = strings.TrimSpace(name); column == name || strings.HasSuffix(column, "/"+name) {
			return false
		}
	}
	return true
}

// carries reports whether the name of a column says that it has names, dates of birth, numbers or countries.
func carries(column string) bool {
	last := column[strings.LastIndexByte(column, '/')+1:]
	var b strings.Builder
	small := false
	for _, r := range last {
		if !unicode.IsLetter(r) || small && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		if small = unicode.IsLower(r); unicode.IsLetter(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	words := strings.Fields(b.String())
	if len(words) == 0 {
		return false
	}
	switch words[len(words)-1] {
	case "date", "dates", "year", "ids":
		return len(words) == 1 // a date of birth has no other word, or says so
	case "id", "type", "status", "language": // of a name
		return false
	}
	for _, word := range words {
		switch word {
		case "name", "names", "alias", "aliases", "aka", "akas", "fka", "abbreviation", "abbreviations", "acronym",
			"birth", "births", "born", "dob", "birthdate", "birthdates",
			"number", "numbers", "code", "codes", "identifier", "identifiers", "passport", "passports", "tax",
			"country", "countries", "nationality", "nationalities", "citizenship", "citizenships":
			return true
		}
	}
	return false
}

// ignoredNodes counts the elements and attributes of an entry that no reader has looked at.
func (f *filler) ignoredNodes(n *node, path, entry string) {
	for i, a := range n.attrs {
		if n.seen&(1<<min(i, 63)) == 0 && a.Name.Space == "" && a.Name.Local != "xmlns" {
			f.ignored(path+"@"+a.Name.Local, entry, strings.TrimSpace(a.Value))
		}
	}
	for _, child := range n.nodes {
		name := path + child.name
		if len(child.nodes) == 0 && !child.used {
			f.ignored(name, entry, child.text)
		}
		f.ignoredNodes(child, name+"/", entry)
	}
}
