// From the text of one expression to a program.

package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/verifyd/verifyd/verification"
)

// compiler compiles the expressions of one node.
type compiler struct {
	env    *cel.Env
	shapes *shapes
	steps  map[verification.NodeID]verification.StepDeclaration
	done   map[string]*expression // by text
}

// expression is one compiled expression.
type expression struct {
	program cel.Program
	output  *cel.Type
	tree    *ast.AST
	reads   []read         // the longest paths that it selects
	paths   map[int64]path // every path, by the node that selects it
}

// read is a path with its text.
type read struct {
	path path
	text string
}

func (l *Compiler) compiler(d verification.Declarations) (*compiler, error) {
	input := l.inputShapes(d.Input)
	s := newShapes(input)
	s.declare(input.root.fields[nameInput], d)
	opts := []cel.EnvOption{
		cel.CustomTypeAdapter(adapter{l.base.CELTypeAdapter()}),
		cel.CustomTypeProvider(s),
	}
	for _, name := range globals() {
		opts = append(opts, cel.Variable(name, s.root.fields[name].cel))
	}
	env, err := l.base.Extend(opts...)
	if err != nil {
		return nil, fmt.Errorf("the declarations cannot be used: %s", oneLine(err.Error()))
	}
	return &compiler{env: env, shapes: s, steps: d.Steps, done: map[string]*expression{}}, nil
}

// compile compiles a text once for a node, however often it occurs there.
func (c *compiler) compile(text string) (*expression, error) {
	if e := c.done[text]; e != nil {
		return e, nil
	}
	e, err := c.compileNew(text)
	if err != nil {
		return nil, err
	}
	c.done[text] = e
	return e, nil
}

func (c *compiler) compileNew(text string) (*expression, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("the expression is empty")
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("the expression is not valid UTF-8")
	}
	checked, err := c.check(text)
	if err != nil {
		return nil, err
	}
	tree := checked.NativeRep()
	e := &expression{output: checked.OutputType(), tree: tree, paths: map[int64]path{}}
	if err := e.inspect(tree); err != nil {
		return nil, err
	}
	if err := c.bounded(checked); err != nil {
		return nil, err
	}
	opts := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost)}
	if builds(tree) {
		opts = append(opts, cel.MemoryLimit(maxElements))
	}
	if e.program, err = c.env.Program(checked, opts...); err != nil {
		return nil, fmt.Errorf("the expression cannot be run: %s", oneLine(err.Error()))
	}
	return e, nil
}

// check parses and type-checks. Where a whole number is compared for equality
// with a double, which CEL's checker refuses and its run time does not, it
// tries again with the check taken off that place.
func (c *compiler) check(text string) (*cel.Ast, error) {
	loose := map[int64]int{}
	for {
		parsed, issues := c.env.Parse(text)
		if issues.Err() != nil {
			if at := assignment(text, issues.Errors()); at != "" {
				return nil, errors.New("use == to compare" + at)
			}
			return nil, c.describe(issues, nil)
		}
		for id, arg := range loose {
			loosen(parsed.NativeRep(), id, arg)
		}
		checked, issues := c.env.Check(parsed)
		if issues.Err() == nil {
			return checked, nil
		}
		before := len(loose)
		for _, fault := range issues.Errors() {
			if arg, ok := mixesNumbers(fault); ok {
				loose[fault.ExprID] = arg
			}
		}
		if len(loose) == before {
			return nil, c.describe(issues, parsed.NativeRep())
		}
	}
}

// assignment returns the place of the first error when a single = stands there,
// and the empty string otherwise.
func assignment(text string, faults []*cel.Error) string {
	if len(faults) == 0 || faults[0].Location == nil || faults[0].Location.Line() < 1 {
		return ""
	}
	lines := strings.Split(text, "\n")
	line, column := faults[0].Location.Line()-1, faults[0].Location.Column()
	if line >= len(lines) {
		return ""
	}
	runes := []rune(lines[line])
	if column < 0 || column >= len(runes) || runes[column] != '=' {
		return ""
	}
	if column+1 < len(runes) && strings.ContainsRune("=<>", runes[column+1]) || column > 0 && strings.ContainsRune("=!<>", runes[column-1]) {
		return ""
	}
	return place(faults[0].Location)
}

// mixesNumbers tells whether the checker refused a call only for the difference
// between whole numbers and doubles, and which argument to loosen: -1 for the
// target of a member call, from 0 for the others.
func mixesNumbers(fault *cel.Error) (arg int, ok bool) {
	name, args, ok := refusedCall(fault.Message)
	if !ok {
		return 0, false
	}
	for i := range args {
		args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "wrapper(double)", "int"), "double", "int")
	}
	switch {
	case (name == "_==_" || name == "_!=_") && len(args) == 2 && args[0] == args[1]:
		return 1, true
	case name == "@in" && len(args) == 2 && args[1] == "list("+args[0]+")":
		return 0, true
	case name == "_?_:_" && len(args) == 3 && args[1] == args[2]:
		return 2, true
	case name == "orValue" && len(args) == 2 && args[0] == "optional_type("+args[1]+")":
		return 0, true
	}
	return 0, false
}

// loosen takes the type off an argument of the call with this id.
func loosen(tree *ast.AST, id int64, arg int) {
	build := ast.NewExprFactory()
	next := ast.MaxID(tree) + 1
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() != id || e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		args := slices.Clone(call.Args())
		if arg >= len(args) {
			return
		}
		if at, ok := tree.SourceInfo().GetOffsetRange(args[arg].ID()); ok {
			tree.SourceInfo().SetOffsetRange(next, at)
		}
		args[arg] = build.NewCall(next, "dyn", build.CopyExpr(args[arg]))
		if call.IsMemberFunction() {
			e.SetKindCase(build.NewMemberCall(id, call.FunctionName(), call.Target(), args...))
		} else {
			e.SetKindCase(build.NewCall(id, call.FunctionName(), args...))
		}
	}))
}

// builds tells whether a tree makes new lists or objects, so that their size
// must be watched.
func builds(tree *ast.AST) bool {
	found := false
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ListKind, ast.MapKind, ast.ComprehensionKind:
			found = true
		}
	}))
	return found
}

func mayBeBoolean(t *cel.Type) bool {
	return t.Kind() == types.BoolKind || t.Kind() == types.DynKind
}
