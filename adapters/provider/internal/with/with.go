// Package with validates the `with` object of a check against a JSON Schema and decodes
// it, for the providers that are part of verifyd.
package with

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/verifyd/verifyd/internal/schematext"
	"github.com/verifyd/verifyd/verification"
)

// Schema reads the `with` objects of one check.
type Schema struct {
	check  string
	schema *jsonschema.Schema
	judged []string // the keys whose texts the check judges itself
}

// Compile compiles the schema of a check. It panics if the schema is not valid. The check
// judges the texts of some keys itself, because a customer may have written them: for these
// the schema says which constants can be published, and Read accepts any text.
func Compile(check string, schema verification.Data, judged ...string) Schema {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is loaded
	if err := errors.Join(err, c.AddResource("with.json", document)); err != nil {
		panic(check + ": " + err.Error())
	}
	return Schema{check: check, schema: c.MustCompile("with.json"), judged: judged}
}

// Read decodes a `with` object into a struct. A null where the schema wants a text is an
// empty text: a template gives it for a value that is missing. The error names the key that
// has the wrong shape and never repeats its value, which may be personal data.
func (s Schema) Read(with map[string]any, into any) error {
	values := withoutNull(with, s.schema)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](s.schema.Validate(values)); ok {
		if problems := s.problems(invalid); len(problems) > 0 {
			return fmt.Errorf("%s: %s", s.check, strings.Join(problems, ", "))
		}
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("%s: with cannot be written as JSON", s.check)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: with cannot be read", s.check)
	}
	return nil
}

// withoutNull returns a value with an empty text in place of each null for which its schema
// wants a text.
func withoutNull(value any, schema *jsonschema.Schema) any {
	if schema == nil {
		return value
	}
	switch v := value.(type) {
	case nil:
		if schema.Types != nil && slices.Equal(schema.Types.ToStrings(), []string{"string"}) {
			return ""
		}
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = withoutNull(item, schema.Items2020)
		}
		return items
	case map[string]any:
		fields := make(map[string]any, len(v))
		for key, field := range v {
			fields[key] = withoutNull(field, schema.Properties[key])
		}
		return fields
	}
	return value
}

// judges reports whether a problem is one of a text that the check judges itself.
func (s Schema) judges(e *jsonschema.ValidationError) bool {
	switch e.ErrorKind.(type) {
	case *kind.Enum, *kind.MinLength, *kind.Pattern:
		return len(e.InstanceLocation) > 0 && slices.Contains(s.judged, e.InstanceLocation[0])
	}
	return false
}

// problems returns what is wrong with a value, one sentence for each key, except texts that
// the check judges itself.
func (s Schema) problems(e *jsonschema.ValidationError) []string {
	key := path(e.InstanceLocation)
	var found []string
	if s.judges(e) {
		return nil
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			found = append(found, key+"."+name+" is required")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			found = append(found, fmt.Sprintf("%s.%s is not a key of this check", key, name))
		}
	case *kind.Enum:
		allowed := make([]string, len(k.Want))
		for i, v := range k.Want {
			allowed[i] = fmt.Sprint(v)
		}
		found = append(found, key+" must be one of "+strings.Join(allowed, ", "))
	case *kind.MinLength:
		found = append(found, key+" must not be empty")
	default:
		if message := schematext.Message(k); message != "" {
			return []string{key + " " + message}
		}
		for _, cause := range e.Causes {
			found = append(found, s.problems(cause)...)
		}
		if len(e.Causes) == 0 {
			found = append(found, key+" is not valid")
		}
	}
	slices.Sort(found)
	return found
}

// path returns a location inside a `with` object, such as with.countries[0]. No key of a
// `with` is a number.
func path(location []string) string {
	at := "with"
	for _, step := range location {
		if _, err := strconv.Atoi(step); err == nil {
			at += "[" + step + "]"
		} else {
			at += "." + step
		}
	}
	return at
}
