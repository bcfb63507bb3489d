// The language: what a definition's texts are compiled with.

package expression

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"

	"cel.dev/cel-go/cel"

	"github.com/verifyd/verifyd/verification"
)

// maxPattern is how long a regular expression may be, in characters.
const maxPattern = 1000

// Compiler compiles conditions, templates, patterns and schemas. What it makes
// is safe for concurrent use, and so is the language itself. Its errors are one
// plain sentence each.
type Compiler struct {
	base *cel.Env

	mu     sync.Mutex
	schema verification.Data // the input schema that was read last
	input  *shapes           // the shapes of that schema
}

var _ verification.ExpressionCompiler = (*Compiler)(nil)

// New makes the language.
func New() *Compiler {
	base, err := newBase()
	if err != nil {
		panic(fmt.Sprintf("expression: the base environment does not hold together: %v", err))
	}
	return &Compiler{base: base}
}

// Condition compiles a branch condition, which must be a boolean.
func (l *Compiler) Condition(text string, d verification.Declarations) (c verification.Condition, err error) {
	defer recovered(&err)
	comp, err := l.compiler(d)
	if err != nil {
		return nil, err
	}
	e, err := comp.compile(text)
	if err != nil {
		return nil, err
	}
	if !mayBeBoolean(e.output) {
		return nil, fmt.Errorf("a condition must be a boolean, and this is %s", typeWords(cel.FormatCELType(e.output)))
	}
	return condition{e}, nil
}

// Template compiles an object whose strings may hold ${...}. `$${` stands for
// a literal `${`.
func (l *Compiler) Template(object verification.Data, d verification.Declarations) (t verification.Template, err error) {
	defer recovered(&err)
	comp, err := l.compiler(d)
	if err != nil {
		return nil, err
	}
	root, err := comp.template("", object.Map())
	if err != nil {
		return nil, err
	}
	return template{root}, nil
}

// Pattern compiles an RE2 expression of at most 1000 characters.
func (l *Compiler) Pattern(text string) (verification.Pattern, error) {
	if utf8.RuneCountInString(text) > maxPattern {
		return nil, fmt.Errorf("a pattern must be at most %d characters", maxPattern)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		var fault *syntax.Error
		if errors.As(err, &fault) {
			return nil, fmt.Errorf("the pattern cannot be read: %s at %q", fault.Code, fault.Expr)
		}
		return nil, fmt.Errorf("the pattern cannot be read: %s", oneLine(err.Error()))
	}
	return re, nil
}

// recovered makes an error of a panic inside the libraries: a text that upsets
// them is at fault, and not the host.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("it cannot be worked out: %s", oneLine(fmt.Sprint(r)))
	}
}
