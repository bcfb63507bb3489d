// Search: which answers and which input make a run findable.

package workflow

import (
	"fmt"
	"maps"
	"slices"
)

// searchInput is the keyword in `input_schema` that makes runs findable by a property of the
// input.
const searchInput = "x-search"

// searchable returns the types of fields that may have `search`.
func searchable() []FieldType {
	return []FieldType{FieldText, FieldNumber, FieldDate, FieldEmail, FieldPhone}
}

// SearchedInput returns the names of the properties of the input by which runs are found, in
// alphabetical order. It must not be changed.
func (p Program) SearchedInput() []string { return p.searchedInput }

// Searches reports whether runs are found by any answer, by any property of the input, or by an element.
func (p Program) Searches() bool {
	return p.searchedInput != nil || p.searchedAnswers || len(p.elements) > 0
}

// addSearch sets what SearchedInput and Searches return.
func (p *Program) addSearch() {
	d := p.Version.Definition
	for _, n := range d.Nodes {
		p.searchedAnswers = p.searchedAnswers || slices.ContainsFunc(n.Fields, func(f InputField) bool {
			return f.Search || slices.ContainsFunc(f.Fields, func(inRow InputField) bool { return inRow.Search })
		})
	}
	if d.InputSchema == nil {
		return
	}
	properties := DataSchema(d.InputSchema.Map()).sub("properties")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if properties.sub(name)[searchInput] == true {
			p.searchedInput = append(p.searchedInput, name)
		}
	}
}

// searchedInput checks where the keyword is in `input_schema`.
func (v *validator) searchedInput() {
	if v.def.InputSchema == nil {
		return
	}
	schema := DataSchema(v.def.InputSchema.Map())
	properties := schema.sub("properties")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		v.searchedProperty(below("input_schema.properties", name), properties.sub(name))
	}
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		if key == "properties" {
			continue
		}
		v.check(below("input_schema", key), !searches(map[string]any{key: schema[key]}), misplacedSearch)
	}
}

const misplacedSearch = searchInput + " is only for the properties of the input itself"

// searchedProperty checks a property of the input.
func (v *validator) searchedProperty(path string, s DataSchema) {
	if search, ok := s[searchInput]; ok {
		v.check(below(path, searchInput), search == true, "must be true")
		kind := s.text("type")
		v.check(below(path, searchInput), kind == "string" || kind == "number" || kind == "integer", "is for properties of the types string, number and integer")
	}
	inside := maps.Clone(s)
	delete(inside, searchInput)
	v.check(path, !searches(inside), misplacedSearch)
}

// below returns the path of a value of a schema.
func below(path, name string) string {
	if validName(name) {
		return path + "." + name
	}
	return fmt.Sprintf("%s[%q]", path, name)
}

// searches reports whether a schema, or one inside it, has the keyword. A property may have its name.
func searches(schema map[string]any) bool {
	for key, value := range schema {
		switch key {
		case searchInput:
			return true
		case "const", "enum", "default", "examples":
			continue
		}
		var inside []any
		switch value := value.(type) {
		case []any:
			inside = value
		case map[string]any:
			inside = []any{value}
			switch key {
			case "properties", "patternProperties", "$defs", "dependentSchemas":
				inside = slices.Collect(maps.Values(value))
			}
		}
		for _, one := range inside {
			if inner, ok := one.(map[string]any); ok && searches(inner) {
				return true
			}
		}
	}
	return false
}
