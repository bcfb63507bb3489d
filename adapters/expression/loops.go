// What the loops of an expression read of the elements of lists.

package expression

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// loops knows which lists the variables of the loops around a node go through.
type loops struct {
	names []string          // the names that the expression sees
	lists map[string]string // by variable
}

// reads adds the paths that start at the variable of a loop over steps. A path to an element has [] in place of its number.
func (l loops) reads(all []string, x ast.Expr) []string {
	if path, ok := l.path(x); ok {
		if strings.Contains(path, "[]") && !slices.Contains(all, path) {
			all = append(all, path)
		}
		return all
	}
	switch x.Kind() {
	case ast.SelectKind:
		return l.reads(all, x.AsSelect().Operand())
	case ast.CallKind:
		if x.AsCall().IsMemberFunction() {
			all = l.reads(all, x.AsCall().Target())
		}
		for _, arg := range x.AsCall().Args() {
			all = l.reads(all, arg)
		}
	case ast.ListKind:
		for _, item := range x.AsList().Elements() {
			if item.Kind() != ast.IdentKind { // filter keeps the element
				all = l.reads(all, item)
			}
		}
	case ast.MapKind:
		for _, entry := range x.AsMap().Entries() {
			all = l.reads(l.reads(all, entry.AsMapEntry().Key()), entry.AsMapEntry().Value())
		}
	case ast.ComprehensionKind:
		loop := x.AsComprehension()
		all = l.reads(all, loop.IterRange())
		inner := loops{l.names, map[string]string{}}
		for name, list := range l.lists {
			if name != loop.IterVar() {
				inner.lists[name] = list
			}
		}
		if list, ok := l.list(loop.IterRange()); ok {
			inner.lists[loop.IterVar()] = list
		}
		for _, part := range []ast.Expr{loop.AccuInit(), loop.LoopCondition(), loop.LoopStep(), loop.Result()} {
			all = inner.reads(all, part)
		}
	case ast.IdentKind, ast.LiteralKind, ast.StructKind, ast.UnspecifiedExprKind:
	}
	return all
}

// list returns the path to the elements of a list: of a list of steps, or of what a loop left of it, such as filter.
func (l loops) list(x ast.Expr) (string, bool) {
	if x.Kind() == ast.ComprehensionKind {
		list, ok := l.list(x.AsComprehension().IterRange())
		return list, ok && keeps(x.AsComprehension())
	}
	path, ok := l.path(x)
	return path + "[]", ok
}

// keeps reports whether a loop makes a list of the elements that it goes through, as filter does.
func keeps(loop ast.ComprehensionExpr) (yes bool) {
	ast.PostOrderVisit(loop.LoopStep(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() == ast.ListKind && x.AsList().Size() == 1 {
			item := x.AsList().Elements()[0]
			yes = yes || item.Kind() == ast.IdentKind && item.AsIdent() == loop.IterVar()
		}
	}))
	return yes
}

// path returns the path that a node stands for: selections on a step, or on the variable of a loop.
func (l loops) path(x ast.Expr) (string, bool) {
	if x.Kind() == ast.IdentKind {
		list, bound := l.lists[x.AsIdent()]
		return list, bound
	}
	if p, ok := (&inspection{names: l.names}).pathOf(x); ok {
		return p.String(), p.root == nameSteps
	}
	switch x.Kind() {
	case ast.SelectKind:
		of, ok := l.path(x.AsSelect().Operand())
		return pathTo(of, x.AsSelect().FieldName()), ok
	case ast.CallKind:
		args := x.AsCall().Args()
		switch x.AsCall().FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			if args[1].Kind() != ast.LiteralKind {
				return "", false
			}
			k, known := keyOf(args[1])
			of, ok := l.path(args[0])
			if k.list {
				return of + "[]", ok && known
			}
			return pathTo(of, k.name), ok && known
		}
	case ast.ComprehensionKind, ast.IdentKind, ast.ListKind, ast.LiteralKind, ast.MapKind, ast.StructKind, ast.UnspecifiedExprKind:
	}
	return "", false
}
