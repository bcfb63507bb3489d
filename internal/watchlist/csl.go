// The Consolidated Screening List of the United States, in CSV and JSON.

package watchlist

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// cslRecord is an entry of the list: the values of each of its columns or properties.
type cslRecord struct {
	values map[string][]string
	ids    []cslDocument
	places []string // the countries of its addresses
}

// cslDocument is one of the ids.
type cslDocument struct{ kind, number string }

// Columns that are objects in JSON, and texts with commas in CSV.
const (
	cslIDs       = "ids"
	cslAddresses = "addresses"
)

// readCSLTable reads consolidated.csv.
func readCSLTable(f *listFile) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var header []string
		for line, r := range f.rows(',', false) {
			if r.err != nil {
				yield(Entry{}, r.err)
				return
			}
			if header == nil {
				for _, name := range r.row {
					header = append(header, strings.Clone(strings.TrimSpace(name)))
				}
				continue
			}
			record := cslRecord{values: map[string][]string{}}
			for i, name := range header {
				record.set(name, strings.Clone(r.row[i]))
			}
			if !yield(record.entry(f.filler, "line", line), nil) {
				return
			}
		}
	}
}

// set sets the values of a column, which are separated by semicolons if it may have several.
func (r *cslRecord) set(column, text string) {
	switch column {
	case cslIDs:
		for _, id := range split(text) { // type, number, country, dates
			kind, rest, _ := strings.Cut(id, ",")
			number, _, _ := strings.Cut(rest, ",")
			r.ids = append(r.ids, cslDocument{strings.TrimSpace(kind), strings.TrimSpace(number)})
		}
	case cslAddresses:
		for _, address := range split(text) { // street, town, country
			r.places = append(r.places, strings.TrimSpace(address[strings.LastIndexByte(address, ',')+1:]))
		}
	case "alt_names", "citizenships", "dates_of_birth", "nationalities":
		r.values[column] = split(text)
	default:
		r.values[column] = []string{strings.TrimSpace(text)}
	}
}

// readCSL reads consolidated.json: an object with the entries in results, or an array of them.
func readCSL(f *listFile) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		in := jsontext.NewDecoder(f.text)
		if err := toResults(in); err != nil {
			yield(Entry{}, cslError(in, err))
			return
		}
		for n := 1; in.PeekKind() != ']'; n++ {
			f.bound.next(maxLine)
			raw, err := in.ReadValue()
			var properties map[string]any
			if err == nil {
				err = json.Unmarshal(raw, &properties)
			}
			if err != nil {
				yield(Entry{}, cslError(in, err))
				return
			}
			record := cslObject(properties)
			if !yield(record.entry(f.filler, "entry", n), nil) {
				return
			}
		}
		f.bound.next(maxLine)
		for {
			if _, err := in.ReadToken(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				yield(Entry{}, cslError(in, err))
				return
			}
		}
	}
}

// toResults reads up to the first entry.
func toResults(in *jsontext.Decoder) error {
	token, err := in.ReadToken()
	for err == nil && token.Kind() == '{' {
		if in.PeekKind() == '}' {
			return errors.New("the object has no results")
		}
		name, err := in.ReadToken()
		if err != nil {
			return err
		}
		if name.String() == "results" && in.PeekKind() == '[' {
			_, err = in.ReadToken()
			return err
		}
		if err = in.SkipValue(); err != nil {
			return err
		}
	}
	return err
}

func cslError(in *jsontext.Decoder, err error) error {
	return fmt.Errorf("byte %d: it is not an entry in JSON: %w", in.InputOffset(), notCutOff(err))
}

// cslObject returns the record of an entry in JSON.
func cslObject(properties map[string]any) cslRecord {
	r := cslRecord{values: map[string][]string{}}
	for name, value := range properties {
		if name != cslIDs && name != cslAddresses {
			r.values[name] = jsonTexts(value)
			continue
		}
		all, _ := value.([]any)
		for _, one := range all {
			object, _ := one.(map[string]any)
			text := func(name string) string { return strings.Join(jsonTexts(object[name]), " ") }
			if name == cslIDs {
				r.ids = append(r.ids, cslDocument{text("type"), text("number")})
			} else {
				r.places = append(r.places, text("country"))
			}
		}
	}
	return r
}

// jsonTexts returns the texts of a value: of a text or a number, or of the elements of an array.
func jsonTexts(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case float64:
		return []string{fmt.Sprint(value)}
	case []any:
		var all []string
		for _, one := range value {
			all = append(all, jsonTexts(one)...)
		}
		return all
	case map[string]any:
		var all []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			all = append(all, jsonTexts(value[name])...)
		}
		return all
	}
	return nil
}

// entry returns the entry of a record. An entry without a type may be a person or a company.
func (r *cslRecord) entry(f *filler, place string, n int) Entry {
	known := map[string]bool{}
	all := func(names ...string) (values []string) {
		for _, name := range names {
			known[name] = true
			values = append(values, r.values[name]...)
		}
		return values
	}
	one := func(names ...string) string { return strings.TrimSpace(strings.Join(all(names...), " ")) }
	e := identified(one("_id", "id"), place, n)
	source := one("source")
	switch kind := strings.ToLower(one("type")); kind {
	case "":
		e.Person, e.Company = true, true
	case "individual":
		e.Person = true
	case "entity":
		e.Company = true
	}
	e.Topics = []string{cslTopic(source)}
	f.alias(&e, one("name"), false)
	for _, name := range all("alt_names") {
		f.alias(&e, name, false)
	}
	for _, date := range all("dates_of_birth") {
		f.born(&e, date, false)
	}
	for _, country := range all("citizenships", "nationalities") {
		f.country(&e, country)
	}
	if e.Company {
		for _, country := range r.places {
			f.country(&e, country)
		}
	}
	for _, id := range r.ids {
		f.labelled(&e, id.kind, id.number)
	}
	if !e.Person && !e.Company {
		return e
	}
	f.ignoredBut(known, r.values, e.ID)
	return e
}

// cslTopic returns the topic of the entries of one of the lists that the list consists of.
func cslTopic(source string) string {
	switch {
	case strings.Contains(source, "Bureau of Industry and Security"):
		return "export.control"
	case strings.Contains(source, "Debarred"):
		return "debarment"
	}
	return topicSanction
}
