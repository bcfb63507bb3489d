// Unlike operands: what to write if two values cannot be compared or added.

package expression

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// unlike says why an operator does not take two operands, and what to write; empty if it
// does not know.
func unlike(op string, x, y operandOf) string {
	said := fmt.Sprintf("%s, %s: %s cannot be used with them", x, y, op)
	instead := advice(op, x, y)
	if instead == "" && op != "in" {
		instead = advice(op, y, x) // the operands may be the other way round
	}
	switch {
	case instead != "":
		return said + ", so " + instead
	case x.kind == y.kind:
		return ""
	}
	return said
}

// advice says what to write, beginning with a verb; empty if it does not know.
func advice(op string, x, y operandOf) string {
	switch {
	case op == "in":
		return adviceOnIn(x, y)
	case x.isNumber() && y.isNumber():
		return adviceOnWhole(op, x, y)
	case op == "+" && x.isNumber() && y.isText():
		return "write string(" + x.text + ") to add it to a text"
	case op == "+" && x.isList() && !y.isList():
		return "write " + x.text + " + [" + y.text + "] to add an item"
	case slices.Contains([]string{"-", "*", "/", "%"}, op):
		return adviceOnCalculation(op, x, y)
	case !slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, op):
		return ""
	case x.kind == "null":
		return adviceOnNull(op, y)
	case x.isObject() && y.kind != "null":
		return "compare a field of " + x.text
	case x.isList() && y.isItemOf(x):
		return "write " + y.text + " in " + x.text + " to ask whether it is one of them"
	case x.isList() && y.kind != "null":
		return "compare an item of " + x.text
	case x.date && y.isNumber():
		return "write a date in quotes, such as '" + dateLike(y) + "'"
	case x.isTime() && (y.isText() || y.isNumber()):
		return "write timestamp(" + timeLike(y) + ")"
	case x.isBool() && op != "==" && op != "!=":
		return "use == with true or false"
	case x.isBool() && (y.isText() || y.isNumber()):
		return "write " + boolLike(y)
	case x.isNumber() && y.isText():
		return adviceOnNumber(op, x, y)
	}
	return ""
}

func (o operandOf) isNumber() bool { return o.kind == "a number" }
func (o operandOf) isText() bool   { return o.checked.Kind() == types.StringKind }
func (o operandOf) isBool() bool   { return o.checked.Kind() == types.BoolKind }
func (o operandOf) isTime() bool   { return o.checked.Kind() == types.TimestampKind }
func (o operandOf) isList() bool   { return o.checked.Kind() == types.ListKind }
func (o operandOf) isObject() bool { return o.kind == "an object" }

// isWhole reports whether CEL takes the operand for a whole number.
func (o operandOf) isWhole() bool {
	return o.checked.Kind() == types.IntKind || o.checked.Kind() == types.UintKind
}

// isItemOf reports whether a list may have the operand.
func (o operandOf) isItemOf(list operandOf) bool {
	item, _ := typeName(list.checked.Parameters()[0])
	of, _ := typeName(o.checked)
	return item == of || item == ""
}

func adviceOnWhole(op string, x, y operandOf) string {
	switch {
	case op == "%" && !x.isWhole():
		return "write int(" + x.text + ") for whole numbers"
	case op == "%":
		return "" // y is no whole number
	case x.isWhole() && !y.isWhole():
		return "write double(" + x.text + ")"
	}
	return ""
}

// adviceOnCalculation is about -, *, / and %.
func adviceOnCalculation(op string, x, y operandOf) string {
	written, _ := y.literal.(types.String)
	switch {
	case op == "-" && (x.date || x.isTime()) && y.isText():
		return "write timestamp(" + timeLike(y) + "), and a timestamp on the other side"
	case x.isNumber() && isNumeric(string(written)):
		return "write " + string(written) + " without quotes"
	}
	return ""
}

func adviceOnNull(op string, y operandOf) string {
	switch {
	case !y.path || op != "==" && op != "!=":
		return ""
	case op == "==":
		return "write !has(" + y.text + ") to ask whether it is missing"
	}
	return "write has(" + y.text + ") to ask whether it is there"
}

// adviceOnNumber is about a number and a text.
func adviceOnNumber(op string, number, text operandOf) string {
	written, literal := text.literal.(types.String)
	ordered := op != "==" && op != "!="
	switch {
	case literal && isNumeric(string(written)):
		return "write " + string(written) + " without quotes"
	case literal:
		return "compare " + number.text + " with a number"
	case number.literal != nil && !ordered:
		return "write '" + number.text + "' in quotes"
	case ordered:
		return "make " + text.text + " a number where it is declared"
	}
	return "write string(" + number.text + ")"
}

func adviceOnIn(x, list operandOf) string {
	switch {
	case x.isList() && !list.isList() && list.isItemOf(x):
		return "write " + list.text + " in " + x.text
	case x.isText() && list.isText():
		return "write " + list.text + ".contains(" + x.text + "), or a list in brackets"
	case !list.isList():
		return "write a list in brackets on the right"
	case len(list.items) == 0:
		return ""
	case x.isNumber() && !slices.ContainsFunc(list.items, func(i ast.Expr) bool { return !isNumeric(textOfLiteral(i)) }),
		x.isBool() && !slices.ContainsFunc(list.items, func(i ast.Expr) bool { t := textOfLiteral(i); return t != "true" && t != "false" }):
		return "write its items without quotes"
	case x.isNumber() && list.kind == "a list of texts":
		return "write a list of numbers"
	case x.isText() && !x.date && list.kind == "a list of numbers":
		return "write its items in quotes"
	case x.date:
		return "write its items as dates in quotes, such as '2000-01-31'"
	}
	return ""
}

// textOfLiteral returns the text that a literal is; empty for anything else.
func textOfLiteral(x ast.Expr) string {
	if x.Kind() != ast.LiteralKind {
		return ""
	}
	s, _ := x.AsLiteral().(types.String)
	return string(s)
}

func isNumeric(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && strings.Trim(s, "-.0123456789") == ""
}

// dateLike returns a date of a year that was written alone, or any date.
func dateLike(o operandOf) string {
	if year, ok := o.literal.(types.Int); ok && year >= 1000 && year <= 9999 {
		return strconv.Itoa(int(year)) + "-01-01"
	}
	return "2000-01-31"
}

// timeLike returns the argument of timestamp() for a text.
func timeLike(o operandOf) string {
	written, literal := o.literal.(types.String)
	switch _, err := time.Parse(time.DateOnly, string(written)); {
	case literal && err == nil:
		return "'" + string(written) + "T00:00:00Z'"
	case literal || o.isNumber():
		return "'2000-01-31T00:00:00Z'"
	case o.date:
		return o.text + " + 'T00:00:00Z'"
	}
	return o.text
}

// boolLike returns what is meant by a literal instead of true or false.
func boolLike(o operandOf) string {
	switch strings.ToLower(strings.Trim(o.text, "'")) {
	case "true":
		return "true without quotes"
	case "false":
		return "false without quotes"
	case "yes", "1":
		return "true"
	case "no", "0":
		return "false"
	}
	return "true or false"
}
