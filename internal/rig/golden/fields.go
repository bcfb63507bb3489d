// The JSON of a Go type, as lines of a golden file.

package golden

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Fields returns the line of a kind, which has a path and perhaps a name, and a line "PATH TYPE" for each field of its JSON, with the
// fields of the structs inside it. What may be written only since a later level of the store, as a field says by the tag since, ends with
// "since N". A type with a JSON of its own has one line, with its name.
func Fields(path, name string, since int, t reflect.Type) []string {
	kind := path
	if name != "" {
		kind += " = " + name
	}
	if since > 1 {
		kind += fmt.Sprintf(" since %d", since)
	}
	return append([]string{kind}, fields(path, "", t, nil)...)
}

func fields(path, end string, t reflect.Type, above []reflect.Type) (lines []string) {
	for {
		own := reflect.PointerTo(t)
		switch kind := t.Kind(); {
		case kind == reflect.Pointer:
			t = t.Elem()
			continue
		case own.Implements(reflect.TypeFor[json.Marshaler]()), own.Implements(reflect.TypeFor[encoding.TextMarshaler]()), hasMethod(own, "MarshalJSONTo"):
			return []string{path + " " + t.String() + end}
		case (kind == reflect.Slice || kind == reflect.Array) && t.Elem().Kind() != reflect.Uint8:
			path += "[]"
			t = t.Elem()
			continue
		case kind == reflect.Map:
			path += "{}"
			t = t.Elem()
			continue
		case kind == reflect.Slice || kind == reflect.Array:
			return []string{path + " bytes" + end}
		case kind != reflect.Struct:
			return []string{path + " " + kind.String() + end}
		case slices.Contains(above, t):
			return []string{path + " as above" + end}
		}
		break
	}
	above = append(slices.Clip(above), t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		since := end
		if level := f.Tag.Get("since"); level != "" {
			since = " since " + level
		}
		switch {
		case f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "":
			lines = append(lines, fields(path, since, f.Type, above)...)
		default:
			if name == "" {
				name = f.Name
			}
			lines = append(lines, fields(path+"."+name, since, f.Type, above)...)
		}
	}
	return lines
}

func hasMethod(t reflect.Type, name string) bool {
	_, ok := t.MethodByName(name)
	return ok
}
