// The paths that an expression reads, and what it must not do.

package expression

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	celoperators "cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// inspection notes the paths of an expression, and refuses what the type checker
// accepts or has no clear message for.
type inspection struct {
	*expression
	names []string // the names that the expression sees
	steps map[verification.NodeID]workflow.StepDeclaration
}

// visit inspects one node. inPath says that it is part of a longer path.
func (e *inspection) visit(x ast.Expr, inPath bool) error {
	if p, ok := e.pathOf(x); ok {
		e.paths[x.ID()] = p
		if p.root == nameSteps && (len(p.keys) == 1 || !inPath && len(p.keys) == 0) {
			if err := e.step(x, p); err != nil {
				return err
			}
		}
		if !inPath {
			if text := p.String(); !slices.ContainsFunc(e.reads, func(r read) bool { return r.text == text }) {
				e.reads = append(e.reads, read{p, text})
			}
		}
	}
	switch x.Kind() {
	case ast.SelectKind:
		return e.visit(x.AsSelect().Operand(), e.isPath(x))
	case ast.CallKind:
		return e.visitCall(x)
	case ast.ListKind:
		return e.visitAll(x.AsList().Elements())
	case ast.MapKind:
		for _, entry := range x.AsMap().Entries() {
			if err := e.visitAll([]ast.Expr{entry.AsMapEntry().Key(), entry.AsMapEntry().Value()}); err != nil {
				return err
			}
		}
	case ast.StructKind:
		return e.problem(x, "an object of the type %s cannot be made here", x.AsStruct().TypeName())
	case ast.ComprehensionKind:
		loop := x.AsComprehension()
		for _, name := range []string{loop.IterVar(), loop.IterVar2(), loop.AccuVar()} {
			if slices.Contains(e.names, name) {
				return e.problem(x, "a variable cannot have the name %s", name)
			}
		}
		return e.visitAll([]ast.Expr{
			loop.IterRange(), loop.AccuInit(), loop.LoopCondition(), loop.LoopStep(), loop.Result(),
		})
	case ast.IdentKind, ast.LiteralKind, ast.UnspecifiedExprKind:
	}
	return nil
}

// step checks that a path that begins with steps leads to a step that can have run.
func (e *inspection) step(x ast.Expr, p path) error {
	if len(p.keys) == 0 {
		return e.problem(x, "steps must be followed by the name of a step")
	}
	name := p.keys[0].name
	switch step, declared := e.steps[verification.NodeID(name)]; {
	case !declared && len(e.withKey(name)) > 0:
		return e.problem(x, "there is no step %s; the step with this key is %s", name, strings.Join(e.withKey(name), " or "))
	case !declared:
		return e.problem(x, "there is no step %s%s", name, workflow.DidYouMean(name, slices.Sorted(maps.Keys(e.steps))))
	case !step.MayPrecede:
		return e.problem(x, "the step %s cannot have run before this node", name)
	}
	return nil
}

// withKey returns the steps whose check has a key.
func (e *inspection) withKey(key string) (names []string) {
	for name, step := range e.steps {
		if step.Key == key {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

func (e *inspection) problem(x ast.Expr, format string, args ...any) error {
	t := &verification.TextError{Message: fmt.Sprintf(format, args...)}
	if at, ok := e.tree.SourceInfo().GetOffsetRange(x.ID()); ok {
		t.Character = int(at.Start) + 1
	}
	return t
}

func (e *inspection) visitAll(xs []ast.Expr) error {
	for _, x := range xs {
		if err := e.visit(x, false); err != nil {
			return err
		}
	}
	return nil
}

func (e *inspection) visitCall(x ast.Expr) error {
	call := x.AsCall()
	if call.IsMemberFunction() {
		if err := e.visit(call.Target(), false); err != nil {
			return err
		}
		if strings.HasPrefix(call.FunctionName(), "get") && len(call.Args()) == 1 && !isOffset(call.Args()[0]) {
			return e.problem(call.Args()[0], `the time zone of %s must be "UTC" or an offset such as "+05:30"`, call.FunctionName())
		}
	}
	for i, arg := range call.Args() {
		if err := e.visit(arg, i == 0 && e.isPath(x)); err != nil {
			return err
		}
	}
	return nil
}

// isOffset reports whether a time zone needs no time zone database, which differs
// between hosts.
func isOffset(x ast.Expr) bool {
	if x.Kind() != ast.LiteralKind {
		return false
	}
	zone, _ := x.AsLiteral().(types.String)
	s := string(zone)
	return s == "UTC" || len(s) == 6 && (s[0] == '+' || s[0] == '-') && s[3] == ':' &&
		strings.Trim(s[1:3]+s[4:], "0123456789") == ""
}

// asks reports whether a node is has(...) of a path: it comes to true or false, and not to the value of the path.
func asks(x ast.Expr) bool { return x.Kind() == ast.SelectKind && x.AsSelect().IsTestOnly() }

func (e *inspection) isPath(x ast.Expr) bool {
	_, ok := e.pathOf(x)
	return ok
}

// pathOf returns the path that a node stands for: selections and constant
// indices, optional ones included, on one of the global names. That of has(...) is the path that it asks about.
func (e *inspection) pathOf(x ast.Expr) (path, bool) {
	switch x.Kind() {
	case ast.IdentKind:
		name := strings.TrimPrefix(x.AsIdent(), ".")
		return path{root: name}, slices.Contains(e.names, name)
	case ast.SelectKind:
		p, ok := e.pathOf(x.AsSelect().Operand())
		return p.to(key{name: x.AsSelect().FieldName()}), ok
	case ast.CallKind:
		call := x.AsCall()
		switch call.FunctionName() {
		case celoperators.Index, celoperators.OptIndex, celoperators.OptSelect:
		default:
			return path{}, false
		}
		if len(call.Args()) != 2 || call.Args()[1].Kind() != ast.LiteralKind {
			return path{}, false
		}
		k, ok := keyOf(call.Args()[1])
		if !ok {
			return path{}, false
		}
		p, ok := e.pathOf(call.Args()[0])
		return p.to(k), ok
	case ast.ComprehensionKind, ast.ListKind, ast.LiteralKind, ast.MapKind, ast.StructKind, ast.UnspecifiedExprKind:
	}
	return path{}, false
}

func keyOf(x ast.Expr) (key, bool) {
	switch v := x.AsLiteral().(type) {
	case types.String:
		return key{name: string(v)}, true
	case types.Int:
		return key{index: int64(v), list: true}, true
	case types.Uint:
		return key{index: int64(min(v, math.MaxInt64)), list: true}, true
	}
	return key{}, false
}

func (p path) to(k key) path {
	return path{p.root, append(slices.Clip(p.keys), k)}
}
