// The formats of list files.

package screening

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/provider/screening/names"
)

// Format says how to read a list file.
type Format struct {
	Type FormatType
	// Columns are the names of the columns of a file of type CSV.
	Columns Columns
	// Kind is the kind of all entries of a file of type CSV without a column for it;
	// empty if they can be either.
	Kind names.Kind
}

// FormatType is the type of a list file.
type FormatType string

// The types.
const (
	OpenSanctions  FormatType = "opensanctions" // targets.simple.csv
	FollowTheMoney FormatType = "ftm"           // entities.ftm.json: one JSON object a line
	CSV            FormatType = "csv"           // with named columns
)

// FormatTypes returns the types.
func FormatTypes() []FormatType { return []FormatType{OpenSanctions, FollowTheMoney, CSV} }

// Columns are the names of columns in the first line of a file; the default of each
// is its own name here. A file must have Name; values of the last three columns are
// separated by semicolons.
type Columns struct {
	ID         string // id; without it the number of the line
	Name       string // name
	Kind       string // kind: person or company
	Aliases    string // aliases
	BirthDates string // birth_date
	Countries  string // countries
}

// Limits of a list file.
const (
	maxLine    = 16 << 20   // bytes of a JSON line
	maxEntries = 20_000_000 // in a file
	maxValue   = 2000       // bytes of a name, an id or another value
)

// entries returns the entries of a file. After an error there is no further entry.
func (f Format) entries(r *bufio.Reader) iter.Seq2[Entry, error] {
	if mark, err := r.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = r.Discard(3)
	}
	read := f.table
	if f.Type == FollowTheMoney {
		read = f.lines
	}
	return func(yield func(Entry, error) bool) {
		n := 0
		for e, err := range read(r) {
			if n++; err == nil && n > maxEntries {
				err = fmt.Errorf("the list has more than %d entries", maxEntries)
			}
			if err == nil {
				err = e.check()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// check reports an entry that cannot be kept.
func (e *Entry) check() error {
	for _, values := range [][]string{{e.ID}, e.BirthDates, e.Countries, e.Topics} {
		for _, v := range values {
			if len(v) > maxValue || strings.ContainsAny(v, "\x1e\x1f") {
				return fmt.Errorf("entry %.100q has a value that is too long or has control characters", e.ID)
			}
		}
	}
	return nil
}

// table reads CSV.
func (f Format) table(r *bufio.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		in := csv.NewReader(r)
		in.ReuseRecord = true
		header, err := in.Read()
		if err != nil {
			yield(Entry{}, cannotRead(err))
			return
		}
		columns, err := f.find(header)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for {
			row, err := in.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Entry{}, cannotRead(err))
				return
			}
			line, _ := in.FieldPos(0)
			e, err := columns.entry(row, line)
			if err != nil {
				err = fmt.Errorf("line %d: %w", line, err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func cannotRead(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	return err
}

// positions are those of the columns in a row; -1 for one that the file does not have.
type positions struct {
	id, name, kind, aliases, births, countries int
	fixed                                      names.Kind
	schema                                     bool // kind is a schema of FollowTheMoney
}

// find finds the columns in the first line of a file.
func (f Format) find(header []string) (positions, error) {
	header = slices.Clone(header)
	at := func(name, otherwise string) int {
		if name == "" {
			name = otherwise
		}
		return slices.IndexFunc(header, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), name) })
	}
	c, wanted := positions{fixed: f.Kind}, f.Columns
	if f.Type == OpenSanctions {
		wanted = Columns{Kind: "schema"}
		c.schema = true
	}
	c.id, c.name, c.kind = at(wanted.ID, "id"), at(wanted.Name, "name"), at(wanted.Kind, "kind")
	c.aliases, c.births, c.countries = at(wanted.Aliases, "aliases"), at(wanted.BirthDates, "birth_date"), at(wanted.Countries, "countries")
	for _, missing := range []struct {
		column int
		name   string
		needed bool
	}{
		{c.name, wanted.Name, true},
		{c.id, wanted.ID, wanted.ID != "" || c.schema},
		{c.kind, wanted.Kind, wanted.Kind != ""},
		{c.aliases, wanted.Aliases, wanted.Aliases != "" || c.schema},
		{c.births, wanted.BirthDates, wanted.BirthDates != ""},
		{c.countries, wanted.Countries, wanted.Countries != ""},
	} {
		if missing.needed && missing.column < 0 {
			if missing.name == "" {
				return c, fmt.Errorf("the first line has no column %s", map[bool]string{true: "id, name or aliases: is it targets.simple.csv?", false: "name"}[c.schema])
			}
			return c, fmt.Errorf("the first line has no column %s", missing.name)
		}
	}
	return c, nil
}

// entry returns the entry of a row.
func (c positions) entry(row []string, line int) (Entry, error) {
	field := func(i int) string {
		if i < 0 {
			return ""
		}
		return strings.TrimSpace(row[i])
	}
	e := Entry{ID: field(c.id), Name: field(c.name), Aliases: split(field(c.aliases)), BirthDates: dates(split(field(c.births)))}
	for _, country := range split(field(c.countries)) {
		e.Countries = append(e.Countries, strings.ToLower(country))
	}
	for _, value := range row {
		if !utf8.ValidString(value) {
			return e, errors.New("the text is not UTF-8")
		}
	}
	if e.ID == "" {
		e.ID = fmt.Sprintf("line-%d", line)
	}
	if e.Name == "" {
		return e, errors.New("the name is empty")
	}
	switch kind := strings.ToLower(field(c.kind)); {
	case c.schema:
		e.setSchema(field(c.kind))
	case kind == "" && c.fixed == "":
		e.Person, e.Company = true, true
	case kind == "":
		e.Person, e.Company = c.fixed == names.Person, c.fixed == names.Company
	case kind == "person" || kind == "individual":
		e.Person = true
	case kind == "company" || kind == "organization" || kind == "organisation" || kind == "entity":
		e.Company = true
	default:
		return e, fmt.Errorf("the kind %.50q is neither person nor company", kind)
	}
	return e, nil
}

// setSchema sets what an entity of FollowTheMoney is. Others, such as ships and
// addresses, are neither.
func (e *Entry) setSchema(schema string) {
	switch schema {
	case "Person":
		e.Person = true
	case "Company", "Organization", "PublicBody":
		e.Company = true
	case "LegalEntity":
		e.Person, e.Company = true, true
	}
}

func split(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ";") {
		if part = strings.Trim(strings.TrimSpace(part), `"`); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// dates returns the values that are dates, a year, or a year and a month, without
// times of day.
func dates(values []string) []string {
	var out []string
	for _, v := range values {
		v, _, _ = strings.Cut(v, "T")
		if IsDate(v) {
			out = append(out, v)
		}
	}
	return out
}

// IsDate reports whether a text is YYYY, YYYY-MM or YYYY-MM-DD.
func IsDate(s string) bool {
	if len(s) != 4 && len(s) != 7 && len(s) != 10 {
		return false
	}
	for i := range len(s) {
		if dash := i == 4 || i == 7; dash != (s[i] == '-') || !dash && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	if len(s) >= 7 && (s[5:7] < "01" || s[5:7] > "12") {
		return false
	}
	return len(s) < 10 || s[8:] >= "01" && s[8:] <= "31"
}
