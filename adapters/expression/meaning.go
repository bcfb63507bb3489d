// Meaning: comparisons that cannot be meant.

package expression

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/verifyd/verifyd/verification/workflow"
)

// maxMembers is the number of values that a message lists.
const maxMembers = 13

// knownValues says which values an operand of a comparison can have.
type knownValues struct {
	path    string    // what the operand reads, for messages
	members []ref.Val // all values; nil if they are not known
	date    bool      // a text of the form YYYY-MM-DD
	also    []ref.Val // values besides dates
}

// closed reports whether something is known.
func (k knownValues) closed() bool { return k.members != nil || k.date }

func (k knownValues) allows(v ref.Val) bool {
	same := func(m ref.Val) bool { return m.Equal(v) == types.True }
	return slices.ContainsFunc(k.members, same) || slices.ContainsFunc(k.also, same)
}

// meaning looks for comparisons that cannot be meant in one checked expression.
type meaning struct {
	*expression
	shapes *shapes
	found  []workflow.Finding
}

// comparisons checks the operands of ==, !=, <, <=, >, >= and in.
func (m *meaning) comparisons() {
	ast.PostOrderVisit(m.tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		args, function := e.AsCall().Args(), e.AsCall().FunctionName()
		switch function {
		case operators.Equals, operators.NotEquals,
			operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
			m.operand(function, args[0], args[1])
			m.operand(function, args[1], args[0])
		case operators.In:
			if args[1].Kind() == ast.ListKind {
				for _, item := range args[1].AsList().Elements() {
					m.operand(operators.Equals, args[0], item)
				}
			} else if items := m.shapeOf(args[1]); items != nil && items.items != nil {
				m.literal(operators.Equals, valuesOf(items.items, m.paths[args[1].ID()].String()), args[0])
			}
		}
	}))
}

func (m *meaning) operand(function string, of, with ast.Expr) {
	m.literal(function, m.values(of), with)
}

// literal reports a literal that the other operand of a comparison never equals.
func (m *meaning) literal(function string, k knownValues, x ast.Expr) {
	if x.Kind() != ast.LiteralKind || !k.closed() {
		return
	}
	v := x.AsLiteral()
	if _, null := v.(types.Null); null || k.allows(v) {
		return
	}
	ordered := function != operators.Equals && function != operators.NotEquals
	text, isText := v.(types.String)
	switch {
	case k.date && isText:
		m.date(k.path, string(text), ordered, x)
	case k.members == nil || ordered:
	default:
		names := make([]string, len(k.members))
		for i, member := range k.members {
			names[i] = literalText(member)
		}
		hint := ""
		if isText {
			hint = similar(string(text), texts(k.members))
		}
		if len(names) > maxMembers {
			names = append(names[:maxMembers], "...")
		}
		m.report(x, true, "%s is never %s%s (supported: %s)", k.path, literalText(v), hint, strings.Join(names, ", "))
	}
}

func (m *meaning) date(path, text string, ordered bool, x ast.Expr) {
	if _, err := time.Parse(time.DateOnly, text); err == nil {
		return
	}
	for _, layout := range []string{"2006", "2006-01"} {
		if _, err := time.Parse(layout, text); err == nil && ordered {
			m.report(x, false, "%s is a date as YYYY-MM-DD: write a whole date in place of '%s'", path, text)
			return
		}
	}
	m.report(x, true, "%s is a date as YYYY-MM-DD, and '%s' is not such a date", path, text)
}

func (m *meaning) report(x ast.Expr, certain bool, format string, args ...any) {
	f := workflow.Finding{Certain: certain}
	f.Message = oneLine(fmt.Sprintf(format, args...))
	if at, ok := m.tree.SourceInfo().GetOffsetRange(x.ID()); ok {
		f.Character = int(at.Start) + 1
	}
	m.found = append(m.found, f)
}

// values returns what is known of the values of an operand: a path, a path with a default
// value, a literal, or a choice between two of them.
func (m *meaning) values(x ast.Expr) knownValues {
	switch x.Kind() {
	case ast.LiteralKind:
		return knownValues{members: []ref.Val{x.AsLiteral()}}
	case ast.CallKind:
		call := x.AsCall()
		switch {
		case call.FunctionName() == "orValue" && call.IsMemberFunction() && len(call.Args()) == 1:
			return m.values(call.Target()).or(m.values(call.Args()[0]))
		case call.FunctionName() == operators.Conditional:
			return m.values(call.Args()[1]).or(m.values(call.Args()[2]))
		}
	case ast.SelectKind:
		if asks(x) {
			return knownValues{}
		}
	case ast.ComprehensionKind, ast.IdentKind, ast.ListKind, ast.MapKind, ast.StructKind, ast.UnspecifiedExprKind:
		return knownValues{}
	}
	if s := m.shapeOf(x); s != nil {
		return valuesOf(s, m.paths[x.ID()].String())
	}
	return knownValues{}
}

// or returns what is known of a value that is one of k or one of other.
func (k knownValues) or(other knownValues) knownValues {
	switch {
	case !k.closed() || !other.closed():
		return knownValues{}
	case k.path == "" && other.path != "":
		return other.or(k)
	case k.path == "": // two literals
		return knownValues{}
	case k.date && other.date:
		k.also = slices.Concat(k.also, other.also)
	case k.date:
		k.also = slices.Concat(k.also, other.members)
	case other.date:
		return other.or(k)
	default:
		k.members = slices.Concat(k.members, other.members)
	}
	return k
}

func valuesOf(s *shape, path string) knownValues {
	return knownValues{path: path, members: s.members, date: s.date}
}

// shapeOf returns the shape of a path; nil for anything else.
func (m *meaning) shapeOf(x ast.Expr) *shape {
	p, ok := m.paths[x.ID()]
	if !ok {
		return nil
	}
	return m.shapes.find(p)
}

// find returns the shape of a path; nil if it is not known.
func (p *shapes) find(of path) *shape {
	s := p.root.fields[of.root]
	for _, k := range of.keys {
		switch {
		case s == nil:
			return nil
		case k.list:
			s = s.items
		default:
			s = p.field(s, k.name)
		}
	}
	return s
}

// similar returns the end of a message that suggests a member: one that begins like the
// text, or the nearest one. A text of one letter is like none.
func similar(text string, members []string) string {
	if len(text) < 2 {
		return ""
	}
	i := slices.IndexFunc(members, func(m string) bool { return len(text) > 2 && strings.HasPrefix(m, text) })
	if i >= 0 {
		return "; did you mean " + members[i] + "?"
	}
	return workflow.DidYouMean(text, members)
}

// texts returns the texts among values.
func texts(values []ref.Val) (all []string) {
	for _, v := range values {
		if s, ok := v.(types.String); ok {
			all = append(all, string(s))
		}
	}
	return all
}

// literalText returns a literal as an expression writes it.
func literalText(v ref.Val) string {
	if s, ok := v.(types.String); ok {
		return "'" + string(s) + "'"
	}
	return fmt.Sprint(v.Value())
}

// textsOf returns values for a closed set of texts.
func textsOf[S ~string](names ...S) []ref.Val {
	values := make([]ref.Val, len(names))
	for i, name := range names {
		values[i] = types.String(name)
	}
	return values
}

// scalarsOf returns the scalar values of an enumeration, without null; nil if there are
// values of other types or numbers that cannot be read exactly, or more than maxEnum.
func scalarsOf(enum []any) []ref.Val {
	const maxEnum = 1000
	var values []ref.Val
	for _, one := range enum {
		switch one := one.(type) {
		case nil:
		case string, bool, float64:
			values = append(values, types.DefaultTypeAdapter.NativeToValue(one))
		case json.Number:
			v := numberOf(one)
			if types.IsError(v) {
				return nil
			}
			values = append(values, v)
		default:
			return nil
		}
	}
	if len(values) > maxEnum {
		return nil
	}
	return values
}

// folded returns the tree of a condition with its constant parts evaluated.
func (n *node) folded(checked *cel.Ast) *ast.AST {
	fold, err := cel.NewConstantFoldingOptimizer()
	if err != nil {
		return checked.NativeRep()
	}
	optimizer, err := cel.NewStaticOptimizer(fold)
	if err != nil {
		return checked.NativeRep()
	}
	folded, issues := optimizer.Optimize(n.env, checked)
	if issues.Err() != nil {
		return checked.NativeRep()
	}
	return folded.NativeRep()
}
