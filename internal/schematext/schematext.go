// Package schematext says in plain words what a value has to be to satisfy a JSON Schema.
package schematext

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxText is the maximum length of a value in a message, in bytes.
const maxText = 200

// Message returns what a keyword requires, and nothing for a kind of error that
// only groups others. It never repeats the value, which may be personal data.
func Message(e jsonschema.ErrorKind) string {
	switch k := e.(type) {
	case *kind.Type:
		return "must be " + Types(k.Want...)
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
		return "does not have the items that it must contain"
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

// Types returns the names of types of JSON Schema, with their articles, joined by "or".
func Types(types ...string) string {
	known := map[string]string{
		"integer": "a whole number", "boolean": "true or false", "object": "an object", "array": "a list", "null": "null",
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = cmp.Or(known[t], "a "+t)
	}
	return strings.Join(names, " or ")
}

// oneOf lists values if they are few, short and plain.
func oneOf(values []any) string {
	const otherwise = "one of the allowed values"
	if len(values) == 0 || len(values) > 10 {
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
			if len(v) > maxText {
				return otherwise
			}
			names[i] = strconv.Quote(v)
		default:
			names[i] = asJSON(v) // a bool or a number
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

		formatCountry:     "a country: its name or its code, such as India, IN, IND or 356",
		formatNationality: "a country: its name or its code, such as India, IN, IND or 356",
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
	return cmp.Or(asJSON(f), r.RatString())
}

// asJSON returns the JSON of a value; it is empty for an infinite number.
func asJSON(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}
