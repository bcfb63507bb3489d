// The declared types of values, and how CEL sees them.

package expression

import (
	"encoding/json"
	"maps"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verifyd/verifyd/verification/workflow"
)

// shape is the type of a value and, of an object whose fields are known, the
// shapes of those.
type shape struct {
	cel        *types.Type
	path       string // of an object with known fields
	fields     map[string]*shape
	properties map[string]*jsonschema.Schema       // those of an input that no expression has read yet
	unread     func(name string) *shape            // makes a field that no expression has read yet; nil if there is none
	group      map[string]workflow.StepDeclaration // the members of a group, which unread makes
	step       bool                                // the object is a step, or stands for one
	open       bool                                // the object may have other fields, too
	items      *shape                              // of a list
	limit      uint64                              // maximum characters of a string or items of a list; 0 if unknown
	members    []ref.Val                           // all values that there are besides null; nil if they are not known
	date       bool                                // a text of the form YYYY-MM-DD
}

func scalar(t *types.Type) *shape { return &shape{cel: t} }
func text(limit uint64) *shape    { return &shape{cel: cel.StringType, limit: limit} }
func anything() *shape            { return &shape{cel: cel.DynType} }
func anyObject() *shape           { return &shape{cel: cel.MapType(cel.StringType, cel.DynType)} }
func listOf(items *shape, limit uint64) *shape {
	return &shape{cel: cel.ListType(items.cel), items: items, limit: limit}
}

// nullable reports whether null is a value of the shape and not a missing one.
func (s *shape) nullable() bool {
	return s.cel.Kind() == types.DynKind || s.cel.IsAssignableType(cel.NullType)
}

// shapes is a type provider with the object types of one set of declarations,
// besides those of another provider. It belongs to one goroutine.
type shapes struct {
	types.Provider
	root    *shape // its fields are the names that an expression sees
	objects map[string]*shape
}

// object returns the shape of an object with known fields. No expression can spell
// the name of its type.
func (p *shapes) object(path string, fields map[string]*shape) *shape {
	name := "{" + path + "}"
	for p.objects[name] != nil {
		name = "{" + name + "}"
	}
	s := &shape{cel: cel.ObjectType(name), path: path, fields: fields}
	p.objects[name] = s
	return s
}

// FindStructType returns the type of an object.
func (p *shapes) FindStructType(name string) (*types.Type, bool) {
	if s, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(s.cel), true
	}
	return p.Provider.FindStructType(name)
}

// field returns the shape of a field of an object; nil if there is none.
func (p *shapes) field(object *shape, name string) *shape {
	if known := object.fields[name]; known != nil {
		return known
	}
	if schema := object.properties[name]; schema != nil {
		object.fields[name] = p.ofSchema(pathTo(object.path, name), schema)
		return object.fields[name]
	}
	if object.unread != nil {
		if made := object.unread(name); made != nil {
			object.fields[name] = made
			return made
		}
	}
	if object.open {
		return anything()
	}
	return nil
}

// suggestion returns the end of a message that suggests a field for the last one of a
// path; empty if the object has that field or none with a similar name.
func (p *shapes) suggestion(of path) string {
	s := p.root.fields[of.root]
	for i, k := range of.keys {
		switch {
		case s == nil:
			return ""
		case k.list:
			s = s.items
			continue
		}
		if i == len(of.keys)-1 && p.field(s, k.name) == nil {
			known := slices.Concat(slices.Collect(maps.Keys(s.fields)), slices.Collect(maps.Keys(s.properties)), slices.Collect(maps.Keys(s.group)))
			slices.Sort(known)
			return workflow.DidYouMean(k.name, slices.Compact(known))
		}
		s = p.field(s, k.name)
	}
	return ""
}

// at follows a path of the cost estimator.
func (p *shapes) at(path []string) *shape {
	s := p.root
	for _, step := range path {
		switch {
		case s == nil:
			return nil
		case step == "@items":
			s = s.items
		default:
			s = p.field(s, step)
		}
	}
	return s
}

// FindStructFieldType returns the type of a field, and how it is read.
func (p *shapes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	object, ok := p.objects[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}
	s := p.field(object, field)
	if s == nil {
		return nil, false
	}
	read := func(of any) (any, bool) {
		fields, _ := of.(map[string]any)
		v, ok := fields[field]
		return v, ok && (v != nil || s.nullable())
	}
	path := pathTo(object.path, field)
	return &types.FieldType{
		Type:  s.cel,
		IsSet: func(of any) bool { _, ok := read(of); return ok },
		GetFrom: func(of any) (any, error) {
			if v, ok := read(of); ok {
				return v, nil
			}
			return nil, missing(object.path, path, field)
		},
	}, true
}

// adapter converts the values of a reading to values of CEL.
type adapter struct{ types.Adapter }

func (a adapter) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case float64:
		return types.Double(v)
	case json.Number:
		return numberOf(v)
	case []any:
		return types.NewDynamicList(a, v)
	case string:
		return types.String(v)
	case bool:
		return types.Bool(v)
	case map[string]any:
		return types.NewStringInterfaceMap(a, v)
	}
	return a.Adapter.NativeToValue(v)
}
