// The parts of a schema: whether they are supported, and what they cost.

package expression

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The bounds of one schema.
const (
	maxSchemaValues  = 5_000     // values in its text, each of which may be a schema
	maxSchemaPaths   = 1_000_000 // bytes of the paths to all of them
	maxSchemaPattern = 20_000    // instructions of all its regular expressions
	maxApplied       = 1_000     // schemas that apply to the same value
	maxAppliedDepth  = 50        // of these, one inside the other
)

// textScale is the unit of textBytes: textBytes/textScale steps are counted for each
// byte of a text.
const textScale = 4

// schemaPart describes one schema inside a compiled one.
type schemaPart struct {
	types []string             // nil for any
	same  []*jsonschema.Schema // those that apply to the same value

	// Steps of one application, by the type of the value.
	number, text, container int
	textBytes               int // extra steps for each byte of a text, multiplied by textScale to be whole
	names                   int // fields that are looked for in an object

	applied, depth int  // how many apply to the same value, itself included; 0 until measured
	measuring      bool // it is being measured
}

type schema struct {
	root        *jsonschema.Schema
	parts       map[*jsonschema.Schema]*schemaPart
	unevaluated bool // it has unevaluatedProperties or unevaluatedItems
}

// inspected returns a compiled schema with its parts, or an error that says what
// is not supported or cannot be bounded.
func inspected(root *jsonschema.Schema) (schema, error) {
	s := schema{root: root, parts: map[*jsonschema.Schema]*schemaPart{}}
	all := []*jsonschema.Schema{root}
	for i := 0; i < len(all); i++ {
		at := all[i]
		if s.parts[at] != nil {
			continue
		}
		p := partOf(at)
		s.parts[at] = p
		s.unevaluated = s.unevaluated || at.UnevaluatedProperties != nil || at.UnevaluatedItems != nil
		all = append(append(all, p.same...), below(at)...)
	}
	all = slices.SortedFunc(maps.Keys(s.parts), func(a, b *jsonschema.Schema) int { return cmp.Compare(a.Location, b.Location) })
	for _, at := range all {
		if name := unsupported(at); name != "" {
			return schema{}, fmt.Errorf("the schema uses %s at %s, which is not supported", name, locationOf(at))
		}
	}
	for _, at := range all {
		if err := s.measure(at); err != nil {
			return schema{}, err
		}
	}
	return s, nil
}

// measure counts the schemas that apply to the same value as the schema at, which is
// included, and how deep they are nested.
func (s schema) measure(at *jsonschema.Schema) error {
	p := s.parts[at]
	switch {
	case p.measuring:
		return fmt.Errorf("the schema at %s refers to itself, with no field and no item in between", locationOf(at))
	case p.applied > 0:
		return nil
	}
	p.measuring = true
	applied, depth := 1, 1
	for _, sub := range p.same {
		if err := s.measure(sub); err != nil {
			return err
		}
		applied += s.parts[sub].applied
		depth = max(depth, 1+s.parts[sub].depth)
		if applied > maxApplied {
			return fmt.Errorf("more than %d schemas apply to the same value at %s", maxApplied, locationOf(at))
		}
		if depth > maxAppliedDepth {
			return fmt.Errorf("more than %d schemas inside each other apply to the same value at %s", maxAppliedDepth, locationOf(at))
		}
	}
	p.applied, p.depth, p.measuring = applied, depth, false
	return nil
}

// unsupported returns the first keyword of a schema that is not supported.
func unsupported(s *jsonschema.Schema) string {
	switch {
	case s.DynamicRef != nil:
		return "$dynamicRef"
	case s.RecursiveRef != nil:
		return "$recursiveRef"
	case s.Format != nil && s.Format.Name == "regex":
		return "the format regex"
	}
	return ""
}

// locationOf returns the JSON Pointer of a schema, such as #/properties/a.
func locationOf(s *jsonschema.Schema) string { return strings.TrimPrefix(s.Location, schemaURL) }

func partOf(s *jsonschema.Schema) *schemaPart {
	p := &schemaPart{same: sameValue(s), names: len(s.Required)}
	if s.Types != nil {
		p.types = s.Types.ToStrings()
	}
	if slices.Contains(p.types, "integer") || s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil {
		p.number += stepsPerNumber
	}
	if s.MultipleOf != nil {
		p.number += 5 * stepsPerNumber
	}
	if s.MinLength != nil || s.MaxLength != nil {
		p.textBytes++
	}
	if s.Format != nil {
		p.textBytes += textScale
	}
	if s.Pattern != nil {
		p.textBytes += sizeOfPattern(s.Pattern)
	}
	if s.Const != nil {
		p.compares(*s.Const)
	}
	if s.Enum != nil {
		for _, value := range s.Enum.Values {
			p.compares(value)
		}
	}
	for _, names := range s.DependentRequired {
		p.names += 1 + len(names)
	}
	for _, d := range s.Dependencies {
		names, _ := d.([]string)
		p.names += 1 + len(names)
	}
	return p
}

// compares counts the comparison with a value of enum or const.
func (p *schemaPart) compares(value any) {
	steps := compareSteps(value)
	switch value.(type) {
	case float64, json.Number:
		p.number += steps
	case string:
		p.text += steps
	case map[string]any, []any:
		p.container += steps
	}
}

// accepts reports whether the type of a value is allowed; the library looks no
// further when it is not.
func (p *schemaPart) accepts(value any) bool {
	if p.types == nil {
		return true
	}
	name := "null"
	switch value.(type) {
	case bool:
		name = "boolean"
	case float64, json.Number:
		if slices.Contains(p.types, "integer") {
			return true
		}
		name = "number"
	case string:
		name = "string"
	case []any:
		name = "array"
	case map[string]any:
		name = "object"
	}
	return slices.Contains(p.types, name)
}

// sameValue lists the schemas that a schema applies to its own value.
func sameValue(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	for _, name := range slices.Sorted(maps.Keys(s.DependentSchemas)) {
		all = append(all, s.DependentSchemas[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		d, _ := s.Dependencies[name].(*jsonschema.Schema)
		all = append(all, d)
	}
	return present(all)
}

// below lists the schemas that a schema applies to fields, items and names.
func below(s *jsonschema.Schema) []*jsonschema.Schema {
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	first, rest := itemsOf(s)
	all := slices.Concat([]*jsonschema.Schema{
		additional, rest, s.PropertyNames, s.Contains, s.UnevaluatedProperties, s.UnevaluatedItems,
	}, first)
	all = slices.AppendSeq(all, maps.Values(s.Properties))
	all = slices.AppendSeq(all, maps.Values(s.PatternProperties))
	return present(all)
}

// itemsOf returns the schemas of the first items of a list and that of the rest.
func itemsOf(s *jsonschema.Schema) (first []*jsonschema.Schema, rest *jsonschema.Schema) {
	first, rest = s.PrefixItems, s.Items2020
	switch items := s.Items.(type) { // before draft 2020-12
	case []*jsonschema.Schema:
		first = items
		rest, _ = s.AdditionalItems.(*jsonschema.Schema)
	case *jsonschema.Schema:
		rest = items
	}
	return first, rest
}

func present(all []*jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
}

// schemaSize counts the values of a schema's text, and the bytes of the paths
// to them, before the library reads it.
type schemaSize struct{ values, paths int }

func (z *schemaSize) check(value any, pathBytes int) error {
	z.values++
	z.paths += pathBytes
	if z.values > maxSchemaValues {
		return fmt.Errorf("the schema has more than %d values", maxSchemaValues)
	}
	if z.paths > maxSchemaPaths {
		return fmt.Errorf("the paths to the values of the schema are longer than %d bytes together: use shorter names", maxSchemaPaths)
	}
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if err := z.check(field, pathBytes+1+len(name)); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v { // at most 6 bytes for an index of up to four digits, as in [1234]
			if err := z.check(item, pathBytes+6); err != nil {
				return err
			}
		}
	}
	return nil
}
