// The shape of a with: its JSON Schema, and what is wrong with a value.

package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/verifyd/verifyd/verification"
)

// shape reads the with of one check.
type shape struct {
	check  string
	schema *jsonschema.Schema
}

// newShape compiles a schema of this package. It panics if the schema is not valid.
func newShape(check string, schema verification.Data) shape {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is loaded
	if err := errors.Join(err, c.AddResource("with.json", document)); err != nil {
		panic("offline: " + check + ": " + err.Error())
	}
	return shape{check: check, schema: c.MustCompile("with.json")}
}

// read decodes a with into a struct. The error names the key that has the wrong
// shape and never repeats its value, which may be personal data.
func (s shape) read(with map[string]any, into any) error {
	if with == nil {
		with = map[string]any{}
	}
	var invalid *jsonschema.ValidationError
	if errors.As(s.schema.Validate(with), &invalid) {
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
func (s shape) problems(e *jsonschema.ValidationError) []string {
	key := strings.Join(append([]string{"with"}, e.InstanceLocation...), ".")
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
	case *kind.Type:
		found = append(found, fmt.Sprintf("%s must be of the type %s, not %s", key, strings.Join(k.Want, " or "), k.Got))
	case *kind.Enum:
		found = append(found, fmt.Sprintf("%s must be one of %v", key, k.Want))
	case *kind.Minimum:
		found = append(found, fmt.Sprintf("%s must be at least %s", key, k.Want.RatString()))
	case *kind.MinItems:
		found = append(found, fmt.Sprintf("%s must have at least %d items", key, k.Want))
	default:
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
