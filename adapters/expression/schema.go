// JSON Schemas: compiling one, and checking an object against it.

package expression

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/verifyd/verifyd/verification"
)

// schemaURL is what the schema itself is called among references.
const schemaURL = "schema:///schema.json"

// Schema compiles a JSON Schema, of draft 2020-12 unless it says otherwise.
// Formats are asserted. References to files and hosts are errors.
func (l *Language) Schema(text verification.Data) (s verification.Schema, err error) {
	defer recovered(&err)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	// Numbers as float64 and no json.Number: the library would write 1e999999999
	// out in full.
	if err := c.AddResource(schemaURL, text.Map()); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %s", oneLine(err.Error()))
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, schemaFault(err, text)
	}
	return schema{compiled}, nil
}

func schemaFault(err error, text verification.Data) error {
	var refused *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if errors.As(err, &refused) && errors.As(refused.Err, &invalid) {
		if faults := fieldsOf(invalid, text.Map()); len(faults) > 0 {
			return fmt.Errorf("the schema is not a valid JSON Schema: %s %s", cmp.Or(faults[0].Name, "it"), faults[0].Message)
		}
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return fmt.Errorf("the schema refers to %s, and references to files and hosts are not followed", load.URL)
	}
	var pointer *jsonschema.JSONPointerNotFoundError
	if errors.As(err, &pointer) {
		return fmt.Errorf("the schema refers to %s, which is not there", strings.TrimPrefix(pointer.URL, schemaURL))
	}
	var anchor *jsonschema.AnchorNotFoundError
	if errors.As(err, &anchor) {
		return fmt.Errorf("the schema refers to %s, which is not there", strings.TrimPrefix(anchor.Reference, schemaURL))
	}
	return fmt.Errorf("the schema cannot be used: %s", oneLine(strings.ReplaceAll(err.Error(), schemaURL, "")))
}

type schema struct{ compiled *jsonschema.Schema }

// Check tells what is wrong with an object, in the order of the paths.
func (s schema) Check(d verification.Data) (faults []verification.Field) {
	defer func() {
		if r := recover(); r != nil {
			faults = []verification.Field{{Message: "cannot be checked: " + oneLine(fmt.Sprint(r))}}
		}
	}()
	value := d.Map()
	err := s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []verification.Field{{Message: "cannot be checked: " + oneLine(err.Error())}}
	}
	return fieldsOf(invalid, value)
}

// fieldsOf lists the faults of a value, sorted and each once.
func fieldsOf(invalid *jsonschema.ValidationError, value any) []verification.Field {
	var faults []verification.Field
	collect(invalid, value, &faults)
	slices.SortFunc(faults, func(a, b verification.Field) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(faults)
}

func collect(e *jsonschema.ValidationError, value any, faults *[]verification.Field) {
	add := func(message string, below ...string) {
		*faults = append(*faults, verification.Field{
			Name: dotted(value, slices.Concat(e.InstanceLocation, below)), Message: message,
		})
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			add("is required", name)
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			add("is required when "+k.Prop+" is given", name)
		}
	case *kind.Dependency:
		for _, name := range k.Missing {
			add("is required when "+k.Prop+" is given", name)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add("is not allowed", name)
		}
	case *kind.PropertyNames:
		// The library overwrites the location of this one with a sibling's.
		*faults = append(*faults, verification.Field{Message: "must not have a field of the name " + strconv.Quote(k.Property)})
	default:
		if message := schemaMessage(e.ErrorKind); message != "" {
			add(message)
			return
		}
		for _, cause := range e.Causes {
			collect(cause, value, faults)
		}
		if len(e.Causes) == 0 {
			add("is not valid")
		}
	}
}

// dotted writes a location as a path: address.city, items[0].x.
func dotted(value any, location []string) string {
	name := ""
	for _, step := range location {
		switch at := value.(type) {
		case []any:
			name += "[" + step + "]"
			value = nil
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(at) {
				value = at[i]
			}
		case map[string]any:
			name, value = pathTo(name, step), at[step]
		default:
			name, value = pathTo(name, step), nil
		}
	}
	return name
}
