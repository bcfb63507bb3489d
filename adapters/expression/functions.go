// The functions on strings: CEL's own, with bounds on the work of one call.

package expression

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
)

var errLongString = fmt.Errorf("the string becomes longer than %d bytes", maxText)

// stringFunctions returns CEL's string functions. CEL charges for a call after it
// returns. A function whose result or running time can be much larger than its
// arguments is therefore replaced by a bounded one (replace, join) or left out (format,
// indexOf, lastIndexOf).
func stringFunctions() []cel.EnvOption {
	text, number, list := cel.StringType, cel.IntType, cel.ListType(cel.StringType)
	return []cel.EnvOption{
		ext.Strings(ext.StringsVersion(5)),
		cel.Function("replace",
			cel.MemberOverload("string_replace_string_string", []*cel.Type{text, text, text}, text,
				cel.FunctionBinding(func(a ...ref.Val) ref.Val { return replace(a[0], a[1], a[2], types.Int(-1)) })),
			cel.MemberOverload("string_replace_string_string_int", []*cel.Type{text, text, text, number}, text,
				cel.FunctionBinding(func(a ...ref.Val) ref.Val { return replace(a[0], a[1], a[2], a[3]) }))),
		cel.Function("join",
			cel.MemberOverload("list_join", []*cel.Type{list}, text,
				cel.UnaryBinding(func(l ref.Val) ref.Val { return join(l, types.String("")) })),
			cel.MemberOverload("list_join_string", []*cel.Type{list, text}, text, cel.BinaryBinding(join))),
		cel.Function("format", cel.DisableDeclaration(true),
			cel.MemberOverload("string_format", []*cel.Type{text, cel.ListType(cel.DynType)}, text)),
		cel.Function("indexOf", cel.DisableDeclaration(true),
			cel.MemberOverload("string_index_of_string", []*cel.Type{text, text}, number)),
		cel.Function("lastIndexOf", cel.DisableDeclaration(true),
			cel.MemberOverload("string_last_index_of_string", []*cel.Type{text, text}, number)),
	}
}

func stringOf(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

// replace replaces the first n occurrences; all of them if n is negative.
func replace(text, old, with, n ref.Val) ref.Val {
	limit, _ := n.(types.Int)
	count := strings.Count(stringOf(text), stringOf(old))
	if limit >= 0 {
		count = min(count, int(min(limit, maxText)))
	}
	if grow := len(stringOf(with)) - len(stringOf(old)); grow > 0 && len(stringOf(text))+count*grow > maxText {
		return types.WrapErr(errLongString)
	}
	return types.String(strings.Replace(stringOf(text), stringOf(old), stringOf(with), count))
}

func join(list, separator ref.Val) ref.Val {
	l, ok := list.(traits.Lister)
	if !ok {
		return types.NoSuchOverloadErr()
	}
	var b strings.Builder
	for it := l.Iterator(); it.HasNext() == types.True; {
		s, ok := it.Next().(types.String)
		switch {
		case !ok:
			return types.WrapErr(errors.New("join takes a list of strings"))
		case b.Len()+len(s)+len(stringOf(separator)) > maxText:
			return types.WrapErr(errLongString)
		}
		b.WriteString(string(s))
		if it.HasNext() == types.True {
			b.WriteString(stringOf(separator))
		}
	}
	return types.String(b.String())
}
