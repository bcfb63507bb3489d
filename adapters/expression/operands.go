// Operators: messages about wrong ones, and about operands of wrong types.

package expression

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// unknownOperator finds an operator of other languages in a text that cannot be parsed,
// outside strings and comments. It returns its first character, counted from 1, and what to
// write instead; the empty string if there is none.
func unknownOperator(text string) (character int, hint string) {
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := text[i]; {
		case c == '"' || c == '\'':
			n := quotation(rest, isRaw(text[:i]))
			if n < 0 {
				return 0, ""
			}
			i += n
			continue
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexAny(rest, "\r\n")
			if end < 0 {
				return 0, ""
			}
			i += end
			continue
		case isNameByte(c):
			n := 0
			for n < len(rest) && isNameByte(rest[n]) {
				n++
			}
			if instead := map[string]string{"and": "&&", "or": "||", "not": "!"}[strings.ToLower(rest[:n])]; instead != "" && (i == 0 || text[i-1] != '.') {
				return utf8.RuneCountInString(text[:i]) + 1, fmt.Sprintf("there is no operator %s: write %s", rest[:n], instead)
			}
			i += n
			continue
		}
		n := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("=!<>", r) })
		if n < 0 {
			n = len(rest)
		}
		switch op := rest[:n]; op {
		case "=", "===":
			hint = "write == to compare"
		case "<>", "!==":
			hint = "write != to compare"
		case "=<":
			hint = "write <= to compare"
		case "=>":
			hint = "write >= to compare"
		}
		if hint != "" {
			return utf8.RuneCountInString(text[:i]) + 1, hint
		}
		i += max(n, 1)
	}
	return 0, ""
}

// operandTypes says which types the operands of an operator have that CEL refuses, and what
// to write; empty if that is not known. A type check changes the tree, so the text is parsed
// again.
func (n *node) operandTypes(text string, id int64) string {
	parsed, issues := n.env.Parse(text)
	if issues.Err() != nil {
		return ""
	}
	tree := parsed.NativeRep()
	x := find(tree, id)
	if x == nil {
		return ""
	}
	inside := n.inside(tree, id)
	if x.Kind() == ast.CallKind && !x.AsCall().IsMemberFunction() {
		f, args := x.AsCall().FunctionName(), x.AsCall().Args()
		op := functionName(f)
		if sides, ok := inside.operands(args, tree); ok && (op != f || f == operators.Conditional) {
			if message := unlikeOperands(op, sides); message != "" {
				return message
			}
		}
	}
	if sides, ok := inside.operands([]ast.Expr{x}, tree); ok && !sides[0].isBool() && !sides[0].optional {
		if op := logicAround(tree.Expr(), id); op != "" {
			return sides[0].String() + ": " + op + " is only for true or false"
		}
	}
	return ""
}

func unlikeOperands(op string, sides []operandOf) string {
	for _, o := range sides {
		if o.optional {
			return o.text + " may be missing: write " + o.text + ".orValue(...) with the value that it has then"
		}
	}
	switch {
	case len(sides) == 1 && op == "-":
		return sides[0].String() + ": - is only for numbers"
	case len(sides) == 1 && op == "!":
		return sides[0].String() + ": ! is only for true or false"
	case len(sides) == 1 || op == "&&" || op == "||":
		return "" // see logicAround
	case op == operators.Conditional && !sides[0].isBool():
		return sides[0].String() + ": what is before a ? must be true or false"
	case op == operators.Conditional && sides[1].kind != sides[2].kind:
		return fmt.Sprintf("%s, %s: what is before and after a : must be alike", sides[1], sides[2])
	case op == operators.Conditional:
		return ""
	}
	return unlike(op, sides[0], sides[1])
}

// logicAround returns the operator that takes a node for true or false; empty for none.
func logicAround(x ast.Expr, id int64) (op string) {
	ast.PostOrderVisit(x, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		args := e.AsCall().Args()
		switch f := e.AsCall().FunctionName(); f {
		case operators.LogicalAnd, operators.LogicalOr:
			if args[0].ID() == id || args[1].ID() == id {
				op = functionName(f)
			}
		}
	}))
	return op
}

func (n *node) operands(args []ast.Expr, tree *ast.AST) (sides []operandOf, ok bool) {
	for _, arg := range args {
		o, ok := n.operand(arg, tree)
		if !ok {
			return nil, false
		}
		sides = append(sides, o)
	}
	return sides, true
}

// inside returns the compiler with the names that loops around a node give to their items.
func (n *node) inside(tree *ast.AST, id int64) *node {
	inner := *n
	for _, loop := range loopsAround(tree.Expr(), id) {
		if o, ok := inner.operand(loop.IterRange(), tree); ok && o.checked.Kind() == types.ListKind {
			if env, err := inner.env.Extend(cel.Variable(loop.IterVar(), o.checked.Parameters()[0])); err == nil {
				inner.env = env
			}
		}
	}
	return &inner
}

// loopsAround returns the loops of which a node is a part, the outermost first.
func loopsAround(x ast.Expr, id int64) (loops []ast.ComprehensionExpr) {
	ast.PreOrderVisit(x, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		loop, within := e.AsComprehension(), false
		ast.PostOrderVisit(loop.LoopStep(), ast.NewExprVisitor(func(part ast.Expr) { within = within || part.ID() == id }))
		if within {
			loops = append(loops, loop)
		}
	}))
	return loops
}

// operandOf is an operand of an operator that CEL refuses.
type operandOf struct {
	text     string // as it is written
	kind     string // in words
	checked  *cel.Type
	path     bool
	date     bool // a text as YYYY-MM-DD
	optional bool
	literal  ref.Val    // nil for anything else
	items    []ast.Expr // of a list that is written out
}

func (o operandOf) String() string { return o.text + " is " + o.kind }

// operand returns what is known of an operand; ok is false if it has no type of its own.
func (n *node) operand(x ast.Expr, tree *ast.AST) (o operandOf, ok bool) {
	text, err := cel.ExprToString(x, tree.SourceInfo())
	if err != nil {
		return o, false
	}
	parsed, issues := n.env.Parse(text)
	if issues.Err() != nil {
		return o, false
	}
	e := inspection{expression: &expression{}, names: n.names}
	checked, refused := n.typed(parsed, text)
	if refused != nil {
		return o, false
	}
	o = operandOf{text: text, checked: checked.OutputType()}
	o.kind, o.optional = typeName(o.checked)
	switch x.Kind() {
	case ast.LiteralKind:
		o.literal = x.AsLiteral()
		if s, ok := literalString(x); ok {
			o.text = s
		}
	case ast.ListKind:
		o.items = x.AsList().Elements()
	default:
		p, isPath := e.pathOf(x)
		if o.path = isPath && !asks(x); o.path {
			if s := n.shapes.find(p); s != nil && s.date {
				o.date, o.kind = true, "a date"
			}
		}
	}
	return o, o.kind != ""
}

// literalString returns a text in single quotes, as most expressions have it.
func literalString(x ast.Expr) (string, bool) {
	if x.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := x.AsLiteral().(types.String)
	return "'" + string(s) + "'", ok && !strings.ContainsAny(string(s), "'\\\n\r")
}

// typeName returns a type in words, and reports whether it is the type of an optional value.
func typeName(t *cel.Type) (name string, optional bool) {
	switch t.Kind() {
	case types.BoolKind:
		return "true or false", false
	case types.StringKind:
		return "a text", false
	case types.DoubleKind, types.IntKind, types.UintKind:
		return "a number", false
	case types.TimestampKind:
		return "a time", false
	case types.DurationKind:
		return "a duration", false
	case types.ListKind:
		switch item, _ := typeName(t.Parameters()[0]); item {
		case "a text":
			return "a list of texts", false
		case "a number":
			return "a list of numbers", false
		}
		return "a list", false
	case types.MapKind, types.StructKind:
		return "an object", false
	case types.NullTypeKind:
		return "null", false
	case types.OpaqueKind:
		if t.TypeName() == "optional_type" {
			return "optional", true
		}
	}
	return "", false
}
