// Schemas that describe recorded data to people.

package workflow

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// DataSchema is a JSON Schema that describes a value to people: by its title, its unit
// ("x-unit"), its scale ("x-scale"), its fields and items, and the titles of its choices ("oneOf" with "const").
// nil describes nothing.
type DataSchema map[string]any

// MergeSchemas returns a schema with the fields of all. If several schemas have a field, the first
// one wins.
func MergeSchemas(all ...DataSchema) DataSchema {
	fields := map[string]any{}
	for _, s := range slices.Backward(all) {
		maps.Copy(fields, s.sub("properties"))
	}
	if len(fields) == 0 {
		return nil
	}
	return DataSchema{"properties": fields}
}

// DataSchema returns a schema of the answers of a form, with the labels of its fields and
// options in a language, or else in the default language; nil without fields.
func (fs InputFields) DataSchema(language string) DataSchema {
	if len(fs) == 0 {
		return nil
	}
	fields, documents := map[string]any{}, map[string]any{}
	for _, f := range fs {
		f = f.In(language)
		s := map[string]any{"title": f.Label}
		if f.Upload() {
			documents[f.Name] = s
		}
		if f.Type == FieldGroup {
			rows := f.Fields.DataSchema(language)
			delete(rows.sub("properties"), "documents")
			s["items"] = map[string]any(rows)
		}
		if f.Integer {
			s["type"] = "integer"
		}
		var choices []any
		for _, o := range f.Options {
			choices = append(choices, map[string]any{"const": o.Value, "title": o.Label})
		}
		s["oneOf"], fields[f.Name] = choices, s
	}
	fields["documents"] = map[string]any{"properties": documents}
	return DataSchema{"properties": fields}
}

// answers returns the JSON Schema of the answers to a form or to a row of a group, whose fields are of the types that Check
// accepts.
func (fs InputFields) answers() DataSchema {
	properties, required := map[string]any{}, []any{}
	for _, f := range fs {
		properties[f.Name] = map[string]any(f.answer())
		if f.Required || f.Type == FieldGroup { // without rows it is an empty list
			required = append(required, f.Name)
		}
	}
	return DataSchema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func (f InputField) answer() DataSchema {
	switch f.Type {
	case FieldText, FieldTextarea, FieldEmail, FieldPhone:
		return DataSchema{"type": "string", "maxLength": f.longest()}
	case FieldDate:
		return DataSchema{"type": "string", "format": "date"}
	case FieldSelect:
		var values []any
		for _, o := range f.Options {
			values = append(values, o.Value)
		}
		return DataSchema{"type": "string", "enum": values}
	case FieldNumber:
		return DataSchema{"type": "number"}
	case FieldCheckbox:
		return DataSchema{"type": "boolean"}
	case FieldFile, FieldImage:
		return InputFields{{Name: "document_id", Type: FieldText, MaxLength: 36, Required: true}}.answers()
	case FieldLocation:
		return DataSchema{"type": "object"}
	case FieldGroup:
		_, most := f.Rows()
		return DataSchema{"type": "array", "maxItems": most, "items": map[string]any(f.Fields.answers())}
	}
	return DataSchema{}
}

// Field returns the schema of a field of an object.
func (s DataSchema) Field(name string) DataSchema { return s.sub("properties").sub(name) }

// Item returns the schema of the items of a list.
func (s DataSchema) Item() DataSchema { return s.sub("items") }

// Title returns the title of the value; empty if it has none.
func (s DataSchema) Title() string { return s.text("title") }

// Unit returns the unit of the value, such as "km"; empty if it has none.
func (s DataSchema) Unit() string { return s.text("x-unit") }

// OfRun reports whether the value is the id of a run of the tenant.
func (s DataSchema) OfRun() bool { return s["x-run"] == true }

// Scale is the scale of a score, for people: from From to To, fails_below up to which a check does not pass, and passes_from from
// which it passes. What is between decides nothing.
type Scale struct {
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	FailsBelow float64 `json:"fails_below"`
	PassesFrom float64 `json:"passes_from"`
}

// Valid reports whether the bounds are in order.
func (s Scale) Valid() bool {
	return s.From < s.To && s.From <= s.FailsBelow && s.FailsBelow <= s.PassesFrom && s.PassesFrom <= s.To
}

// Scale returns the scale of a number, and whether it has one that is valid.
func (s DataSchema) Scale() (scale Scale, ok bool) {
	raw, err := json.Marshal(s["x-scale"])
	ok = s["x-scale"] != nil && err == nil && json.Unmarshal(raw, &scale) == nil && scale.Valid()
	return scale, ok
}

// Choice returns the title of a value that is one of some choices, or the words for a value that is a code, or else the value.
func (s DataSchema) Choice(value string) string {
	if text := s.sub("x-words").text(value); text != "" {
		return text
	}
	choices, _ := s["oneOf"].([]any)
	for _, c := range choices {
		if c, _ := c.(map[string]any); c["const"] == value {
			return cmp.Or(DataSchema(c).Title(), value)
		}
	}
	return value
}

func (s DataSchema) sub(name string) DataSchema {
	below, _ := s[name].(map[string]any)
	return below
}

func (s DataSchema) text(name string) string {
	text, _ := s[name].(string)
	return text
}
