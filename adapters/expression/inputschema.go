// The shape of the input, from its JSON Schema.

package expression

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/verifyd/verifyd/verification"
)

// maxSchemaDepth is how deep a schema is followed; it may refer to itself.
const maxSchemaDepth = 12

// schemaReader follows one schema document.
type schemaReader struct {
	shapes *shapes
	root   map[string]any
}

// input shapes what a schema says about the input of a run: any object when it
// names no properties.
func (p *shapes) input(schema verification.Data) *shape {
	if len(schema) == 0 {
		return anyObject()
	}
	root := schema.Map()
	s := schemaReader{p, root}.shape(nameInput, root, 0)
	if s.fields == nil {
		return anyObject()
	}
	return s
}

func (r schemaReader) shape(path string, schema any, depth int) *shape {
	s, ok := r.resolve(schema)
	if !ok || depth > maxSchemaDepth {
		return anything()
	}
	kind, null := typeOf(s)
	var known *shape
	switch kind {
	case "string":
		known = text(bound(s, "maxLength"))
	case "number", "integer":
		known = scalar(cel.DoubleType)
	case "boolean":
		known = scalar(cel.BoolType)
	case "array":
		known = r.list(path, s, depth)
	case "object":
		known = r.object(path, s, depth)
	default:
		return anything()
	}
	if !null {
		return known
	}
	switch kind {
	case "string", "number", "integer", "boolean":
		known.cel = cel.NullableType(known.cel)
		return known
	}
	return anything()
}

// object has known fields when the schema names properties. It has others, too,
// when the schema says so, or may say so where it is not followed.
func (r schemaReader) object(path string, schema map[string]any, depth int) *shape {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return anyObject()
	}
	fields := map[string]*shape{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		fields[name] = r.shape(pathTo(path, name), properties[name], depth+1)
	}
	s := r.shapes.object(path, fields)
	s.open = open(schema)
	return s
}

func open(schema map[string]any) bool {
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		switch more := schema[keyword].(type) {
		case bool:
			if more {
				return true
			}
		case map[string]any:
			return true
		}
	}
	for _, keyword := range []string{
		"patternProperties", "allOf", "anyOf", "oneOf", "if", "then", "else",
		"$ref", "$dynamicRef", "dependentSchemas",
	} {
		if schema[keyword] != nil {
			return true
		}
	}
	return false
}

func (r schemaReader) list(path string, schema map[string]any, depth int) *shape {
	items := anything()
	if schema["items"] != nil && schema["prefixItems"] == nil {
		items = r.shape(path+"[]", schema["items"], depth+1)
	}
	return listOf(items, bound(schema, "maxItems"))
}

// resolve follows references inside the document that stand alone.
func (r schemaReader) resolve(schema any) (map[string]any, bool) {
	for range maxSchemaDepth {
		s, ok := schema.(map[string]any)
		if !ok {
			return nil, false
		}
		to, ok := s["$ref"].(string)
		if !ok || s["type"] != nil || s["properties"] != nil {
			return s, true
		}
		if schema, ok = r.pointer(to); !ok {
			return nil, false
		}
	}
	return nil, false
}

// pointer follows a JSON Pointer such as "#/$defs/address".
func (r schemaReader) pointer(to string) (any, bool) {
	path, ok := strings.CutPrefix(to, "#/")
	if !ok {
		return nil, false
	}
	var at any = r.root
	for step := range strings.SplitSeq(path, "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch parent := at.(type) {
		case map[string]any:
			at = parent[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(parent) {
				return nil, false
			}
			at = parent[i]
		default:
			return nil, false
		}
	}
	return at, at != nil
}

// typeOf reads the type of a schema, and whether null will do as well; an empty
// type is one that is not known.
func typeOf(schema map[string]any) (kind string, null bool) {
	switch t := schema["type"].(type) {
	case string:
		return t, false
	case []any:
		for _, one := range t {
			name, _ := one.(string)
			switch {
			case name == "null":
				null = true
			case kind == "":
				kind = name
			default:
				return "", false
			}
		}
		return kind, null
	}
	if schema["properties"] != nil {
		return "object", false
	}
	return "", false
}

func bound(schema map[string]any, keyword string) uint64 {
	if n, ok := schema[keyword].(float64); ok && n >= 1 && n <= 1e9 {
		return uint64(n)
	}
	return 0
}
