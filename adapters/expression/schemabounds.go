// The bounds of a schema: what is refused so that checking a value takes bounded work.

package expression

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verifyd/verifyd/verification"
)

// The bounds of the text of a schema.
const (
	maxSchemaValues       = 5_000     // values, each of which may be a schema
	maxSchemaPaths        = 1_000_000 // bytes of the paths to all of them
	maxSchemaInstructions = 20_000    // of all its regular expressions
)

// The bounds of checking an object. The work on one value and on each byte of its texts is
// known from the schema. It says how many values and bytes an object may have.
const (
	maxWork   = 250        // schemas, or what takes as long, that apply to one value
	maxScans  = 1_000      // instructions of patterns, and formats, that look at each byte of a text
	maxChecks = 100_000    // applications of a schema to a value in one check
	maxSteps  = 30_000_000 // instructions for all bytes in one check

	cheapParts       = 16 // names to look for, or texts to compare, that count as one schema
	formatScans      = 4  // instructions that take as long as a format
	cheapComparisons = 2  // comparisons of list items that count as one schema
)

const draft = "https://json-schema.org/draft/2020-12/schema"

// schemaText counts what is in the text of a schema, before the library reads it.
type schemaText struct{ values, paths, instructions int }

func (t *schemaText) check(at string, value any) error {
	t.values++
	t.paths += len(at)
	switch {
	case t.values > maxSchemaValues:
		return fmt.Errorf("the schema has more than %d values", maxSchemaValues)
	case t.paths > maxSchemaPaths:
		return fmt.Errorf("the paths to the values of the schema are longer than %d bytes together: use shorter names", maxSchemaPaths)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := pathTo(at, name)
			if err := t.keyword(below, name, v[name]); err != nil {
				return err
			}
			if err := t.check(below, v[name]); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if err := t.check(fmt.Sprintf("%s[%d]", at, i), item); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyword refuses another draft, and regular expressions that are too large to compile.
func (t *schemaText) keyword(at, name string, value any) error {
	text, isText := value.(string)
	switch {
	case name == "$schema" && isText && strings.TrimSuffix(text, "#") != draft:
		return &verification.TextError{Path: at, Message: "must be " + draft + ": no other draft of JSON Schema is supported"}
	case name == "pattern" && isText:
		return t.pattern(at, text)
	case name == "patternProperties":
		patterns, _ := value.(map[string]any)
		for _, text := range slices.Sorted(maps.Keys(patterns)) {
			if err := t.pattern(at, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *schemaText) pattern(at, text string) error {
	if utf8.RuneCountInString(text) > maxPattern {
		return &verification.TextError{Path: at, Message: fmt.Sprintf("a pattern must be at most %d characters", maxPattern)}
	}
	if t.instructions += instructions(text); t.instructions > maxSchemaInstructions {
		return &verification.TextError{Path: at, Message: fmt.Sprintf(
			"the patterns of the schema have more than %d instructions together: use fewer repetitions", maxSchemaInstructions)}
	}
	return nil
}

// instructions returns an upper bound of the instructions of a regular expression:
// matching takes up to that many steps for each byte of a text. The library reports an
// expression that is not valid.
func instructions(text string) int {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0
	}
	return size(tree)
}

func size(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += size(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpConcat:
		return n
	case syntax.OpCapture:
		return n + 2
	case syntax.OpAlternate:
		return n + len(re.Sub)
	case syntax.OpRepeat:
		if re.Max < 0 {
			return n*max(re.Min, 1) + 1
		}
		return n*max(re.Max, 1) + re.Max - re.Min
	default: // an instruction of its own, or one before its operand
		return n + 1
	}
}

// load is the work on one value: on the value itself, on any value one level below, and
// so on.
type load []weight

type weight struct{ work, scans int }

func (l load) plus(m load) load {
	sum := make(load, max(len(l), len(m)))
	copy(sum, l)
	for i, w := range m {
		sum[i].work += w.work
		sum[i].scans += w.scans
	}
	return sum
}

// or returns the greater load at each level, for what never applies to the same value.
func (l load) or(m load) load {
	most := make(load, max(len(l), len(m)))
	copy(most, l)
	for i, w := range m {
		most[i].work = max(most[i].work, w.work)
		most[i].scans = max(most[i].scans, w.scans)
	}
	return most
}

// schemaBounds finds the load of each schema inside a compiled one.
type schemaBounds struct {
	document any
	known    map[*jsonschema.Schema]load // nil while it is being found
	refused  error                       // the first problem
}

// of returns the load of a schema, or sets refused.
func (b *schemaBounds) of(s *jsonschema.Schema) load {
	if s == nil || b.refused != nil {
		return nil
	}
	l, met := b.known[s]
	if l != nil {
		return l
	}
	b.known[s] = nil
	keyword := unsupported(s)
	switch {
	case met:
		b.refuse(s, "refers to itself, which is not supported")
	case keyword != "":
		b.refuse(s, "%s is not supported", keyword)
	default:
		l = b.load(s)
		b.known[s] = l
	}
	if len(l) > verification.MaxDepth {
		b.refuse(s, "describes values more than %d levels deep", verification.MaxDepth)
	}
	for _, w := range l {
		switch {
		case w.work > maxWork:
			b.refuse(s, "more than %d schemas apply to the same value: use fewer alternatives", maxWork)
		case w.scans > maxScans:
			b.refuse(s, "patterns and formats with more than %d instructions apply to the same text: use fewer repetitions", maxScans)
		}
	}
	return l
}

func (b *schemaBounds) load(s *jsonschema.Schema) load {
	l := load{weigh(s)}
	same := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf, byName(s.DependentSchemas))
	for _, sub := range same {
		l = l.plus(b.of(sub))
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	fields := b.of(additional)
	for _, sub := range byName(s.Properties) {
		fields = fields.or(b.of(sub))
	}
	for pattern, sub := range s.PatternProperties {
		fields = fields.plus(b.of(sub)).plus(load{{1, instructions(pattern.String())}})
	}
	fields = fields.plus(b.of(s.PropertyNames))
	items := b.of(s.Items2020)
	for _, sub := range s.PrefixItems {
		items = items.or(b.of(sub))
	}
	items = items.plus(b.of(s.Contains))
	if s.UniqueItems {
		items = items.or(load{{}})
		for i := range items {
			items[i].work += *s.MaxItems / cheapComparisons
		}
	}
	if below := fields.or(items); len(below) > 0 {
		l = l.plus(append(load{{}}, below...))
	}
	return l
}

func byName(all map[string]*jsonschema.Schema) []*jsonschema.Schema {
	schemas := make([]*jsonschema.Schema, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		schemas = append(schemas, all[name])
	}
	return schemas
}

// unsupported returns the first keyword of a schema that is not supported.
func unsupported(s *jsonschema.Schema) string {
	switch {
	case s.DynamicRef != nil:
		return "$dynamicRef"
	case len(s.Dependencies) > 0:
		return "dependencies"
	case s.UnevaluatedProperties != nil:
		return "unevaluatedProperties"
	case s.UnevaluatedItems != nil:
		return "unevaluatedItems"
	case s.UniqueItems && s.MaxItems == nil:
		return "uniqueItems without maxItems"
	case s.Format != nil && s.Format.Name == "regex":
		return "the format regex"
	case s.MultipleOf != nil && max(s.MultipleOf.Num().BitLen(), s.MultipleOf.Denom().BitLen()) > 64:
		return "multipleOf with more than 64 bits"
	}
	return ""
}

// weigh returns the work of applying a schema to a value, without the schemas inside it.
func weigh(s *jsonschema.Schema) weight {
	cheap, numbers := len(s.Required), 0
	for _, names := range s.DependentRequired {
		cheap += 1 + len(names)
	}
	var count func(v any)
	count = func(v any) {
		switch v := v.(type) {
		case float64, json.Number:
			numbers++
		case map[string]any:
			for _, field := range v {
				count(field)
			}
		case []any:
			for _, item := range v {
				count(item)
			}
		}
		cheap++
	}
	if s.Const != nil {
		count(*s.Const)
	}
	if s.Enum != nil {
		count(s.Enum.Values)
	}
	if s.Types != nil && slices.Contains(s.Types.ToStrings(), "integer") {
		numbers++
	}
	for _, limit := range []bool{s.Minimum != nil, s.Maximum != nil, s.ExclusiveMinimum != nil, s.ExclusiveMaximum != nil, s.MultipleOf != nil} {
		if limit {
			numbers++
		}
	}
	w := weight{work: 1 + numbers + cheap/cheapParts}
	if s.MinLength != nil || s.MaxLength != nil {
		w.scans++
	}
	if s.Format != nil {
		w.scans += formatScans
	}
	if s.Pattern != nil {
		w.scans += instructions(s.Pattern.String())
	}
	return w
}

// refuse notes a problem at the place of a schema.
func (b *schemaBounds) refuse(s *jsonschema.Schema, format string, args ...any) {
	if b.refused != nil {
		return
	}
	problem := &verification.TextError{Message: fmt.Sprintf(format, args...)}
	if pointer, ok := strings.CutPrefix(s.Location, schemaURL+"#"); ok {
		problem.Path = dotted(b.document, segmentsOf(pointer))
	}
	b.refused = problem
}

// segmentsOf returns the segments of a JSON Pointer in a URL.
func segmentsOf(pointer string) []string {
	segments := strings.Split(pointer, "/")[1:]
	for i, s := range segments {
		if plain, err := url.PathUnescape(s); err == nil {
			segments[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(plain)
		}
	}
	return segments
}
