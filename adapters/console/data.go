// The data of a step as nested tables.

package console

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
)

// maxValues is the number of values of one step that a page shows.
const maxValues = 500

// dataField is one field of an object, or one item of a list, which has no label.
// Exactly one of Text, Fields and Items is set.
type dataField struct {
	Label  string
	Text   string
	Ours   bool // Text is a message such as "yes" or "none", and not data
	Unit   string
	Fields []dataField
	Items  []dataField
}

// dataTable is the data of a step.
type dataTable struct {
	Fields []dataField
	More   int // values that are left out
}

// tableOf returns the data in its recorded order. A field has its title or else its name
// in words. It leaves out the fields in hidden. message returns the text of a message.
func tableOf(
	d verification.Data, s verification.DataSchema, hidden map[string]bool, message func(key string) string,
) dataTable {
	if len(d) == 0 {
		return dataTable{}
	}
	r := dataReader{dec: json.NewDecoder(bytes.NewReader(d)), message: message}
	r.dec.UseNumber()
	all, err := r.object(s, hidden)
	if err != nil { // recorded data is valid JSON
		return dataTable{Fields: []dataField{{Text: string(d)}}}
	}
	return dataTable{Fields: all, More: r.more}
}

// dataReader reads data in its order.
type dataReader struct {
	dec     *json.Decoder
	message func(key string) string
	shown   int
	more    int
}

// object reads an object with its opening brace.
func (r *dataReader) object(s verification.DataSchema, hidden map[string]bool) ([]dataField, error) {
	if _, err := r.dec.Token(); err != nil {
		return nil, err
	}
	return r.fields(s, hidden)
}

// fields reads the fields of an object up to its closing brace.
func (r *dataReader) fields(s verification.DataSchema, hidden map[string]bool) (all []dataField, err error) {
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if hidden[name] {
			if err := r.dec.Decode(new(json.RawMessage)); err != nil {
				return nil, err
			}
			continue
		}
		field := s.Field(name)
		v, shown, err := r.value(field)
		if err != nil {
			return nil, err
		}
		if v.Label = field.Title(); v.Label == "" {
			v.Label = inWords(name)
		}
		if shown {
			all = append(all, v)
		}
	}
	_, err = r.dec.Token()
	return all, err
}

// items reads the items of a list up to its closing bracket.
func (r *dataReader) items(s verification.DataSchema) (all []dataField, err error) {
	for r.dec.More() {
		v, shown, err := r.value(s)
		if err != nil {
			return nil, err
		}
		if shown {
			all = append(all, v)
		}
	}
	_, err = r.dec.Token()
	return all, err
}

// value reads a value. shown is false for one beyond the limit.
func (r *dataReader) value(s verification.DataSchema) (v dataField, shown bool, err error) {
	token, err := r.dec.Token()
	if err != nil {
		return v, false, err
	}
	shown = r.shown < maxValues
	if _, nested := token.(json.Delim); !nested && shown {
		r.shown++
	} else if !nested {
		r.more++
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			v.Fields, err = r.fields(s, nil)
		} else {
			v.Items, err = r.items(s.Item())
		}
		if len(v.Fields) == 0 && len(v.Items) == 0 {
			v.Text, v.Ours = r.message("data.empty"), true
		}
	case bool:
		v.Text, v.Ours = r.message("data.no"), true
		if t {
			v.Text = r.message("data.yes")
		}
	case string:
		v.Text, v.Unit = s.Choice(t), s.Unit()
		if t == "" {
			v.Text, v.Unit, v.Ours = r.message("data.empty"), "", true
		}
	case json.Number:
		v.Text, v.Unit = verification.Digits(t), s.Unit()
	default:
		v.Text, v.Ours = r.message("data.none"), true
	}
	return v, shown, err
}

// Scalars reports whether every item of a list is a single value.
func (f dataField) Scalars() bool {
	for _, i := range f.Items {
		if len(i.Fields) > 0 || len(i.Items) > 0 {
			return false
		}
	}
	return len(f.Items) > 0
}

// inWords returns the name of a field as words: date_of_birth is Date of birth.
func inWords(name string) string {
	words := strings.TrimSpace(strings.ReplaceAll(name, "_", " "))
	first, size := utf8.DecodeRuneInString(words)
	if words == "" {
		return name
	}
	return string(unicode.ToUpper(first)) + words[size:]
}
