// Turns recorded data into rows of a label and a value, and lists of objects into tables.

package pdf

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// entry is one value under its label, or a list of objects as a table. The label has the title
// of each field around the value: Address › City.
type entry struct {
	key, value string
	path       string // of the value in the data, such as owners[0].name
	empty      bool   // the value only says that there is none
	name       string
	table      *table
	lines      []typeset.Line // in place of value, if it is set already
}

// table is a list of objects: a column for each of their fields.
type table struct {
	columns []string
	names   []string // of the fields
	words   []bool   // of each column: not all values are numbers; none for columns of words
	rows    [][]string
	fixed   []float64 // widths of the columns; nil for widths by their texts
	more    int       // rows that are not printed
}

// maxColumns is how many columns fit on the page. Objects with more fields are printed one
// below the other.
const maxColumns = 7

// rowsOf returns the values of the data in their order: the first ones up to limit, and how
// many more there are. Data that is not a JSON object is one row. apart are fields of the
// object that are printed elsewhere.
func (f *formatter) rowsOf(d verification.Data, s workflow.DataSchema, limit int, apart ...string) (rows []entry, more int) {
	flat, data, key := flattener{formatter: f, limit: limit, apart: apart}, labels.ReadData(d, s), ""
	if data.Kind == labels.DataText {
		key = "Data"
	}
	flat.value(key, "", data)
	return flat.rows, flat.more
}

type flattener struct {
	*formatter
	apart []string
	limit int
	used  int // values so far, a row of a table counts as one
	rows  []entry
	more  int
}

func (f *flattener) add(row entry) {
	if f.used++; f.used <= f.limit {
		f.rows = append(f.rows, row)
	} else {
		f.more++
	}
}

func (f *flattener) value(key, path string, v labels.DataValue) {
	switch {
	case v.Kind == labels.DataObject && (!v.Empty || key == ""):
		f.object(key, path, v)
	case v.Kind == labels.DataList && !v.Empty:
		f.list(key, path, v)
	default:
		e := f.entryOf(key, v)
		e.path = path
		f.add(e)
	}
}

// object adds the fields of an object. A place and an upload are one value each.
func (f *flattener) object(key, path string, v labels.DataValue) {
	from, more := len(f.rows), f.more
	for field := range v.Values() {
		if key == "" && field.Name == "documents" && field.Kind == labels.DataObject && len(f.documents) > 0 {
			continue // the section of documents has it
		}
		if key == "" && slices.Contains(f.apart, field.Name) {
			continue
		}
		f.value(join(key, label(field)), field.PathIn(v, path, 0), field)
	}
	if key == "" || f.more > more {
		return
	}
	if text, ok := f.together(f.rows[from:]); ok {
		f.used -= len(f.rows) - from
		f.rows = f.rows[:from]
		f.add(entry{key: key, value: text, path: path, name: v.Name})
	}
}

// together returns the fields of an object as one value.
func (f *formatter) together(fields []entry) (string, bool) {
	var names []string
	for _, e := range fields {
		names = append(names, e.name)
	}
	switch {
	case slices.Equal(names, []string{"latitude", "longitude"}):
		return fields[0].value + ", " + fields[1].value, true
	case slices.Equal(names, []string{"latitude", "longitude", "accuracy"}):
		return fields[0].value + ", " + fields[1].value + ", within " + fields[2].value + " m", true
	case slices.Equal(names, []string{"denied"}):
		return "Not shared", true
	case slices.Equal(names, []string{"document_id"}):
		text, known := f.documents[strings.ToLower(fields[0].value)]
		return text, known
	}
	return "", false
}

// list adds a list. A list of scalars is one row; a list that begins with an object is a
// table; any other has a row for each of its values.
func (f *flattener) list(key, path string, v labels.DataValue) {
	from, used, more := len(f.rows), f.used, f.more
	var scalarsOnly strings.Builder
	var t *table
	i, scalars := 0, true
	for item := range v.Values() {
		i++
		if i == 1 && item.Kind == labels.DataObject && !item.Empty {
			t = &table{}
		}
		if t != nil {
			f.row(t, item)
			continue
		}
		e := f.entryOf(fmt.Sprintf("%s %d", key, i), item)
		if scalars = scalars && item.Kind != labels.DataObject && item.Kind != labels.DataList; scalars {
			scalarsOnly.WriteString(e.value + ", ")
		}
		f.value(e.key, item.PathIn(v, path, i-1), item)
	}
	switch {
	case t != nil && len(t.columns) > maxColumns:
		f.records(key, path, t)
	case t != nil:
		f.rows = append(f.rows, entry{key: key, path: path, name: v.Name, table: t})
	case scalars:
		f.rows, f.used, f.more = f.rows[:from], used, more
		f.add(entry{key: key, value: strings.TrimSuffix(scalarsOnly.String(), ", "), path: path, name: v.Name})
	}
}

// row adds a row to a table, and columns for fields that no row before has.
func (f *flattener) row(t *table, item labels.DataValue) {
	if f.used++; f.used > f.limit {
		t.more++
		return
	}
	var cells []string
	set := func(name, title, text string, number bool) {
		at := slices.Index(t.names, name)
		if at < 0 {
			at = len(t.names)
			t.names, t.columns, t.words = append(t.names, name), append(t.columns, title), append(t.words, false)
		}
		for len(cells) <= at {
			cells = append(cells, "")
		}
		cells[at] = text
		t.words[at] = t.words[at] || !number
	}
	if item.Kind != labels.DataObject {
		set("", "Value", f.inline(item), item.Kind == labels.DataNumber)
	} else {
		for field := range item.Values() {
			set(field.Name, label(field), f.inline(field), field.Kind == labels.DataNumber)
		}
	}
	t.rows = append(t.rows, cells)
}

// records adds the rows of a table that is too wide, one below the other.
func (f *flattener) records(key, path string, t *table) {
	f.used -= len(t.rows)
	for i, cells := range t.rows {
		for j, text := range cells {
			if text != "" {
				f.add(entry{key: join(fmt.Sprintf("%s %d", key, i+1), t.columns[j]), value: text, path: fmt.Sprintf("%s[%d].%s", path, i, t.names[j])})
			}
		}
	}
	f.used += t.more
	f.more += t.more
}

// inline returns a value as one text, which is cut soon after limitValue characters.
func (f *formatter) inline(v labels.DataValue) string {
	if v.Empty || v.Kind != labels.DataObject && v.Kind != labels.DataList {
		if e := f.entryOf("", v); !e.empty {
			return e.value
		}
		return "–"
	}
	var b strings.Builder
	for part := range v.Values() {
		switch {
		case b.Len() > utf8.UTFMax*limitValue:
			continue
		case b.Len() == 0:
		case v.Kind == labels.DataObject:
			b.WriteString("; ")
		default:
			b.WriteString(", ")
		}
		if v.Kind == labels.DataObject {
			b.WriteString(label(part) + ": ")
		}
		b.WriteString(f.inline(part))
	}
	return b.String()
}

// formatter writes values as people do.
type formatter struct {
	zone      *time.Location
	documents map[string]string // what to print for an upload, by its id
}

func (f *formatter) entryOf(key string, v labels.DataValue) entry {
	e := entry{key: key, name: v.Name}
	switch {
	case v.Kind == labels.DataNone:
		e.value, e.empty = "None", true
	case v.Empty:
		e.value, e.empty = "Empty", true
	case v.Kind == labels.DataTrue:
		e.value = "Yes"
	case v.Kind == labels.DataFalse:
		e.value = "No"
	case v.Name == "consent_status" && v.Text == "success":
		e.value = "Agreed"
	case v.Name == "consent_status" && v.Text == "declined":
		e.value = "Declined"
	case v.Kind == labels.DataText:
		e.value = f.text(v.Text)
	default:
		e.value = v.Text
	}
	if v.Unit != "" && !e.empty {
		e.value += " " + v.Unit
	}
	return e
}

// text returns a text; a date and a time as people write them.
func (f *formatter) text(s string) string {
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		return day.Format(dayForm)
	}
	if len(s) >= len("2006-01-02T15:04Z") && len(s) <= len(time.RFC3339Nano) {
		if at, err := time.Parse(time.RFC3339, s); err == nil {
			return f.time(at)
		}
	}
	return s
}

const dayForm = "2 Jan 2006"

// time returns a time in whole seconds; empty for the zero time.
func (f *formatter) time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(f.zone).Truncate(time.Second).Format(dayForm + ", 15:04:05 MST")
}

// label returns the title of a field, or its name in words.
func label(v labels.DataValue) string {
	if v.Title != "" {
		return v.Title
	}
	switch v.Name {
	case "consent_status":
		return "Answer"
	case "geo_ok":
		return "In the allowed area"
	case "source_ok":
		return "The source vouches for its answer"
	case "analysis_ok":
		return "The analysis is complete"
	case "opted_out":
		return "Opted out"
	case "dob":
		return "Date of birth"
	}
	return labels.InWords(v.Name)
}

// join adds a label to another one. A label that is beyond what is printed grows no further.
func join(key, name string) string {
	switch {
	case key == "":
		return name
	case len(key) > 8*limitName:
		return key
	}
	return key + " › " + name
}
