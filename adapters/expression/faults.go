// What the libraries complain of, in one plain sentence.

package expression

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"

	"github.com/verifyd/verifyd/verification"
)

// oneLine puts a text on one line, without a final stop.
func oneLine(s string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ".")
}

// describe tells the first fault that the parser or the checker found. The tree
// is nil when there is none yet.
func (c *compiler) describe(issues *cel.Issues, tree *ast.AST) error {
	faults := issues.Errors()
	if len(faults) == 0 {
		return errors.New(oneLine(issues.Err().Error()))
	}
	fault := faults[0]
	at := place(fault.Location)
	if text, ok := strings.CutPrefix(fault.Message, "Syntax error: "); ok {
		text, _, _ = strings.Cut(text, " expecting ")
		if strings.Contains(text, "'<EOF>'") {
			return errors.New("the expression ends too soon")
		}
		return fmt.Errorf("the expression cannot be read: %s%s", oneLine(text), at)
	}
	if limit := exceeded(fault.Message); limit != "" {
		return errors.New(limit)
	}
	if name, ok := quoted(fault.Message, "undefined field "); ok {
		return c.noField(find(tree, fault.ExprID), name, at)
	}
	if name, ok := quoted(fault.Message, "undeclared reference to "); ok {
		if e := find(tree, fault.ExprID); e != nil && e.Kind() == ast.CallKind {
			return fmt.Errorf("there is no function %s%s", name, at)
		}
		return fmt.Errorf("there is no %s; an expression sees input, run and steps%s", name, at)
	}
	if name, args, ok := refusedCall(fault.Message); ok {
		return refused(name, args, at)
	}
	if t, ok := quoted(fault.Message, "type "); ok && strings.HasSuffix(fault.Message, "does not support field selection") {
		return fmt.Errorf("%s has no fields%s", typeWords(t), at)
	}
	if t, ok := quoted(fault.Message, "expression of type "); ok {
		return fmt.Errorf("%s cannot be looped over%s", typeWords(t), at)
	}
	if kind, ok := strings.CutPrefix(fault.Message, "invalid "); ok && strings.HasSuffix(kind, " argument") {
		return fmt.Errorf("%s%s", literalFault(strings.TrimSuffix(kind, " argument")), at)
	}
	if want, rest, ok := cutQuoted(fault.Message, "expected type "); ok {
		if got, ok := quoted(rest, " but found "); ok {
			return fmt.Errorf("%s stands where %s is needed%s", typeWords(got), typeWords(want), at)
		}
	}
	return errors.New(oneLine(fault.Message) + at)
}

// noField says that a selection names nothing.
func (c *compiler) noField(e ast.Expr, name, at string) error {
	if e == nil {
		return fmt.Errorf("there is no field %s%s", name, at)
	}
	p, ok := pathOf(e)
	if !ok {
		return fmt.Errorf("there is no field %s%s", name, at)
	}
	if p.root == nameSteps && len(p.keys) == 1 {
		if _, declared := c.steps[verification.NodeID(name)]; declared {
			return fmt.Errorf("the step %s cannot have run before this node", name)
		}
		return fmt.Errorf("there is no step %s", name)
	}
	parent := path{p.root, p.keys[:len(p.keys)-1]}
	return fmt.Errorf("%s has no field %s", parent, name)
}

// refused says that an operator or function does not take these types.
func refused(name string, args []string, at string) error {
	if name == "_[_]" && len(args) == 2 && strings.HasPrefix(args[0], "{") {
		return fmt.Errorf("%s has named fields: write a dot and the name%s", typeWords(args[0]), at)
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = typeWords(arg)
	}
	return fmt.Errorf("%s cannot be applied to %s%s", operatorWord(name), strings.Join(words, " and "), at)
}

// failed tells why an evaluation came to nothing. It names paths and places, and
// never a value: those are a customer's.
func (e *expression) failed(err error, r *reading) error {
	var absent *absentError
	if errors.As(err, &absent) {
		return absent
	}
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) {
		return errors.New("the expression costs more than the limit allows")
	}
	id := int64(nowhere)
	var fault *types.Err
	if errors.As(err, &fault) {
		id = fault.NodeID()
	}
	at := ""
	if _, ok := e.tree.SourceInfo().GetOffsetRange(id); ok {
		at = place(e.tree.SourceInfo().GetStartLocation(id))
	}
	text := err.Error()
	if strings.HasPrefix(text, "no such key") || strings.HasPrefix(text, "index out of bounds") {
		return e.notThere(id, at, r)
	}
	switch {
	case errors.Is(err, errTimeOverflow):
		return errors.New("a time is out of range")
	case errors.Is(err, errNoOverload), strings.HasPrefix(text, "no such overload"):
		return fmt.Errorf("a value has a type that its operator or function does not take%s", at)
	case strings.HasPrefix(text, "invalid RFC 3339"):
		return fmt.Errorf("a string is not a timestamp%s", at)
	case strings.HasPrefix(text, "error parsing regexp"), strings.HasPrefix(text, "regex program size"):
		return fmt.Errorf("a string is not a regular expression that can be used%s", at)
	case strings.Contains(text, "by zero"), strings.Contains(text, "overflow"),
		strings.HasPrefix(text, "substring("), strings.HasPrefix(text, "the string becomes"):
		return errors.New(text + at)
	case strings.HasPrefix(text, "internal error"):
		return errors.New(oneLine(text))
	}
	return fmt.Errorf("a value is not one that its operator or function takes%s", at)
}

// notThere names the value that a node did not find.
func (e *expression) notThere(id int64, at string, r *reading) error {
	if p, ok := e.paths[id]; ok {
		if _, err := r.find(p); err != nil {
			return err
		}
	}
	if x := find(e.tree, id); x != nil && x.Kind() == ast.SelectKind {
		return fmt.Errorf("a field %s has no value%s", x.AsSelect().FieldName(), at)
	}
	return fmt.Errorf("there is no value at an index or a key%s", at)
}

// place names a location; the parser counts columns from 0.
func place(l common.Location) string {
	switch {
	case l == nil || l.Line() < 1:
		return ""
	case l.Line() == 1:
		return fmt.Sprintf(" (column %d)", l.Column()+1)
	}
	return fmt.Sprintf(" (line %d, column %d)", l.Line(), l.Column()+1)
}

func find(tree *ast.AST, id int64) ast.Expr {
	if tree == nil {
		return nil
	}
	var found ast.Expr
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id {
			found = e
		}
	}))
	return found
}

// quoted reads 'text' after a prefix.
func quoted(s, prefix string) (string, bool) {
	text, _, ok := cutQuoted(s, prefix)
	return text, ok
}

func cutQuoted(s, prefix string) (text, rest string, ok bool) {
	if s, ok = strings.CutPrefix(s, prefix+"'"); !ok {
		return "", "", false
	}
	return strings.Cut(s, "'")
}
