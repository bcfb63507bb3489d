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
}

// Compile compiles the schema of a check. It panics if the schema is not valid.
func Compile(check string, schema verification.Data) Schema {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is loaded
	if err := errors.Join(err, c.AddResource("with.json", document)); err != nil {
		panic(check + ": " + err.Error())
	}
	return Schema{check: check, schema: c.MustCompile("with.json")}
}

// Read decodes a `with` object into a struct. The error names the key that has the wrong
// shape and never repeats its value, which may be personal data.
func (s Schema) Read(with map[string]any, into any) error {
	if with == nil {
		with = map[string]any{}
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](s.schema.Validate(with)); ok {
		return fmt.Errorf("%s: %s", s.check, strings.Join(s.problems(invalid), ", "))
	}
	raw, err := json.Marshal(with)
	if err != nil {
		return fmt.Errorf("%s: with cannot be written as JSON", s.check)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: with cannot be read", s.check)
	}
	return nil
}

// problems returns what is wrong with a value, one sentence for each key.
func (s Schema) problems(e *jsonschema.ValidationError) []string {
	key := path(e.InstanceLocation)
	var found []string
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
