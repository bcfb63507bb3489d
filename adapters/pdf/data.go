// Flattens the data of a step into rows of a key and a value.

package pdf

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/verification"
)

// entry is one value of a step's data under its dotted key, which has the title of
// each field that has one. An item of a list counts from one: hits#1.court.
type entry struct {
	key, value string
	empty      bool // the value only says that there is none
}

// rowsOf flattens the data in its recorded order. It returns the first rows up to
// limit, and how many more there are. Data that is not a JSON object is one row. Each
// field has its title and its unit from the first of the schemas that lists it.
func rowsOf(d verification.Data, schemas []verification.Data, limit int) (rows []entry, more int) {
	if len(d) == 0 {
		return nil, 0
	}
	f := flattener{
		dec:   jsontext.NewDecoder(bytes.NewReader(d), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		limit: limit,
	}
	if f.dec.PeekKind() != '{' || f.object("", merged(schemas)) != nil {
		return []entry{{key: "data", value: string(d)}}, 0
	}
	return f.rows, f.more
}

type flattener struct {
	dec   *jsontext.Decoder
	limit int
	rows  []entry
	more  int
}

func (f *flattener) add(rows ...entry) {
	free := min(len(rows), f.limit-len(f.rows))
	f.rows = append(f.rows, rows[:free]...)
	f.more += len(rows) - free
}

func (f *flattener) value(key string, s fieldSchema) error {
	switch f.dec.PeekKind() {
	case '{':
		return f.object(key, s)
	case '[':
		return f.list(key, s)
	}
	e, err := f.scalar(key, s)
	if err == nil {
		f.add(e)
	}
	return err
}

func (f *flattener) object(key string, s fieldSchema) error {
	if _, err := f.dec.ReadToken(); err != nil {
		return err
	}
	if f.dec.PeekKind() == '}' && key != "" {
		f.add(entry{key, "empty object", true})
	}
	for f.dec.PeekKind() != '}' {
		name, err := f.dec.ReadToken()
		if err != nil {
			return err
		}
		field := s.sub("properties").sub(name.String())
		if err := f.value(join(key, cmp.Or(field.text("title"), name.String())), field); err != nil {
			return err
		}
	}
	_, err := f.dec.ReadToken()
	return err
}

// list reads a list. A list of scalars is one row; any other has a row for each of
// its values.
func (f *flattener) list(key string, s fieldSchema) error {
	if _, err := f.dec.ReadToken(); err != nil {
		return err
	}
	var plain []entry // while the list has scalars only
	nested, items := false, s.sub("items")
	for i := 1; f.dec.PeekKind() != ']'; i++ {
		item := fmt.Sprintf("%s#%d", key, i)
		if kind := f.dec.PeekKind(); kind == '{' || kind == '[' {
			f.add(plain...)
			plain, nested = nil, true
		}
		if nested {
			if err := f.value(item, items); err != nil {
				return err
			}
			continue
		}
		e, err := f.scalar(item, items)
		if err != nil {
			return err
		}
		plain = append(plain, e)
	}
	if !nested {
		f.add(together(key, plain))
	}
	_, err := f.dec.ReadToken()
	return err
}

// together returns a list of scalars as one row.
func together(key string, items []entry) entry {
	if len(items) == 0 {
		return entry{key, "empty list", true}
	}
	values := make([]string, len(items))
	for i, e := range items {
		values[i] = e.value
	}
	return entry{key: key, value: strings.Join(values, ", ")}
}

func (f *flattener) scalar(key string, s fieldSchema) (entry, error) {
	token, err := f.dec.ReadToken()
	switch {
	case err != nil:
		return entry{}, err
	case token.Kind() == 'n':
		return entry{key, "none", true}, nil
	case token.String() == "":
		return entry{key, "empty", true}, nil
	}
	value := token.String()
	if unit := s.text("x-unit"); unit != "" {
		value += " " + unit
	}
	return entry{key: key, value: value}, nil
}

// join adds a name to a dotted key. A key that is beyond what is printed grows
// no further.
func join(key, name string) string {
	switch {
	case key == "":
		return name
	case len(key) > 8*limitName:
		return key
	}
	return key + "." + name
}

// fieldSchema is the JSON Schema of a field; nil if it is not known.
type fieldSchema map[string]any

// merged returns a schema with the fields of all.
func merged(all []verification.Data) fieldSchema {
	fields := map[string]any{}
	for _, s := range slices.Backward(all) {
		maps.Copy(fields, fieldSchema(s.Map()).sub("properties"))
	}
	return fieldSchema{"properties": fields}
}

func (s fieldSchema) sub(name string) fieldSchema {
	below, _ := s[name].(map[string]any)
	return below
}

func (s fieldSchema) text(name string) string {
	text, _ := s[name].(string)
	return text
}
