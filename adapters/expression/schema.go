// JSON Schemas: compiling one, and checking an object with it.

package expression

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// schemaURL is the URL of the schema in references.
const schemaURL = "schema:///schema.json"

// schema is a compiled JSON Schema.
type schema struct {
	root          *jsonschema.Schema
	values, bytes int // that an object may have
}

// Schema compiles a JSON Schema of draft 2020-12. Formats are asserted, those of
// schematext.Formats too. References to files and hosts, unsupported keywords and schemas
// beyond the bounds are errors. Workflows share the schemas of their providers, so a schema is
// compiled once.
func (c *compiler) Schema(text verification.Data) (workflow.Schema, error) {
	if found, ok := c.schemas.Get(string(text)); ok && found.root != nil {
		return found.schema, nil
	}
	s, err := c.compileSchema(text)
	if err != nil {
		return nil, err
	}
	c.schemas.Put(string(text), known{s, len(text)})
	return s, nil
}

func (c *compiler) compileSchema(text verification.Data) (s schema, err error) {
	defer recovered(&err)
	// Map bounds a json.Number, which the library expands to all its digits.
	document := text.Map()
	if err := new(schemaText).check("", document); err != nil {
		return s, err
	}
	lib := jsonschema.NewCompiler()
	lib.DefaultDraft(jsonschema.Draft2020)
	lib.AssertFormat()
	for _, f := range c.formats {
		lib.RegisterFormat(f)
	}
	lib.UseLoader(jsonschema.SchemeURLLoader{})
	if err := lib.AddResource(schemaURL, document); err != nil {
		return s, fmt.Errorf("the schema cannot be read: %s", oneLine(err.Error()))
	}
	root, err := lib.Compile(schemaURL)
	if err != nil {
		return s, schemaError(err, text)
	}
	b := schemaBounds{document: document, known: map[*jsonschema.Schema]load{}}
	most := weight{1, 1}
	for _, w := range b.of(root) {
		most = weight{max(most.work, w.work), max(most.scans, w.scans)}
	}
	if b.refused != nil {
		return s, b.refused
	}
	for s := range b.known {
		guardUnique(s)
	}
	return schema{root, maxChecks / most.work, maxSteps / most.scans}, nil
}

// guardUnique makes the library look for equal items only in a list of up to maxItems:
// it may compare each item with each other one.
func guardUnique(s *jsonschema.Schema) {
	if !s.UniqueItems {
		return
	}
	part := jsonschema.Schema{DraftVersion: s.DraftVersion, Location: s.Location}
	guard, short, unique := part, part, part
	short.MaxItems, unique.UniqueItems = s.MaxItems, true
	guard.If, guard.Then = &short, &unique
	s.UniqueItems = false
	s.AllOf = append(s.AllOf, &guard)
}

func schemaError(err error, text verification.Data) error {
	var refused *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if errors.As(err, &refused) && errors.As(refused.Err, &invalid) {
		if problems := fieldsOf(invalid, text.Map()); len(problems) > 0 {
			return &verification.TextError{Path: problems[0].Name, Message: problems[0].Message}
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
// returns one problem for an object with too many values.
func (s schema) Check(d verification.Data) (problems []verification.FieldError) {
	defer func() {
		if r := recover(); r != nil {
			problems = []verification.FieldError{{Message: "cannot be checked: " + oneLine(fmt.Sprint(r))}}
		}
	}()
	value := d.Map()
	if len(d) > s.bytes {
		return []verification.FieldError{{Message: fmt.Sprintf("must be at most %d bytes for the patterns of its schema", s.bytes)}}
	}
	if countValues(value) > s.values {
		return []verification.FieldError{{Message: fmt.Sprintf("must have at most %d values for its schema, those inside others included", s.values)}}
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

// countValues counts a value and all values inside it.
func countValues(value any) int {
	n := 1
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			n += countValues(field)
		}
	case []any:
		for _, item := range v {
			n += countValues(item)
		}
	}
	return n
}
