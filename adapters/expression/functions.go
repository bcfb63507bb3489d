// The functions on strings, each bounded in what it can make of its arguments.

package expression

import (
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// functions are those of CEL's strings extension that reading an answer needs.
// Those whose result can be longer than all their arguments fail above maxText.
func functions() []cel.EnvOption {
	text, number, list := cel.StringType, cel.IntType, cel.ListType(cel.StringType)
	return []cel.EnvOption{
		cel.Function("lowerAscii", cel.MemberOverload("string_lower_ascii", []*cel.Type{text}, text,
			cel.UnaryBinding(func(s ref.Val) ref.Val { return mapped(s, lower) }))),
		cel.Function("upperAscii", cel.MemberOverload("string_upper_ascii", []*cel.Type{text}, text,
			cel.UnaryBinding(func(s ref.Val) ref.Val { return mapped(s, upper) }))),
		cel.Function("trim", cel.MemberOverload("string_trim", []*cel.Type{text}, text,
			cel.UnaryBinding(func(s ref.Val) ref.Val { return types.String(strings.TrimSpace(stringOf(s))) }))),
		cel.Function("substring",
			cel.MemberOverload("string_substring_int", []*cel.Type{text, number}, text,
				cel.BinaryBinding(func(s, from ref.Val) ref.Val { return substring(s, from, nil) })),
			cel.MemberOverload("string_substring_int_int", []*cel.Type{text, number, number}, text,
				cel.FunctionBinding(func(a ...ref.Val) ref.Val { return substring(a[0], a[1], a[2]) }))),
		cel.Function("replace", cel.MemberOverload("string_replace_string_string", []*cel.Type{text, text, text}, text,
			cel.FunctionBinding(func(a ...ref.Val) ref.Val { return replace(stringOf(a[0]), stringOf(a[1]), stringOf(a[2])) }))),
		cel.Function("split", cel.MemberOverload("string_split_string", []*cel.Type{text, text}, list,
			cel.BinaryBinding(func(s, at ref.Val) ref.Val { return split(stringOf(s), stringOf(at)) }))),
		cel.Function("join", cel.MemberOverload("list_join_string", []*cel.Type{list, text}, text,
			cel.BinaryBinding(func(l, with ref.Val) ref.Val { return join(l, stringOf(with)) }))),
		cel.CostModel(costs()...),
	}
}

// costs say what the functions cost and how long their results can be: both
// texts are read or written once.
func costs() []cost.OverloadModel {
	readAndWritten := func(id string, result cost.QuantityExpr) cost.OverloadModel {
		return cost.MemberOverload(id,
			cost.EvalCost(cost.Sum(cost.Const(1), cost.StringScan(cost.Sum(cost.Target(), cost.Result())))),
			cost.ResultSize(cost.AtMost(result)))
	}
	one, most := cost.Const(1), cost.Const(maxText)
	return []cost.OverloadModel{
		readAndWritten("string_lower_ascii", cost.Target()),
		readAndWritten("string_upper_ascii", cost.Target()),
		readAndWritten("string_trim", cost.Target()),
		readAndWritten("string_substring_int", cost.Target()),
		readAndWritten("string_substring_int_int", cost.Target()),
		readAndWritten("string_replace_string_string",
			cost.Min(most, cost.Mul(cost.Sum(cost.Target(), one), cost.Sum(cost.Arg(1), one)))),
		readAndWritten("list_join_string",
			cost.Min(most, cost.Sum(cost.Target(), cost.Mul(cost.Target(), cost.Arg(0))))),
		cost.MemberOverload("string_split_string",
			cost.EvalCost(cost.Sum(cost.Const(cost.ListCreateBaseCost), cost.Target())),
			cost.ResultSize(cost.List(cost.AtMost(cost.Sum(cost.Target(), one)), cost.AtMost(cost.Target())))),
	}
}

func stringOf(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

func mapped(s ref.Val, to func(rune) rune) ref.Val {
	return types.String(strings.Map(to, stringOf(s)))
}

func lower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

func upper(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r - 'a' + 'A'
	}
	return r
}

// substring counts in characters; to may be nil for the end.
func substring(s, from, to ref.Val) ref.Val {
	runes := []rune(stringOf(s))
	start, _ := from.(types.Int)
	end := types.Int(len(runes))
	if to != nil {
		end, _ = to.(types.Int)
	}
	if start < 0 || end < start || end > types.Int(len(runes)) {
		return types.NewErr("substring(%d, %d) is not inside a string of %d characters", start, end, len(runes))
	}
	return types.String(runes[start:end])
}

func replace(s, old, with string) ref.Val {
	count := strings.Count(s, old)
	if grow := len(with) - len(old); grow > 0 && count > (maxText-min(len(s), maxText))/grow {
		return tooLong()
	}
	return types.String(strings.ReplaceAll(s, old, with))
}

func split(s, at string) ref.Val {
	if at == "" && utf8.RuneCountInString(s) > maxText || at != "" && strings.Count(s, at) > maxText {
		return tooLong()
	}
	return types.DefaultTypeAdapter.NativeToValue(strings.Split(s, at))
}

func join(list ref.Val, with string) ref.Val {
	l, ok := list.(traits.Lister)
	if !ok {
		return types.NewErr("no such overload")
	}
	var b strings.Builder
	for it, first := l.Iterator(), true; it.HasNext() == types.True; first = false {
		s, ok := it.Next().(types.String)
		if !ok {
			return types.NewErr("no such overload")
		}
		if !first {
			b.WriteString(with)
		}
		b.WriteString(string(s))
		if b.Len() > maxText {
			return tooLong()
		}
	}
	return types.String(b.String())
}

func tooLong() ref.Val { return types.NewErr("the string becomes longer than %d bytes", maxText) }
