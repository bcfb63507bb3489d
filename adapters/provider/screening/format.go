// The formats of list files.

package screening

import (
	"bufio"
	"bytes"
	"cmp"
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
	// Columns are the names of the columns of a file of type CSV, by their use: id, name,
	// kind (person or company), aliases, birth_date and countries. A use without an entry
	// has the column of the same name. A file must have a column for name; without one for
	// id, the id of an entry is the number of its line. Values of the last three columns
	// are separated by semicolons.
	Columns map[string]string
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

// Limits of a list file.
const (
	maxLine    = 16 << 20   // bytes of a JSON line
	maxEntries = 20_000_000 // in a file
	maxValue   = 2000       // bytes of a name, an id or another value
	maxValues  = 10_000     // of one field of an entry
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

// check returns an error for an entry that cannot be stored.
func (e *Entry) check() error {
	for _, field := range []struct {
		name   string
		values []string
		limit  int
	}{
		{"id", []string{e.ID}, 1},
		{"name", []string{e.Name}, 1},
		{"alias", e.Aliases, maxValues},
		{"birth date", e.BirthDates, maxValues},
		{"country", e.Countries, maxValues},
		{"topic", e.Topics, maxValues},
	} {
		if len(field.values) > field.limit {
			return fmt.Errorf("entry %.100q has %d values of the field %s: the limit is %d", e.ID, len(field.values), field.name, field.limit)
		}
		for _, v := range field.values {
			// names replaces control characters.
			if named := field.name == "name" || field.name == "alias"; len(v) > maxValue || !named && strings.ContainsAny(v, "\x1e\x1f") {
				return fmt.Errorf("entry %.100q has a value that is too long or has control characters: its %s, of %d bytes; the limit is %d", e.ID, field.name, len(v), maxValue)
			}
		}
	}
	return nil
}

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

// table says how the rows of a CSV file are read.
type table struct {
	at     map[string]int // the index of a column in a row, by its use: see Format.Columns
	kind   names.Kind     // of entries whose row has none; empty for either
	schema bool           // the column kind has a schema of FollowTheMoney
}

// find returns the table whose columns are named in the first line of a file.
func (f Format) find(header []string) (table, error) {
	t, wanted := table{at: map[string]int{}, kind: f.Kind}, f.Columns
	if f.Type == OpenSanctions {
		t.schema, wanted = true, map[string]string{"kind": "schema"}
	}
	for _, use := range []string{"name", "id", "kind", "aliases", "birth_date", "countries"} {
		name := cmp.Or(wanted[use], use)
		i := slices.IndexFunc(header, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), name) })
		switch {
		case i >= 0:
			t.at[use] = i
		case t.schema && (use == "name" || use == "id" || use == "aliases"):
			return t, errors.New("the first line has no column id, name or aliases: is it targets.simple.csv?")
		case use == "name" || wanted[use] != "":
			return t, fmt.Errorf("the first line has no column %s", name)
		}
	}
	return t, nil
}

func (t table) entry(row []string, line int) (Entry, error) {
	field := func(use string) string {
		if i, ok := t.at[use]; ok {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	e := Entry{ID: field("id"), Name: field("name"), Aliases: split(field("aliases")), BirthDates: dates(split(field("birth_date")))}
	for _, country := range split(field("countries")) {
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
	switch kind := strings.ToLower(field("kind")); {
	case t.schema:
		e.setSchema(field("kind"))
	case kind == "" && t.kind == "":
		e.Person, e.Company = true, true
	case kind == "":
		e.Person, e.Company = t.kind == names.Person, t.kind == names.Company
	case kind == "person" || kind == "individual":
		e.Person = true
	case kind == "company" || kind == "organization" || kind == "organisation" || kind == "entity":
		e.Company = true
	default:
		return e, fmt.Errorf("the kind %.50q is neither person nor company", kind)
	}
	return e, nil
}

// setSchema sets whether an entity of FollowTheMoney is a person, a company, or may be
// either. Others, such as ships and addresses, are neither.
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

// dates returns the values that IsDate accepts, without times of day.
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
