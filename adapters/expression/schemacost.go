// The work of checking a value against a schema, counted before it is done.

package expression

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The library that checks values takes no context and has no limits. So a dry
// run counts its steps first: a step takes about 20 ns and keeps about 5 bytes
// until the check is over.
const (
	maxSteps     = 10_000_000 // of one check
	minSteps     = 2_000_000  // of the check of a small value
	stepsPerByte = 64         // more, for each byte of a value

	stepsToApply        = 60  // applying a schema to a value
	stepsPerLevel       = 3   // more, for each level that the value is below the root
	stepsPerKey         = 4   // looking at a field of an object
	stepsPerName        = 6   // looking for a required field, or naming one that must not be
	stepsPerUnevaluated = 20  // noting a field or an item as not evaluated
	stepsPerNumber      = 120 // comparing or converting a number
	stepsToHash         = 10  // noting an item of a list without repetition
)

// meter counts the steps of one check.
type meter struct {
	schema schema
	left   int // steps that the check may still take; negative for too many
}

// affordable reports whether a value of n bytes can be checked within its steps.
func (s schema) affordable(value any, n int) bool {
	m := meter{schema: s, left: min(maxSteps, minSteps+stepsPerByte*n)}
	m.apply(s.root, value, 0)
	return m.left >= 0
}

// apply counts what the library does to apply a schema to a value that is depth
// levels below the root, and stops where too many steps are counted. It counts
// all alternatives, where the library may stop at the first that fits.
func (m *meter) apply(s *jsonschema.Schema, value any, depth int) {
	p := m.schema.parts[s]
	m.left -= stepsToApply + stepsPerLevel*depth
	if m.left < 0 || !p.accepts(value) {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		m.left -= p.container + p.names*stepsPerName
		m.object(s, v, depth)
	case []any:
		m.left -= p.container
		m.list(s, v, depth)
	case string:
		m.left -= p.text + len(v)*p.textBytes/textScale
	case float64, json.Number:
		m.left -= p.number
	}
	m.all(p.same, value, depth)
}

// all counts applying each of the schemas to the same value.
func (m *meter) all(schemas []*jsonschema.Schema, value any, depth int) {
	for _, s := range schemas {
		if m.left < 0 {
			return
		}
		m.apply(s, value, depth)
	}
}

func (m *meter) object(s *jsonschema.Schema, object map[string]any, depth int) {
	m.left -= len(object) * m.each(stepsPerKey)
	if s.AdditionalProperties == false {
		m.left -= len(object) * stepsPerName
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for name, value := range object {
		if m.left < 0 {
			return
		}
		to := make([]*jsonschema.Schema, 0, 4)
		if sub := s.Properties[name]; sub != nil {
			to = append(to, sub)
		}
		for re, sub := range s.PatternProperties {
			if m.left -= stepsPerKey + len(name)*sizeOfPattern(re)/textScale; m.left >= 0 && re.MatchString(name) {
				to = append(to, sub)
			}
		}
		if additional != nil && len(to) == 0 {
			to = append(to, additional)
		}
		if s.UnevaluatedProperties != nil {
			to = append(to, s.UnevaluatedProperties)
		}
		m.all(to, value, depth+1)
		if s.PropertyNames != nil && m.left >= 0 {
			m.left -= stepsToApply
			m.apply(s.PropertyNames, name, 0)
		}
	}
}

func (m *meter) list(s *jsonschema.Schema, list []any, depth int) {
	m.left -= len(list) * m.each(0)
	if s.UniqueItems {
		m.unique(list)
	}
	first, rest := itemsOf(s)
	for i, value := range list {
		if m.left < 0 {
			return
		}
		switch {
		case i < len(first):
			m.apply(first[i], value, depth+1)
		case rest != nil:
			m.apply(rest, value, depth+1)
		}
		for _, sub := range []*jsonschema.Schema{s.Contains, s.UnevaluatedItems} {
			if sub != nil && m.left >= 0 {
				m.apply(sub, value, depth+1)
			}
		}
	}
}

// each returns the steps for a field or an item, given those that it takes when
// none are noted as not evaluated.
func (m *meter) each(steps int) int {
	if m.schema.unevaluated {
		return steps + stepsPerUnevaluated
	}
	return steps
}

// unique counts finding equal items. The library compares every two items of a
// short list, and those with equal hashes of a longer one; different lists and
// objects can have equal hashes.
func (m *meter) unique(list []any) {
	compared, sum := min(len(list), 20), 0
	for _, item := range list {
		switch item.(type) {
		case map[string]any, []any:
			compared = len(list)
		}
		sum += compareSteps(item)
	}
	m.left -= (1+compared/2)*sum + len(list)*stepsToHash
}

// compareSteps returns the steps of comparing a value with another.
func compareSteps(value any) int {
	steps := 1
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			steps += stepsPerKey + len(name)/textScale + compareSteps(field)
		}
	case []any:
		for _, item := range v {
			steps += compareSteps(item)
		}
	case string:
		steps += len(v) / 64
	case float64, json.Number:
		steps += stepsPerNumber
	}
	return steps
}
