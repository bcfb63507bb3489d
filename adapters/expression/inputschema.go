// The declared types of the input, from its JSON Schema.

package expression

import (
	"bytes"
	"maps"
	"slices"

	"cel.dev/cel-go/cel"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verifyd/verifyd/verification"
)

// The bounds of the shapes of a schema, which may refer to itself.
const (
	maxSchemaDepth = 12    // objects and lists inside each other
	maxShapes      = 5_000 // shapes, where 100 bytes of a path count as one more
)

// schemaReader makes the shapes of one schema.
type schemaReader struct {
	shapes *shapes
	left   int // shapes that may still be made
	unread []unreadObject
}

// unreadObject is an object whose fields have no shapes yet.
type unreadObject struct {
	shape      *shape
	properties map[string]*jsonschema.Schema
	depth      int
}

// inputShapes returns the shapes of an input with this schema. It caches those of
// the last schema: all expressions of a definition use the same one.
func (c *Compiler) inputShapes(text verification.Data) *shapes {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.input == nil || !bytes.Equal(c.schema, text) {
		p := newShapes(c.base.CELTypeProvider())
		p.root.fields[nameInput] = c.inputShape(p, text)
		c.schema, c.input = text, p
	}
	return c.input
}

// inputShape returns the shape of the input: any object if the schema is not valid
// or names no properties.
func (c *Compiler) inputShape(p *shapes, text verification.Data) *shape {
	compiled, err := c.Schema(text)
	s, ok := compiled.(schema)
	if err != nil || !ok {
		return anyObject()
	}
	r := &schemaReader{shapes: p, left: maxShapes}
	input := r.shape(nameInput, s.root, 0)
	r.readFields()
	if input.fields == nil {
		return anyObject()
	}
	return input
}

func (r *schemaReader) shape(path string, s *jsonschema.Schema, depth int) *shape {
	r.left -= 1 + len(path)/100
	for i := 0; s.Ref != nil && s.Types == nil && s.Properties == nil; i++ {
		if s = s.Ref; i == maxSchemaDepth {
			return anything()
		}
	}
	if depth > maxSchemaDepth {
		return anything()
	}
	var known *shape
	kind, null := typeOf(s)
	switch {
	case kind == "string":
		known = text(limit(s.MaxLength))
	case kind == "number" || kind == "integer":
		known = scalar(cel.DoubleType)
	case kind == "boolean":
		known = scalar(cel.BoolType)
	case null: // CEL has no type for a list or an object that may be null
	case kind == "array":
		return r.list(path, s, depth)
	case kind == "object":
		return r.object(path, s, depth)
	}
	if known == nil {
		return anything()
	}
	if null {
		known.cel = cel.NullableType(known.cel)
	}
	return known
}

// object returns a shape with known fields if the schema names properties;
// readFields adds them. It is open if the schema allows other fields, or may do so
// in a keyword that is not read here.
func (r *schemaReader) object(path string, s *jsonschema.Schema, depth int) *shape {
	if s.Properties == nil {
		return anyObject()
	}
	o := r.shapes.object(path, map[string]*shape{})
	o.open = open(s)
	r.unread = append(r.unread, unreadObject{o, s.Properties, depth})
	return o
}

// readFields makes the shapes of all fields, those of outer objects first. Fields
// beyond the bound may hold anything.
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

func open(s *jsonschema.Schema) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties != false ||
		s.UnevaluatedProperties != nil && (s.UnevaluatedProperties.Bool == nil || *s.UnevaluatedProperties.Bool) ||
		len(s.PatternProperties)+len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.DependentSchemas) > 0 ||
		s.If != nil || s.Then != nil || s.Else != nil || s.Ref != nil
}

func (r *schemaReader) list(path string, s *jsonschema.Schema, depth int) *shape {
	items := anything()
	if first, rest := itemsOf(s); len(first) == 0 && rest != nil {
		items = r.shape(path+"[]", rest, depth+1)
	}
	return listOf(items, limit(s.MaxItems))
}

// typeOf returns the type of a schema, empty if it is not known, and whether null
// is allowed as well.
func typeOf(s *jsonschema.Schema) (kind string, null bool) {
	if s.Types == nil {
		if s.Properties != nil {
			kind = "object"
		}
		return kind, false
	}
	for _, name := range s.Types.ToStrings() {
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

func limit(keyword *int) uint64 {
	if keyword == nil || *keyword > 1e9 {
		return 0
	}
	return uint64(max(0, *keyword))
}
