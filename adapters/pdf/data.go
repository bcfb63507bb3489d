// Flattens the data of a step into rows of a key and a value.

package pdf

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/view"
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
	f, data, key := flattener{limit: limit}, view.ReadData(d, s), ""
	if data.Kind == view.DataText {
		key = "data"
	}
	f.value(key, data)
	return f.rows, f.more
}

type flattener struct {
	limit int
	rows  []entry
	more  int
}

func (f *flattener) add(row entry) {
	if len(f.rows) < f.limit {
		f.rows = append(f.rows, row)
	} else {
		f.more++
	}
}

func (f *flattener) value(key string, v view.DataValue) {
	switch {
	case v.Kind == view.DataObject && (!v.Empty || key == ""):
		for field := range v.Values() {
			f.value(join(key, cmp.Or(field.Title, field.Name)), field)
		}
	case v.Kind == view.DataList && !v.Empty:
		f.list(key, v)
	default:
		f.add(entryOf(key, v))
	}
}

// list adds a list. A list of scalars is one row; any other has a row for each of its
// values.
func (f *flattener) list(key string, v view.DataValue) {
	rows, more := len(f.rows), f.more
	var together strings.Builder // while the list has scalars only
	i, scalars := 0, true
	for item := range v.Values() {
		i++
		e := entryOf(fmt.Sprintf("%s#%d", key, i), item)
		if scalars = scalars && item.Kind != view.DataObject && item.Kind != view.DataList; scalars {
			together.WriteString(e.value + ", ")
		}
		f.value(e.key, item)
	}
	if scalars {
		f.rows, f.more = f.rows[:rows], more
		f.add(entry{key: key, value: strings.TrimSuffix(together.String(), ", ")})
	}
}

func entryOf(key string, v view.DataValue) entry {
	switch {
	case v.Kind == view.DataNone:
		return entry{key, "none", true}
	case v.Empty && v.Kind == view.DataText:
		return entry{key, "empty", true}
	case v.Empty:
		return entry{key, "empty " + string(v.Kind), true}
	case v.Unit != "":
		v.Text += " " + v.Unit
	}
	return entry{key: key, value: v.Text}
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
