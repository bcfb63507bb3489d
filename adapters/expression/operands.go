// Operators: messages about wrong ones, and about operands of wrong types.

package expression

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
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

// operandTypes says which types the operands of an operator have that CEL refuses; empty
// if that is not known. A type check changes the tree, so the text is parsed again.
func (n *node) operandTypes(text string, id int64) string {
	parsed, issues := n.env.Parse(text)
	if issues.Err() != nil {
		return ""
	}
	tree := parsed.NativeRep()
	x := find(tree, id)
	if x == nil || x.Kind() != ast.CallKind || x.AsCall().IsMemberFunction() {
		return ""
	}
	call := x.AsCall()
	if len(call.Args()) != 2 || functionName(call.FunctionName()) == call.FunctionName() {
		return ""
	}
	var said, kinds [2]string
	for i, arg := range call.Args() {
		text, err := cel.ExprToString(arg, tree.SourceInfo())
		if err != nil {
			return ""
		}
		if s, ok := literalString(arg); ok {
			text = s
		}
		checked, issues := n.env.Compile(text)
		if issues.Err() != nil {
			return ""
		}
		kind, optional := typeName(checked.OutputType())
		switch {
		case kind == "":
			return ""
		case optional:
			return text + " may be missing: write " + text + ".orValue(...) with the value that it has then"
		}
		said[i], kinds[i] = text+" is "+kind, kind
	}
	if kinds[0] == kinds[1] {
		return ""
	}
	return fmt.Sprintf("%s, %s: %s cannot be used with them", said[0], said[1], functionName(call.FunctionName()))
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
