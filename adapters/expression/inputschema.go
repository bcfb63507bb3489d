// The shape of the input, read from its JSON Schema.

package expression

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/verifyd/verifyd/verification"
)

// The bounds of what is read from a schema; it may refer to itself.
const (
	maxSchemaDepth = 12    // objects and lists inside each other
	maxShapes      = 5_000 // shapes, where 100 bytes of a path count as one more
)

// schemaReader reads the shapes of one schema document.
type schemaReader struct {
	shapes *shapes
	root   map[string]any
	left   int // shapes that may still be made
	unread []unreadObject
}

// unreadObject is an object whose fields have not been read yet.
type unreadObject struct {
	shape      *shape
	properties map[string]any
	depth      int
}

// inputShapes returns the shapes of the input that a schema describes. It keeps
// those of the last schema: the expressions of one definition all use the same.
func (c *Compiler) inputShapes(schema verification.Data) *shapes {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.input == nil || !bytes.Equal(c.schema, schema) {
		p := newShapes(c.base.CELTypeProvider())
		p.root.fields[nameInput] = p.input(schema)
		c.schema, c.input = schema, p
	}
	return c.input
}

// input returns the shape of what a schema says about the input of a run: any
// object when it names no properties.
func (p *shapes) input(schema verification.Data) *shape {
	if len(schema) == 0 {
		return anyObject()
	}
	r := &schemaReader{shapes: p, root: schema.Map(), left: maxShapes}
	s := r.shape(nameInput, r.root, 0)
	r.readFields()
	if s.fields == nil {
		return anyObject()
	}
	return s
}

func (r *schemaReader) shape(path string, schema any, depth int) *shape {
	r.left -= 1 + len(path)/100
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
	case "array", "object":
		switch {
		case null: // CEL has no type for a list or an object that may be null
			return anything()
		case kind == "array":
			return r.list(path, s, depth)
		}
		return r.object(path, s, depth)
	default:
		return anything()
	}
	if null {
		known.cel = cel.NullableType(known.cel)
	}
	return known
}

// object returns a shape with known fields when the schema names properties;
// readFields adds them. It has others, too, when the schema says so, or may say
// so in a keyword that is not read here.
func (r *schemaReader) object(path string, schema map[string]any, depth int) *shape {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return anyObject()
	}
	s := r.shapes.object(path, map[string]*shape{})
	s.open = open(schema)
	r.unread = append(r.unread, unreadObject{s, properties, depth})
	return s
}

// readFields reads the fields of all objects, those of outer objects first. A
// field beyond the bound may hold anything.
func (r *schemaReader) readFields() {
	for len(r.unread) > 0 {
		o := r.unread[0]
		r.unread = r.unread[1:]
		if r.left <= 0 {
			o.shape.open = true
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(o.properties)) {
			if r.left <= 0 {
				o.shape.open = true
				break
			}
			o.shape.fields[name] = r.shape(pathTo(o.shape.path, name), o.properties[name], o.depth+1)
		}
	}
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

func (r *schemaReader) list(path string, schema map[string]any, depth int) *shape {
	items := anything()
	if schema["items"] != nil && schema["prefixItems"] == nil {
		items = r.shape(path+"[]", schema["items"], depth+1)
	}
	return listOf(items, bound(schema, "maxItems"))
}

// resolve follows references inside the document that stand alone.
func (r *schemaReader) resolve(schema any) (map[string]any, bool) {
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
func (r *schemaReader) pointer(to string) (any, bool) {
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
