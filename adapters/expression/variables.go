// Expressions and templates over named variables, for texts outside a definition.

package expression

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/verifyd/verifyd/verification"
)

// Expression compiles an expression over variables. The key of vars is the name of a
// variable, the value the JSON Schema of its values; nil allows any value. kind is the
// JSON type that the result must have as far as it is known; empty allows any type.
// reads lists the paths that the expression reads, such as "response.body.score".
// The result of eval is a plain JSON value. Its errors name paths and no values.
func (c *compiler) Expression(
	text, kind string, vars map[string]verification.Data,
) (eval func(vars map[string]any) (any, error), reads []string, err error) {
	defer recovered(&err)
	n, err := c.variables(vars)
	if err != nil {
		return nil, nil, err
	}
	e, err := n.compile(text)
	if err != nil {
		return nil, nil, err
	}
	if may := jsonTypes(e.output); kind != "" && may != nil && !slices.Contains(may, strings.Replace(kind, "integer", "number", 1)) {
		return nil, nil, fmt.Errorf("it must be of type %s, not %s", kind, cel.FormatCELType(e.output))
	}
	return filled{"", 0, e}.eval, e.readTexts(), nil
}

// Text compiles a string that may hold ${...}, as Template does. An expression that
// is the whole string keeps the type of its value, unless there is an escape: escape
// is applied to the text of each value.
func (c *compiler) Text(
	text string, escape func(string) string, vars map[string]verification.Data,
) (render func(vars map[string]any) (any, error), reads []string, err error) {
	defer recovered(&err)
	n, err := c.variables(vars)
	if err != nil {
		return nil, nil, err
	}
	p, err := n.text("", text)
	if err != nil {
		return nil, nil, err
	}
	parts := []part{p}
	if m, ok := p.(mixed); ok {
		parts = m.pieces
	}
	for _, p := range parts {
		if f, ok := p.(filled); ok {
			reads = append(reads, f.readTexts()...)
		}
	}
	return func(vars map[string]any) (any, error) { return fill(parts, escape, vars) }, reads, nil
}

func (c *compiler) variables(vars map[string]verification.Data) (*node, error) {
	s := &shapes{Provider: c.base.CELTypeProvider(), objects: map[string]*shape{}, root: &shape{fields: map[string]*shape{}}}
	for name, text := range vars {
		s.root.fields[name] = anything()
		if text == nil {
			continue
		}
		compiled, err := c.Schema(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if known, ok := compiled.(schema); ok {
			s.root.fields[name] = s.ofSchema(name, known.root)
		}
	}
	return c.over(s, nil)
}

func (e *expression) readTexts() []string {
	texts := make([]string, len(e.reads))
	for i, r := range e.reads {
		texts[i] = r.text
	}
	return texts
}

func (f filled) eval(vars map[string]any) (v any, err error) {
	defer recovered(&err)
	return f.render(&rendering{&reading{vars: vars}, converter{left: maxValue}, nil})
}

func fill(parts []part, escape func(string) string, vars map[string]any) (v any, err error) {
	defer recovered(&err)
	r := &rendering{&reading{vars: vars}, converter{left: maxValue}, nil}
	if len(parts) == 1 && escape == nil {
		return parts[0].render(r)
	}
	return mixed{pieces: parts}.join(r, escape)
}
