// The form of a file: what its JSON Schema says about it.

package definitions

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/verifyd/verifyd/internal/schematext"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Text editors use them to complete and check files.
//
//go:embed workflow.schema.json bootstrap.schema.json provider.schema.json cases.schema.json settings.schema.json
var schemas embed.FS

const (
	workflowSchema  = "https://github.com/verifyd/verifyd/internal/definitions/workflow.schema.json"
	bootstrapSchema = "https://github.com/verifyd/verifyd/internal/definitions/bootstrap.schema.json"
	providerSchema  = "https://github.com/verifyd/verifyd/internal/definitions/provider.schema.json"
	casesSchema     = "https://github.com/verifyd/verifyd/internal/definitions/cases.schema.json"
	settingsSchema  = "https://github.com/verifyd/verifyd/internal/definitions/settings.schema.json"
)

// dateLimit is the end of the location of the schema of a limit of a date.
const dateLimit = "#/$defs/dateLimit"

// maxListed is the number of names that a message lists.
const maxListed = 24

// form is immutable.
type form struct {
	root  *jsonschema.Schema
	parts map[string]*jsonschema.Schema // all schemas inside it, by location
}

//nolint:gochecknoglobals // nothing changes them, and compiling a schema takes milliseconds
var (
	workflowForm  = sync.OnceValue(func() *form { return newForm(workflowSchema) })
	bootstrapForm = sync.OnceValue(func() *form { return newForm(bootstrapSchema) })
	casesForm     = sync.OnceValue(func() *form { return newForm(casesSchema) })
	settingsForm  = sync.OnceValue(func() *form { return newForm(settingsSchema) })
)

func newForm(url string) *form {
	c := jsonschema.NewCompiler()
	for _, name := range []string{workflowSchema, bootstrapSchema, providerSchema, casesSchema, settingsSchema} {
		raw, err := schemas.ReadFile(name[strings.LastIndexByte(name, '/')+1:])
		document, err2 := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err := cmp.Or(err, err2, c.AddResource(name, document)); err != nil {
			panic(fmt.Sprintf("definition: schema %s: %v", name, err))
		}
	}
	f := &form{root: c.MustCompile(url), parts: map[string]*jsonschema.Schema{}}
	f.add(f.root)
	return f
}

func (f *form) add(s *jsonschema.Schema) {
	if s == nil || f.parts[s.Location] != nil {
		return
	}
	f.parts[s.Location] = s
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for _, sub := range slices.Concat([]*jsonschema.Schema{s.Ref, s.Then, s.Items2020, additional}, s.AllOf, slices.Collect(maps.Values(s.Properties))) {
		f.add(sub)
	}
}

// check reports the problems of form: wrong types, unknown and missing fields,
// values that are not in a list, and numbers out of range. The rules of
// verification find all others in a definition, and have clearer messages.
func (f *form) check(file string, root *tree, d *diagnostics) {
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](f.root.Validate(root.value())); ok {
		f.collect(file, root, invalid, d)
	}
}

func (f *form) collect(file string, root *tree, e *jsonschema.ValidationError, d *diagnostics) {
	p, value, at := root.locate(e.InstanceLocation)
	schema := f.parts[e.SchemaURL]
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		message := wrongType(k, value)
		if strings.HasSuffix(e.SchemaURL, dateLimit) {
			message = workflow.DateLimitForm
		}
		d.add(file, at, p, message)
		d.discard(p, value)
	case *kind.AdditionalProperties:
		unknown := map[string]bool{}
		for _, name := range k.Properties {
			unknown[name] = true
		}
		for _, field := range value.entries {
			if unknown[field.name] {
				d.add(file, field.at, d.name(p, field.name), unknownField(field.name, schema))
			}
		}
	case *kind.Required:
		for _, name := range k.Missing {
			if !missedByRules(e.SchemaURL, name, schema) {
				continue
			}
			d.add(file, at, append(p, name), "is required")
			d.discard(append(p, name), nil)
		}
	case *kind.Enum:
		d.add(file, at, p, notListed(k, value))
		d.discard(p, value)
	case *kind.Minimum, *kind.Maximum, *kind.ExclusiveMinimum:
		d.add(file, at, p, schematext.Message(k))
	case *kind.PropertyNames, *kind.Not:
	default:
		for _, cause := range e.Causes {
			f.collect(file, root, cause, d)
		}
	}
}

// missedByRules reports whether the rules would not notice that a field is
// missing. They see a missing string, list or object of a workflow, and cannot
// judge a node without its type. A missing number looks to them like 0.
func missedByRules(url, name string, schema *jsonschema.Schema) bool {
	if !strings.HasPrefix(url, workflowSchema) || name == "type" {
		return true
	}
	field := schema.Properties[name]
	return field != nil && field.Types != nil && slices.Contains(field.Types.ToStrings(), "number")
}

func unknownField(name string, schema *jsonschema.Schema) string {
	message, known := "unknown field", slices.Sorted(maps.Keys(schema.Properties))
	hint := instead(name, schema.Title)
	if hint == "" {
		if hint := workflow.DidYouMean(name, known); hint != "" {
			return message + hint
		}
	}
	if strings.HasPrefix(schema.Title, "a ") {
		message = schema.Title + " has no such field"
	}
	if hint != "" {
		return message + ": " + hint
	}
	if len(known) <= maxListed {
		message += " (supported: " + strings.Join(known, ", ") + ")"
	}
	return message
}

// instead returns what to write for a field that belongs to another part of a workflow; empty if that is not known.
func instead(field, title string) string {
	node, isNode := strings.CutPrefix(title, "a node of type ")
	member := title == "a member of a group"
	is := func(fields ...string) bool { return slices.Contains(fields, field) }
	group := is("members", "order", "need", "until", "finish")
	switch {
	case isNode && is("for_each"):
		return "it is for check, checks and customer_input"
	case member && is("for_each"):
		return "write it at the group, which then makes all members for each element"
	case member && (group || is("type")):
		return "each member is a check"
	case member && is("on_failed", "on_not_met", "on_unavailable", "next"):
		return "the group has the routes"
	case node == "check" && is("on_not_met"):
		return "write on_failed"
	case node == "check" && group:
		return "it is for a group of checks, which has type: checks"
	case node == "checks" && is("on_failed"):
		return "write on_not_met"
	case node == "checks" && is("provider", "with", "key", "fallback", "retry", "poll", "timeout_seconds", "rescreen"):
		return "each member has its own"
	}
	return ""
}

func notListed(k *kind.Enum, value *tree) string {
	var known []string
	for _, want := range k.Want {
		known = append(known, fmt.Sprint(want))
	}
	message := "must be one of " + strings.Join(known, ", ")
	if s, ok := value.scalar.(string); ok {
		message += workflow.DidYouMean(s, known)
	}
	return message
}

// wrongType says which type is wanted, and what to do in the usual cases.
func wrongType(k *kind.Type, value *tree) string {
	message := "must be " + schematext.Types(k.Want...)
	if k.Got != "number" || k.Want[0] != "integer" {
		message += ", not " + schematext.Types(k.Got)
	}
	text, isText := value.scalar.(string)
	switch {
	case k.Got == "null":
		message += ": leave it out instead"
	case k.Want[0] == "string" && (k.Got == "number" || k.Got == "boolean"):
		message += ": put it in quotes"
	case isText:
		switch bare, _ := resolve(text); bare.(type) {
		case bool:
			isText = k.Want[0] == "boolean"
		case json.Number:
			isText = k.Want[0] == "number" || k.Want[0] == "integer"
		default:
			isText = false
		}
		if isText {
			message += ": take off the quotes"
		}
	}
	return message
}
