// Flattens the data of a step into rows of a key and a value.

package pdf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
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
// limit, and how many more there are. Data that is not a JSON object is one row.
func rowsOf(d verification.Data, s verification.DataSchema, limit int) (rows []entry, more int) {
	if len(d) == 0 {
		return nil, 0
	}
	f := flattener{
		dec:   jsontext.NewDecoder(bytes.NewReader(d), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		limit: limit,
	}
	if f.dec.PeekKind() != '{' || f.object("", s) != nil {
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

func (f *flattener) value(key string, s verification.DataSchema) error {
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

func (f *flattener) object(key string, s verification.DataSchema) error {
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
		field := s.Field(name.String())
		if err := f.value(join(key, cmp.Or(field.Title(), name.String())), field); err != nil {
			return err
		}
	}
	_, err := f.dec.ReadToken()
	return err
}

// list reads a list. A list of scalars is one row; any other has a row for each of
// its values.
func (f *flattener) list(key string, s verification.DataSchema) error {
	if _, err := f.dec.ReadToken(); err != nil {
		return err
	}
	var plain []entry // while the list has scalars only
	nested, items := false, s.Item()
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

func (f *flattener) scalar(key string, s verification.DataSchema) (entry, error) {
	token, err := f.dec.ReadToken()
	switch {
	case err != nil:
		return entry{}, err
	case token.Kind() == 'n':
		return entry{key, "none", true}, nil
	case token.String() == "":
		return entry{key, "empty", true}, nil
	}
	value := s.Choice(token.String())
	if token.Kind() == '0' {
		value = verification.Digits(json.Number(value))
	}
	if unit := s.Unit(); unit != "" {
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
