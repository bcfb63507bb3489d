// What a JSON Schema's keywords ask for, in plain words.

package expression

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schemaMessage is empty for what only holds other faults.
func schemaMessage(e jsonschema.ErrorKind) string {
	switch k := e.(type) {
	case *kind.Type:
		words := make([]string, len(k.Want))
		for i, t := range k.Want {
			words[i] = jsonType(t)
		}
		return "must be " + strings.Join(words, " or ")
	case *kind.Enum:
		return "must be " + oneOf(k.Want)
	case *kind.Const:
		return "must be " + oneOf([]any{k.Want})
	case *kind.Format:
		return "must be " + formatWords(k.Want)
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

// oneOf lists values when they are few, short and plain.
func oneOf(values []any) string {
	if len(values) > 10 {
		return "one of the allowed values"
	}
	words := make([]string, len(values))
	for i, v := range values {
		switch v.(type) {
		case []any, map[string]any:
			return "one of the allowed values"
		case nil:
			words[i] = "null"
		default:
			if s, ok := v.(string); ok {
				if len(s) > maxStep {
					return "one of the allowed values"
				}
				words[i] = strconv.Quote(s)
			} else if s, err := asText(v); err == nil {
				words[i] = s
			}
		}
	}
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func formatWords(format string) string {
	switch format {
	case "date":
		return "a date, as YYYY-MM-DD"
	case "date-time":
		return "a date and time, as YYYY-MM-DDThh:mm:ssZ"
	case "time":
		return "a time, as hh:mm:ssZ"
	case "email":
		return "an email address"
	case "uuid":
		return "a UUID"
	case "uri":
		return "a URI"
	case "ipv4":
		return "an IPv4 address"
	case "ipv6":
		return "an IPv6 address"
	case "hostname":
		return "a host name"
	case "regex":
		return "a regular expression"
	}
	return "of the format " + format
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	s, err := asText(f)
	if err != nil {
		return r.RatString()
	}
	return s
}
