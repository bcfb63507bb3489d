// Fit: the check that the results of a template match a schema.

package expression

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verifyd/verifyd/internal/schematext"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// fit returns the problems of a template's object, joined; each is a *TextError with
// the path of the value. Constant values are checked completely. Of an expression the
// type is checked, as far as it is known; of an object or a list with an expression in
// it, the fields and the items.
func fit(s *jsonschema.Schema, root part) error {
	var f fitting
	f.part("", s, root)
	return errors.Join(f.problems...)
}

type fitting struct{ problems []error }

func (f *fitting) problem(at, message string) {
	f.problems = append(f.problems, &verification.TextError{Path: at, Message: message})
}

func (f *fitting) part(at string, s *jsonschema.Schema, p part) {
	for s.Ref != nil && s.Types == nil && s.Properties == nil {
		s = s.Ref
	}
	before := len(f.problems)
	switch p := p.(type) {
	case object:
		f.object(at, s, p)
	case list:
		f.list(at, s, p)
	case filled:
		f.is(at, s, jsonTypes(p.output))
	case mixed:
		f.is(at, s, []string{"string"})
	}
	if v, ok := constant(p); ok && len(f.problems) == before {
		f.constant(at, s, v)
	}
}

func (f *fitting) constant(at string, s *jsonschema.Schema, v any) {
	var invalid *jsonschema.ValidationError
	if !errors.As(s.Validate(v), &invalid) {
		return
	}
	for _, problem := range fieldsOf(invalid, v) {
		path := at + problem.Name
		if at != "" && problem.Name != "" && problem.Name[0] != '[' {
			path = at + "." + problem.Name
		}
		if text, ok := v.(string); ok && s.Enum != nil {
			problem.Message += workflow.DidYouMean(text, texts(scalarsOf(s.Enum.Values)))
		} else if ok && s.Format != nil {
			problem.Message += workflow.DidYouMean(text, schematext.Values(s.Format.Name))
		}
		f.problem(path, problem.Message)
	}
}

func (f *fitting) object(at string, s *jsonschema.Schema, o object) {
	f.is(at, s, []string{"object"})
	given := map[string]bool{}
	for _, field := range o {
		given[field.name] = true
		path := pathTo(at, field.name)
		switch property := s.Properties[field.name]; {
		case property != nil:
			f.part(path, property, field.part)
		case !open(s) && s.AdditionalProperties == false:
			f.problem(path, "unknown field"+workflow.DidYouMean(field.name, slices.Sorted(maps.Keys(s.Properties))))
		}
	}
	for _, name := range s.Required {
		if !given[name] {
			f.problem(pathTo(at, name), "is required")
		}
	}
}

func (f *fitting) list(at string, s *jsonschema.Schema, l list) {
	f.is(at, s, []string{"array"})
	for i, item := range l {
		of := s.Items2020
		if i < len(s.PrefixItems) {
			of = s.PrefixItems[i]
		}
		if of != nil {
			f.part(at+"["+strconv.Itoa(i)+"]", of, item)
		}
	}
}

// is checks that one of the types that a value may have is allowed.
func (f *fitting) is(at string, s *jsonschema.Schema, may []string) {
	if s.Types == nil || may == nil {
		return
	}
	want := s.Types.ToStrings()
	for _, name := range want {
		if name == "integer" {
			name = "number"
		}
		if slices.Contains(may, name) {
			return
		}
	}
	f.problem(at, "must be "+schematext.Types(want...)+", not "+schematext.Types(may[0]))
}

// jsonTypes returns the JSON types that a value of a CEL type may have; nil for any.
func jsonTypes(t *cel.Type) []string {
	name := ""
	switch t.Kind() {
	case types.BoolKind:
		name = "boolean"
	case types.StringKind, types.BytesKind, types.TimestampKind, types.DurationKind:
		name = "string"
	case types.DoubleKind, types.IntKind, types.UintKind:
		name = "number"
	case types.ListKind:
		name = "array"
	case types.MapKind, types.StructKind:
		name = "object"
	case types.NullTypeKind:
		return []string{"null"}
	default:
		return nil
	}
	if t.IsAssignableType(cel.NullType) {
		return []string{name, "null"}
	}
	return []string{name}
}

func constant(p part) (v any, ok bool) {
	switch p := p.(type) {
	case literal:
		return p.value, true
	case object:
		m := make(map[string]any, len(p))
		for _, field := range p {
			if m[field.name], ok = constant(field.part); !ok {
				return nil, false
			}
		}
		return m, true
	case list:
		items := make([]any, len(p))
		for i, item := range p {
			if items[i], ok = constant(item); !ok {
				return nil, false
			}
		}
		return items, true
	}
	return nil, false
}
