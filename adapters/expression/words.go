// The words for CEL's types and operators.

package expression

import (
	"fmt"
	"strings"
)

// refusedCall reads the checker's message that no overload of a function takes
// these types; the target of a member call comes first.
func refusedCall(message string) (name string, args []string, ok bool) {
	name, rest, ok := cutQuoted(message, "found no matching overload for ")
	if !ok {
		return "", nil, false
	}
	signature, ok := quoted(rest, " applied to ")
	if !ok {
		return "", nil, false
	}
	if target := splitTop(signature, '.'); len(target) == 2 {
		args, signature = append(args, target[0]), target[1]
	}
	signature = strings.TrimSuffix(strings.TrimPrefix(signature, "("), ")")
	for _, arg := range splitTop(signature, ',') {
		if arg = strings.TrimSpace(arg); arg != "" {
			args = append(args, arg)
		}
	}
	return name, args, true
}

// splitTop cuts a type at a separator outside its brackets.
func splitTop(s string, at byte) []string {
	var parts []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		case at:
			if depth == 0 && (at != '.' || strings.HasPrefix(s[i:], ".(")) {
				parts, from = append(parts, s[from:i]), i+1
			}
		}
	}
	return append(parts, s[from:])
}

// typeWords names a type as CEL writes it, in plain words.
func typeWords(t string) string {
	switch t {
	case "double":
		return "a number"
	case "int", "uint":
		return "a whole number"
	case "string":
		return "a string"
	case "bool":
		return "a boolean"
	case "timestamp", "google.protobuf.Timestamp":
		return "a timestamp"
	case "duration", "google.protobuf.Duration":
		return "a duration"
	case "dyn":
		return "a value of any type"
	case "bytes", "null":
		return t
	}
	switch {
	case strings.HasPrefix(t, "{"):
		return "the object " + strings.Trim(t, "{}")
	case strings.HasPrefix(t, "list"):
		return "a list"
	case strings.HasPrefix(t, "map"):
		return "an object"
	case strings.HasPrefix(t, "wrapper("):
		return typeWords(strings.TrimSuffix(strings.TrimPrefix(t, "wrapper("), ")")) + " or null"
	case strings.HasPrefix(t, "optional_type("):
		return "an optional value"
	}
	return "a value of type " + t
}

// operatorWord names a function or an operator as it is written.
func operatorWord(name string) string {
	switch name {
	case "_?_:_":
		return "?:"
	case "@in":
		return "in"
	case "_[_]", "_[?_]":
		return "[]"
	}
	return strings.Trim(name, "_")
}

// literalFault says what is wrong with a function's constant argument.
func literalFault(function string) string {
	if function == "matches" {
		return "the regular expression is not valid, or too large"
	}
	return "the " + function + " is not valid"
}

// exceeded names the bound that a text goes beyond; empty for none.
func exceeded(message string) string {
	switch {
	case strings.Contains(message, "recursion"):
		return "the expression nests too deep"
	case strings.HasPrefix(message, "expression code point size exceeds"):
		return fmt.Sprintf("the expression is longer than %d characters", maxExpression)
	case strings.HasPrefix(message, "expression node count exceeds"):
		return "the expression has too many parts"
	}
	return ""
}
