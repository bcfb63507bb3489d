// The values of recorded data, which are read one at a time.

package labels

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// DataKind says what a value of recorded data is.
type DataKind string

// The kinds of values.
const (
	DataObject DataKind = "object"
	DataList   DataKind = "list"
	DataText   DataKind = "text"
	DataNumber DataKind = "number"
	DataTrue   DataKind = "true"
	DataFalse  DataKind = "false"
	DataNone   DataKind = "none" // null
)

// DataValue is one value of recorded data.
type DataValue struct {
	Kind  DataKind
	Empty bool   // an object, a list or a text with nothing in it
	Name  string // of a field of an object
	Title string // of the value in its schema, as Unit is; both may be empty
	Unit  string
	OfRun bool            // it is the id of a run
	Scale *workflow.Scale // nil for none
	// Text is the title of a choice or else the text, the digits of a number, "true" or
	// "false". Other kinds have no text.
	Text string

	schema workflow.DataSchema
	from   *dataReader // of an object or a list
}

// ReadData returns the data as an object, which is empty for nil. Data that is not a JSON
// object is one text, which is never empty.
func ReadData(d verification.Data, s workflow.DataSchema) DataValue {
	if len(d) == 0 {
		return DataValue{Kind: DataObject, Empty: true}
	}
	if json.Valid(d) {
		r := dataReader{dec: json.NewDecoder(bytes.NewReader(d))}
		r.dec.UseNumber()
		if v := r.value("", s); v.Kind == DataObject {
			return v
		}
	}
	return DataValue{Kind: DataText, Text: string(d)}
}

// Values returns the fields of an object or the items of a list in their recorded order.
// It keeps none of them, so that a caller decides how many values are in memory. It can
// be called once, before the value after v is read. Values that the caller does not read
// are skipped.
func (v DataValue) Values() iter.Seq[DataValue] {
	return func(yield func(DataValue) bool) {
		r := v.from
		if r == nil || v.Empty {
			return
		}
		depth := r.depth
		for r.dec.More() {
			name, s := "", v.schema.Item()
			if v.Kind == DataObject {
				name, _ = r.token().(string)
				s = v.schema.Field(name)
			}
			if !yield(r.value(name, s)) {
				return // whoever reads the values around v skips the rest
			}
			for r.depth > depth {
				r.token()
			}
		}
		r.token()
	}
}

// PathIn returns the path of a value, such as owners[0].name: it is value number i, from 0, of one at a path.
func (v DataValue) PathIn(of DataValue, path string, i int) string {
	switch {
	case of.Kind == DataList:
		return path + "[" + strconv.Itoa(i) + "]"
	case path == "":
		return v.Name
	}
	return path + "." + v.Name
}

// dataReader reads a valid JSON text.
type dataReader struct {
	dec   *json.Decoder
	depth int // the number of open objects and lists
}

func (r *dataReader) token() json.Token {
	token, _ := r.dec.Token() // the text is valid
	switch token {
	case json.Delim('{'), json.Delim('['):
		r.depth++
	case json.Delim('}'), json.Delim(']'):
		r.depth--
	}
	return token
}

// value reads a value, but of an object or a list only its beginning.
func (r *dataReader) value(name string, s workflow.DataSchema) DataValue {
	v := DataValue{Kind: DataNone, Name: name, Title: s.Title(), Unit: s.Unit(), OfRun: s.OfRun()}
	switch t := r.token().(type) {
	case json.Delim:
		v.Kind, v.schema, v.from = DataList, s, r
		if t == '{' {
			v.Kind = DataObject
		}
		if v.Empty = !r.dec.More(); v.Empty {
			r.token()
		}
	case string:
		v.Kind, v.Empty, v.Text = DataText, t == "", s.Choice(t)
	case json.Number:
		v.Kind, v.Text = DataNumber, verification.Digits(t)
		if scale, ok := s.Scale(); ok {
			v.Scale = &scale
		}
	case bool:
		v.Text = strconv.FormatBool(t)
		v.Kind = DataKind(v.Text)
	}
	return v
}
