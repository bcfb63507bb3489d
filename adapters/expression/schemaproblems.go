// The problems of a value, in plain words.

package expression

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/verifyd/verifyd/internal/schematext"
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
		if message := schematext.Message(e.ErrorKind); message != "" {
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
