// Package expression compiles the texts inside a workflow definition: branch
// conditions and templates in CEL, patterns in RE2, and JSON Schemas.
//
// An expression sees three names. `input` is the input of the run, typed by the
// input schema; `run` has id, reference_id and started_at; `steps.<node>` has
// data, status, passed, clear and dispatches. Declared types are checked when the
// definition is compiled, so a misspelt field is an error of the definition and
// not of a run.
//
// Numbers of JSON are doubles. A calculation may combine a double with a whole number.
// The operators ==, != and in accept a whole number beside a double if it is written out
// in the expression. Besides the standard functions of CEL and its optional values
// (`a.?b.orValue(c)`) there are those of its strings extension. No function reads a clock.
//
// The cost of an expression is bounded twice: when it is compiled, by the maximum that it
// could cost, and while it runs. A template renders a bounded number of bytes. A JSON
// Schema is refused if the work of checking a value has no bound. A larger schema checks
// smaller objects: see docs/decisions/0048-schemas-are-bounded-by-refusal.md.
package expression

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/internal/schematext"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// maxPattern is the maximum length of a regular expression in characters.
const maxPattern = 1000

// Compiler compiles conditions, templates, patterns and schemas. It is safe for
// concurrent use, and so is what it returns. Each problem is one line; several are joined
// with errors.Join. A problem inside an expression or a schema is a *verification.TextError with its
// position.
type Compiler interface {
	workflow.ExpressionCompiler
	// Expression compiles an expression of a declaration of a provider, which reads variables with JSON
	// Schemas, whose value has a JSON type; empty for any. It also returns the paths that the expression reads.
	Expression(text, kind string, vars map[string]verification.Data) (eval func(vars map[string]any) (any, error), reads []string, err error)
	// Text compiles a string with ${...} of such a declaration. escape, if not nil, is applied to the text of
	// each value.
	Text(text string, escape func(string) string, vars map[string]verification.Data) (render func(vars map[string]any) (any, error), reads []string, err error)
}

// compiler is a Compiler.
type compiler struct {
	base    *cel.Env
	schemas *lru.Cache[string, known] // by their texts
	formats []*jsonschema.Format      // beside those of JSON Schema
}

// known is a compiled schema; its root is nil if it is not valid.
type known struct {
	schema
	size int // bytes of its text
}

// maxSchemas bounds the texts of the schemas that a compiler keeps, in bytes.
const maxSchemas = 1 << 20

// New returns a compiler.
func New() Compiler {
	base, err := newEnvironment()
	if err != nil {
		panic(fmt.Sprintf("expression: the environment is inconsistent: %v", err))
	}
	schemas := lru.New[string](maxSchemas, maxSchemas, func(k known) int { return k.size })
	return &compiler{base: base, schemas: schemas, formats: schematext.Formats()}
}

// Condition compiles a branch condition, which must be a boolean or of a type that is
// known only at run time.
func (c *compiler) Condition(text string, d workflow.Declarations) (_ workflow.Condition, err error) {
	defer recovered(&err)
	n, err := c.node(d)
	if err != nil {
		return nil, err
	}
	e, err := n.compile(text)
	if err != nil {
		return nil, err
	}
	if k := e.output.Kind(); k != types.BoolKind && k != types.DynKind {
		return nil, fmt.Errorf("a condition must be a bool, not %s", cel.FormatCELType(e.output))
	}
	return condition{e}, nil
}

// Template compiles an object whose strings may hold ${...}. `$${` stands for
// a literal `${`.
func (c *compiler) Template(object verification.Data, d workflow.Declarations) (t workflow.Template, err error) {
	defer recovered(&err)
	n, err := c.node(d)
	if err != nil {
		return nil, err
	}
	root, err := n.template("", object.Map())
	if err != nil {
		return nil, err
	}
	if schema := c.declared(d.With); schema != nil {
		if err := fit(schema, root); err != nil {
			return nil, err
		}
	}
	return template{root, n.found}, nil
}

// Pattern compiles an RE2 expression of up to 1000 characters.
func (c *compiler) Pattern(text string) (workflow.Pattern, error) {
	if utf8.RuneCountInString(text) > maxPattern {
		return nil, fmt.Errorf("a pattern must be at most %d characters", maxPattern)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, errors.New(oneLine(err.Error()))
	}
	return pattern{re}, nil
}

// recovered turns a panic inside the libraries into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("internal error: %s", oneLine(fmt.Sprint(r)))
	}
}

// oneLine puts a text on one line, without a full stop.
func oneLine(s string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ".")
}
