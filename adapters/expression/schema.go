// JSON Schemas: compiling one, and checking an object with it.

package expression

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verifyd/verifyd/verification"
)

// schemaURL is the URL of the schema in references.
const schemaURL = "schema:///schema.json"

// Schema compiles a JSON Schema, of draft 2020-12 unless it names another one.
// Formats are asserted. References to files and hosts, unsupported keywords and
// schemas beyond the bounds are errors.
func (*Compiler) Schema(text verification.Data) (s verification.Schema, err error) {
	defer recovered(&err)
	// Map bounds a json.Number, which the library expands to all its digits.
	document := text.Map()
	if err := new(schemaSize).check(document, 0); err != nil {
		return nil, err
	}
	patterns := schemaPatterns{known: map[string]schemaPattern{}}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	c.UseRegexpEngine(patterns.compile)
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %s", oneLine(err.Error()))
	}
	compiled, err := c.Compile(schemaURL)
	if patterns.refused != nil {
		return nil, patterns.refused
	}
	if err != nil {
		return nil, schemaError(err, text)
	}
	return inspected(compiled)
}

func schemaError(err error, text verification.Data) error {
	var refused *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if errors.As(err, &refused) && errors.As(refused.Err, &invalid) {
		if problems := fieldsOf(invalid, text.Map()); len(problems) > 0 {
			return fmt.Errorf("the schema is not a valid JSON Schema: %s %s", cmp.Or(problems[0].Name, "it"), problems[0].Message)
		}
	}
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return fmt.Errorf("the schema refers to %s, and references to files and hosts are not followed", load.URL)
	}
	if pointer, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return fmt.Errorf("the schema refers to %s, which is not there", strings.TrimPrefix(pointer.URL, schemaURL))
	}
	if anchor, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return fmt.Errorf("the schema refers to %s, which is not there", strings.TrimPrefix(anchor.Reference, schemaURL))
	}
	return fmt.Errorf("the schema cannot be used: %s", oneLine(strings.ReplaceAll(err.Error(), schemaURL, "")))
}

// Check returns the problems of an object, sorted by path, up to maxProblems. It
// returns one problem for an object that would take too many steps.
func (s schema) Check(d verification.Data) (problems []verification.FieldError) {
	defer func() {
		if r := recover(); r != nil {
			problems = []verification.FieldError{{Message: "cannot be checked: " + oneLine(fmt.Sprint(r))}}
		}
	}()
	value := d.Map()
	if !s.affordable(value, len(d)) {
		return []verification.FieldError{{Message: "takes too long to check against the schema: give fewer values, or nest them less"}}
	}
	err := s.root.Validate(value)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []verification.FieldError{{Message: "cannot be checked: " + oneLine(err.Error())}}
	}
	return fieldsOf(invalid, value)
}
