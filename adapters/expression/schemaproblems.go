// The problems of a value, in plain words.

package expression

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/verifyd/verifyd/verification"
)

// The bounds of a list of problems: a value may be hostile.
const (
	maxProblems = 1_000
	maxSegment  = 200 // bytes of one segment of a path, and of a name in a message
)

// fieldsOf returns the problems of a value, sorted and without duplicates: all of
// them, or any maxProblems if there are more.
func fieldsOf(invalid *jsonschema.ValidationError, value any) []verification.FieldError {
	p := problems{value: value}
	p.collect(invalid)
	slices.SortFunc(p.fields, func(a, b verification.FieldError) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(p.fields)
}

type problems struct {
	value  any
	fields []verification.FieldError
}

func (p *problems) full() bool { return len(p.fields) >= maxProblems }

// add adds a problem of the value at a location, or of the field below it.
func (p *problems) add(message string, location []string, below ...string) {
	if !p.full() {
		p.fields = append(p.fields, verification.FieldError{
			Name: dotted(p.value, slices.Concat(location, below)), Message: message,
		})
	}
}

func (p *problems) missing(e *jsonschema.ValidationError, names []string, message string) {
	for _, name := range names[:min(len(names), maxProblems)] {
		p.add(message, e.InstanceLocation, name)
	}
}

func (p *problems) collect(e *jsonschema.ValidationError) {
	if p.full() {
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		p.missing(e, k.Missing, "is required")
	case *kind.DependentRequired:
		p.missing(e, k.Missing, "is required when "+clipped(k.Prop)+" is given")
	case *kind.Dependency:
		p.missing(e, k.Missing, "is required when "+clipped(k.Prop)+" is given")
	case *kind.AdditionalProperties:
		p.missing(e, k.Properties, "is not allowed")
	case *kind.PropertyNames:
		// The library gives a wrong location here, so the problem has none.
		p.add("must not have a field of the name "+strconv.Quote(clipped(k.Property)), nil)
	default:
		if message := schemaMessage(e.ErrorKind); message != "" {
			p.add(message, e.InstanceLocation)
			return
		}
		for _, cause := range e.Causes {
			p.collect(cause)
		}
		if len(e.Causes) == 0 {
			p.add("is not valid", e.InstanceLocation)
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
			name, value = pathTo(name, clipped(step)), at[step]
		default:
			name, value = pathTo(name, clipped(step)), nil
		}
	}
	return name
}

// clipped shortens a name that is longer than maxSegment.
func clipped(name string) string {
	if len(name) <= maxSegment {
		return name
	}
	return strings.ToValidUTF8(name[:maxSegment], "") + "..."
}

// schemaMessage returns what a keyword requires, and nothing for a kind of error that
// only groups others. It never repeats the value, which may be personal data.
func schemaMessage(e jsonschema.ErrorKind) string {
	switch k := e.(type) {
	case *kind.Type:
		names := make([]string, len(k.Want))
		for i, t := range k.Want {
			names[i] = jsonType(t)
		}
		return "must be " + strings.Join(names, " or ")
	case *kind.Enum:
		return "must be " + oneOf(k.Want)
	case *kind.Const:
		return "must be " + oneOf([]any{k.Want})
	case *kind.Format:
		return "must be " + formatName(k.Want)
	case *kind.Pattern:
		return "does not have the expected form"
	case *kind.MinLength:
		return "must be at least " + count(k.Want, "character")
	case *kind.MaxLength:
		return "must be at most " + count(k.Want, "character")
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	case *kind.MinItems:
		return "must have at least " + count(k.Want, "item")
	case *kind.MaxItems:
		return "must have at most " + count(k.Want, "item")
	case *kind.AdditionalItems:
		return "must not have more items"
	case *kind.UniqueItems:
		return "must not have the same item twice"
	case *kind.Contains, *kind.MinContains:
		return "does not have the items that are asked for"
	case *kind.MaxContains:
		return "has too many items of one kind"
	case *kind.MinProperties:
		return "must have at least " + count(k.Want, "field")
	case *kind.MaxProperties:
		return "must have at most " + count(k.Want, "field")
	case *kind.AnyOf:
		return "does not have any of the allowed forms"
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return "has more than one of the allowed forms"
		}
		return "does not have any of the allowed forms"
	case *kind.Not:
		return "has a form that is not allowed"
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.RefCycle:
		return "cannot be checked: the schema refers to itself"
	case *kind.ContentEncoding, *kind.ContentMediaType, *kind.ContentSchema:
		return "does not have the expected content"
	}
	return ""
}

func jsonType(t string) string {
	switch t {
	case "integer":
		return "a whole number"
	case "boolean":
		return "true or false"
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "null":
		return t
	}
	return "a " + t
}

// oneOf lists values if they are few, short and plain.
func oneOf(values []any) string {
	const otherwise = "one of the allowed values"
	if len(values) > 10 {
		return otherwise
	}
	names := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case []any, map[string]any:
			return otherwise
		case nil:
			names[i] = "null"
		case string:
			if len(v) > maxSegment {
				return otherwise
			}
			names[i] = strconv.Quote(v)
		default:
			names[i], _ = asText(v) // a bool or a number
		}
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func formatName(format string) string {
	known := map[string]string{
		"date":      "a date, as YYYY-MM-DD",
		"date-time": "a date and time, as YYYY-MM-DDThh:mm:ssZ",
		"time":      "a time, as hh:mm:ssZ",
		"email":     "an email address",
		"uuid":      "a UUID",
		"uri":       "a URI",
		"ipv4":      "an IPv4 address",
		"ipv6":      "an IPv6 address",
		"hostname":  "a host name",
		"regex":     "a regular expression", // the meta-schema asserts it for pattern
	}
	return cmp.Or(known[format], "of the format "+format)
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	s, err := asText(f)
	if err != nil {
		return r.RatString()
	}
	return s
}
