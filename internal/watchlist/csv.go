// Lists in CSV with named columns, and targets.simple.csv of OpenSanctions.

package watchlist

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/internal/names"
)

// delimiters are the names of delimiters and the delimiters, the most usual first.
func delimiters() [][2]string {
	return [][2]string{{"comma", ","}, {"semicolon", ";"}, {"tab", "\t"}, {"pipe", "|"}}
}

// delimiter returns the name of the delimiter of a CSV file: the one with which the first line
// has a column for the name, or else the most frequent one in it.
func (f Format) delimiter(begin string) string {
	first, _, _ := strings.Cut(begin, "\n")
	best, most := "comma", 0
	for _, d := range delimiters() {
		in := csv.NewReader(strings.NewReader(first))
		in.Comma = rune(d[1][0])
		if header, err := in.Read(); err == nil && column(header, cmp.Or(f.Columns["name"], "name")) >= 0 {
			return d[0]
		}
		if n := strings.Count(first, d[1]); n > most {
			best, most = d[0], n
		}
	}
	return best
}

// rows returns the rows of a CSV file and their lines. Rows that differ have different numbers of
// fields.
func (f *listFile) rows(delimiter rune, differ bool) iter.Seq2[int, rowOrError] {
	return func(yield func(int, rowOrError) bool) {
		in := csv.NewReader(f.text)
		in.Comma, in.ReuseRecord = delimiter, true
		if differ {
			in.FieldsPerRecord = -1
		}
		last := 0
		for {
			f.bound.next(maxLine)
			row, err := in.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			var syntax *csv.ParseError
			if err != nil && !errors.As(err, &syntax) {
				err = fmt.Errorf("line %d: %w", last+1, err)
			}
			if err == nil {
				last, _ = in.FieldPos(0)
			}
			if !yield(last, rowOrError{row, err}) || err != nil {
				return
			}
		}
	}
}

type rowOrError struct {
	row []string
	err error
}

// column returns the index of a column in a header, or -1.
func column(header []string, name string) int {
	return slices.IndexFunc(header, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), name) })
}

// readCSV reads a file with named columns.
func readCSV(f *listFile) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var columns *table
		delimiter := ','
		for _, d := range delimiters() {
			if f.layout.format == CSV && d[0] == f.Delimiter {
				delimiter = rune(d[1][0])
			}
		}
		for line, r := range f.rows(delimiter, false) {
			var e Entry
			err := r.err
			switch {
			case err != nil:
			case columns == nil:
				if columns, err = f.table(r.row); err == nil {
					continue
				}
			default:
				if e, err = columns.entry(r.row, line); err != nil {
					err = fmt.Errorf("line %d: %w", line, err)
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// table says how the rows of a CSV file are read.
type table struct {
	*filler
	at     map[string]int // the index of a column in a row, by its use: see Format.Columns
	read   []*Column      // by index
	kind   names.Kind     // of entries whose row has none; empty for either
	simple bool           // the file is targets.simple.csv
}

// uses returns what a column of a CSV file can be used for.
func uses() []string {
	return []string{
		"name", "id", "kind", "aliases", "birth_date", "countries", "topics",
		string(Passport), string(NationalID), string(TaxNumber), string(LEI), string(Registration), "identifiers",
	}
}

// table returns the table whose columns are named in the first line of a file.
func (f *listFile) table(header []string) (*table, error) {
	t, wanted := &table{filler: f.filler, at: map[string]int{}, kind: f.Kind}, f.Columns
	if f.layout.format == OpenSanctions {
		t.simple, wanted = true, map[string]string{"kind": "schema", "topics": "sanctions"}
	}
	for _, use := range uses() {
		name := cmp.Or(wanted[use], use)
		i := column(header, name)
		switch {
		case i >= 0:
			t.at[use] = i
		case t.simple && (use == "name" || use == "id" || use == "aliases"):
			return t, errors.New("the first line has no column id, name or aliases: is it targets.simple.csv?")
		case use == "name" || wanted[use] != "" && !t.simple:
			return t, fmt.Errorf("the first line has no column %s", name)
		}
	}
	f.nameIn, f.reportAll = strings.Clone(strings.TrimSpace(header[t.at["name"]])), !t.simple
	for i, name := range header {
		readAs := ""
		for use, at := range t.at {
			if at == i && (readAs == "" || use < readAs) { // one column may have two uses
				readAs = use
			}
		}
		t.read = append(t.read, f.column(cmp.Or(strings.TrimSpace(name), fmt.Sprintf("column %d", i+1)), readAs))
	}
	return t, nil
}

func (t *table) entry(row []string, line int) (Entry, error) {
	defer func() { t.reading = nil }()
	field := func(use string) string {
		i, ok := t.at[use]
		if !ok {
			return ""
		}
		t.reading = t.read[i]
		return strings.TrimSpace(row[i])
	}
	// taken returns the values of a column that are taken as they are.
	taken := func(use string) (values []string) {
		for _, value := range split(field(use)) {
			t.reading.count(value, true)
			values = append(values, value)
		}
		return values
	}
	e := identified(field("id"), "line", line)
	e.Name, e.Aliases = field("name"), taken("aliases")
	for i, c := range t.read {
		switch value := strings.TrimSpace(row[i]); {
		case value == "":
		case c.ReadAs == "":
			t.ignoredIn(c, e.ID, value)
		case c.ReadAs == "id" || c.ReadAs == "kind":
			c.count(value, true)
		}
	}
	for _, date := range split(field("birth_date")) {
		t.born(&e, date, false)
	}
	for _, country := range split(field("countries")) {
		t.country(&e, country)
	}
	for _, kind := range []IdentifierType{Passport, NationalID, TaxNumber, LEI, Registration} {
		for _, value := range split(field(string(kind))) {
			t.identifier(&e, kind, value)
		}
	}
	for _, value := range split(field("identifiers")) {
		t.identifier(&e, OtherDocument, value)
	}
	switch kind := strings.ToLower(field("kind")); {
	case t.simple:
		e.setSchema(field("kind"))
		if len(taken("topics")) > 0 { // the column sanctions
			e.Topics = []string{topicSanction}
		}
		return e, nil
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
	e.Topics = taken("topics")
	return e, nil
}

// topicSanction is the topic of entries of official lists.
const topicSanction = "sanction"

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
