// Objects with ${...} in their strings.

package expression

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/ast"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

type template struct {
	root  part
	found []workflow.Finding
}

// Findings returns the comparisons in the template that cannot be meant.
func (t template) Findings([]workflow.Condition) []workflow.Finding { return t.found }

// StepsRead returns the steps that the expressions in a field of the object read.
func (t template) StepsRead(name string) (steps []verification.NodeID) {
	o, _ := t.root.(object)
	for _, f := range o {
		if f.name != name {
			continue
		}
		each(f.part, func(f filled) {
			for _, r := range f.reads {
				if r.path.root == nameSteps {
					steps = append(steps, verification.NodeID(r.path.keys[0].name))
				}
			}
		})
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// Length returns the number of items of a field that is a list, written out in an expression.
func (t template) Length(name string) int {
	o, _ := t.root.(object)
	for _, f := range o {
		if e, ok := f.part.(filled); ok && f.name == name && e.tree.Expr().Kind() == ast.ListKind {
			return e.tree.Expr().AsList().Size()
		}
	}
	return -1
}

// each visits the expressions of a part.
func each(p part, visit func(filled)) {
	switch p := p.(type) {
	case object:
		for _, f := range p {
			each(f.part, visit)
		}
	case list:
		for _, item := range p {
			each(item, visit)
		}
	case mixed:
		for _, piece := range p.pieces {
			each(piece, visit)
		}
	case filled:
		visit(p)
	}
}

// ReadPaths returns the paths that the expressions in the object read.
func (t template) ReadPaths() (paths []string) {
	each(t.root, func(f filled) { paths = append(append(paths, f.readTexts()...), f.inLoops...) })
	return paths
}

type rendering struct {
	*reading
	converter
	partial *partial // nil to fail with the first value that cannot be computed
}

// partial is what is left out of an object.
type partial struct {
	at      string // the path of what is rendered
	lacking []string
	cause   error // of the first one
}

// RenderKnown renders the object without the fields whose values cannot be computed.
func (t template) RenderKnown(s workflow.Scope) (object map[string]any, lacking []string, err error) {
	p := partial{}
	v, err := t.render(&rendering{newReading(&s), converter{left: maxValue}, &p})
	if err != nil {
		return nil, []string{"data"}, err
	}
	object, _ = v.(map[string]any)
	return object, p.lacking, p.cause
}

func (t template) render(r *rendering) (v any, err error) {
	defer recovered(&err)
	return t.root.render(r)
}

// Render fills in the values of one run. It fails if the result is larger than
// maxValue.
func (t template) Render(s workflow.Scope) (object map[string]any, err error) {
	v, err := t.render(&rendering{newReading(&s), converter{left: maxValue}, nil})
	if err != nil {
		return nil, err
	}
	object, _ = v.(map[string]any)
	return object, nil
}

type part interface {
	render(r *rendering) (any, error)
}

type (
	literal struct{ value any }
	object  []field
	field   struct {
		name string
		part part
	}
	list []part
	// whole string that is one expression
	filled struct {
		path string
		at   int // the character of the string at which the expression begins
		*expression
	}
	// string with expressions in it
	mixed struct {
		path   string
		pieces []part
	}
)

// template compiles the value at a path of the object.
func (n *node) template(at string, v any) (part, error) {
	switch v := v.(type) {
	case string:
		return n.text(at, v)
	case map[string]any:
		fields := make(object, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			p, err := n.template(pathTo(at, name), v[name])
			if err != nil {
				return nil, err
			}
			fields = append(fields, field{name, p})
		}
		return fields, nil
	case []any:
		items := make(list, 0, len(v))
		for i, item := range v {
			p, err := n.template(at+"["+strconv.Itoa(i)+"]", item)
			if err != nil {
				return nil, err
			}
			items = append(items, p)
		}
		return items, nil
	}
	return literal{v}, nil
}

func (n *node) text(at, s string) (part, error) {
	pieces, err := scan(s)
	if err != nil {
		return nil, within(at, 1, err)
	}
	var parts []part
	for _, piece := range pieces {
		if !piece.code {
			parts = append(parts, literal{piece.text})
			continue
		}
		begins := utf8.RuneCountInString(s[:piece.at]) + 1
		e, err := n.compile(piece.text)
		if err != nil {
			return nil, within(at, begins, err)
		}
		parts = append(parts, filled{at, begins, e})
		if e.judged != nil {
			for _, f := range e.judged.found {
				f.Path, f.Character = at, begins-1+max(1, f.Character)
				n.found = append(n.found, f)
			}
		}
	}
	switch len(parts) {
	case 0:
		return literal{""}, nil
	case 1:
		return parts[0], nil
	}
	return mixed{at, parts}, nil
}

// within returns the error of an expression that begins at a character of the string
// at a path.
func within(at string, character int, err error) error {
	t := &verification.TextError{Path: at, Character: character, Message: err.Error()}
	if inner, ok := errors.AsType[*verification.TextError](err); ok {
		t.Character += max(0, inner.Character-1)
	}
	return t
}

func (l literal) render(r *rendering) (any, error) {
	return r.value(l.value, 1)
}

func (o object) render(r *rendering) (any, error) {
	m := make(map[string]any, len(o))
	for _, f := range o {
		if err := r.spend(len(f.name)); err != nil {
			return nil, err
		}
		v, known, err := f.render(r)
		if err != nil {
			return nil, err
		}
		if known {
			m[f.name] = v
		}
	}
	return m, nil
}

// render renders a field of an object; known is false if it is left out.
func (f field) render(r *rendering) (v any, known bool, err error) {
	p := r.partial
	if p == nil {
		v, err = f.part.render(r)
		return v, true, err
	}
	outer := p.at
	p.at = pathTo(outer, f.name)
	if v, err = f.part.render(r); err != nil {
		p.lacking = append(p.lacking, p.at)
		p.cause = cmp.Or(p.cause, err)
	}
	p.at = outer
	return v, err == nil, nil
}

func (l list) render(r *rendering) (any, error) {
	items := make([]any, len(l))
	for i, p := range l {
		v, err := l.item(r, i, p)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return items, nil
}

func (l list) item(r *rendering, i int, p part) (any, error) {
	if r.partial != nil {
		outer := r.partial.at
		r.partial.at += "[" + strconv.Itoa(i) + "]"
		defer func() { r.partial.at = outer }()
	}
	return p.render(r)
}

func (f filled) render(r *rendering) (any, error) {
	p, err := f.plain(r)
	if err != nil {
		return nil, located(f.path, err)
	}
	return p, nil
}

// plain returns the value of the expression. If that is a path only, its numbers are as
// they were written.
func (f filled) plain(r *rendering) (any, error) {
	v, err := f.evaluate(r.reading)
	if err != nil {
		return nil, err
	}
	if p, ok := f.paths[f.tree.Expr().ID()]; ok && !asks(f.tree.Expr()) {
		if written, err := r.find(p); err == nil {
			return r.value(written, 1)
		}
	}
	return r.value(v, 1)
}

// located adds the path of an expression in its object, if it has one, to an error.
func located(path string, err error) error {
	if path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

func (m mixed) render(r *rendering) (any, error) { return m.join(r, nil) }

// join joins the pieces to one string. A piece counts with the bytes that it adds. escape
// is applied to the text of each value unless it is nil.
func (m mixed) join(r *rendering, escape func(string) string) (any, error) {
	var b strings.Builder
	for _, piece := range m.pieces {
		left := r.left
		v, err := piece.render(r)
		if err != nil {
			return nil, err
		}
		s, err := asText(v)
		if err != nil {
			return nil, located(m.path, err)
		}
		if _, fixed := piece.(literal); !fixed && escape != nil {
			s = escape(s)
		}
		r.left = left
		if err := r.spend(len(s)); err != nil {
			return nil, located(m.path, err)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}
