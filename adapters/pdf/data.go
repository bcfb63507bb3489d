// Flattens the data of a step into rows of a key and a value.

package pdf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// entry is one value of a step's data under its dotted key. An item of a list
// counts from one: hits#1.court.
type entry struct {
	key, value string
	empty      bool // the value only says that there is none
}

// rowsOf flattens the data in its recorded order. It returns the first rows up to
// limit, and how many more there are. Data that is not a JSON object is one row.
func rowsOf(d verification.Data, limit int) (rows []entry, more int) {
	if len(d) == 0 {
		return nil, 0
	}
	f := flattener{dec: json.NewDecoder(bytes.NewReader(d)), limit: limit}
	f.dec.UseNumber()
	if err := f.object(""); err != nil {
		return []entry{{key: "data", value: string(d)}}, 0
	}
	return f.rows, f.more
}

type flattener struct {
	dec   *json.Decoder
	limit int
	rows  []entry
	more  int
}

func (f *flattener) add(r entry) {
	if len(f.rows) < f.limit {
		f.rows = append(f.rows, r)
		return
	}
	f.more++
}

// object reads a document that is one object.
func (f *flattener) object(key string) error {
	first, err := f.dec.Token()
	if err != nil {
		return err
	}
	if first != json.Delim('{') {
		return fmt.Errorf("data starts with %v", first)
	}
	return f.fields(key)
}

// value reads a value after its first token.
func (f *flattener) value(key string, first json.Token) error {
	switch first {
	case json.Delim('{'):
		if !f.dec.More() && key != "" {
			f.add(entry{key, "empty object", true})
		}
		return f.fields(key)
	case json.Delim('['):
		return f.list(key)
	}
	f.add(scalar(key, first))
	return nil
}

func (f *flattener) fields(key string) error {
	for f.dec.More() {
		name, err := f.dec.Token()
		if err != nil {
			return err
		}
		first, err := f.dec.Token()
		if err != nil {
			return err
		}
		if err := f.value(join(key, fmt.Sprint(name)), first); err != nil {
			return err
		}
	}
	_, err := f.dec.Token()
	return err
}

// list reads a list. A list of scalars is one row; any other has a row for each of
// its values.
func (f *flattener) list(key string) error {
	var plain []entry
	nested := false
	for i := 1; f.dec.More(); i++ {
		first, err := f.dec.Token()
		if err != nil {
			return err
		}
		item := fmt.Sprintf("%s#%d", key, i)
		if _, opens := first.(json.Delim); opens && !nested {
			nested = true
			for _, r := range plain {
				f.add(r)
			}
		}
		if !nested {
			plain = append(plain, scalar(item, first))
			continue
		}
		if err := f.value(item, first); err != nil {
			return err
		}
	}
	if !nested {
		f.add(together(key, plain))
	}
	_, err := f.dec.Token()
	return err
}

// together returns a list of scalars as one row.
func together(key string, items []entry) entry {
	if len(items) == 0 {
		return entry{key, "empty list", true}
	}
	var b strings.Builder
	for i, r := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(r.value)
	}
	return entry{key: key, value: b.String()}
}

func scalar(key string, v json.Token) entry {
	switch v := v.(type) {
	case nil:
		return entry{key, "none", true}
	case bool:
		if v {
			return entry{key: key, value: "true"}
		}
		return entry{key: key, value: "false"}
	case string:
		if v == "" {
			return entry{key, "empty", true}
		}
		return entry{key: key, value: v}
	}
	return entry{key: key, value: fmt.Sprint(v)}
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
