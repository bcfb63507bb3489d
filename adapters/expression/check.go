// From the text of one expression to a program.

package expression

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

type node struct {
	*compiler
	env    *cel.Env
	shapes *shapes
	names  []string // the names that an expression sees
	steps  map[verification.NodeID]workflow.StepDeclaration
	// inspects says to look for what cannot be meant; found is what was found in templates.
	inspects bool
	found    []workflow.Finding
}

type expression struct {
	program cel.Program
	output  *cel.Type
	tree    *ast.AST
	reads   []read         // the longest paths that it selects
	inLoops []string       // what its loops read of the elements of steps, such as steps.owners.items[].passed
	paths   map[int64]path // every path, by the id of the node that selects it
	judged  *judged        // nil unless it was inspected
	clears  bool           // it reads `clear` of a step
}

// read is a path with its text.
type read struct {
	path path
	text string
}

func (c *compiler) node(d workflow.Declarations) (*node, error) {
	n, err := c.over(c.shapesOf(d), d.Steps)
	if n != nil {
		n.inspects = d.Inspect
	}
	return n, err
}

// over returns the compiler of expressions that see the fields of the root shape.
func (c *compiler) over(s *shapes, steps map[verification.NodeID]workflow.StepDeclaration) (*node, error) {
	names := slices.Sorted(maps.Keys(s.root.fields))
	opts := []cel.EnvOption{
		cel.CustomTypeAdapter(adapter{c.base.CELTypeAdapter()}),
		cel.CustomTypeProvider(s),
	}
	for _, name := range names {
		opts = append(opts, cel.Variable(name, s.root.fields[name].cel))
	}
	env, err := c.base.Extend(opts...)
	if err != nil {
		return nil, fmt.Errorf("the declarations cannot be used: %s", oneLine(err.Error()))
	}
	return &node{compiler: c, env: env, shapes: s, names: names, steps: steps}, nil
}

func (n *node) compile(text string) (*expression, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("the expression is empty")
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("the expression is not valid UTF-8")
	}
	parsed, issues := n.env.Parse(text)
	if issues.Err() != nil {
		if at, hint := unknownOperator(text); hint != "" {
			return nil, &verification.TextError{Character: at, Message: hint}
		}
		return nil, problem(text, issues.Errors()[0])
	}
	e := &expression{paths: map[int64]path{}, tree: parsed.NativeRep()}
	if err := (&inspection{e, n.names, n.steps}).visit(parsed.NativeRep().Expr(), false); err != nil {
		return nil, err
	}
	checked, err := n.check(parsed, text, e.paths)
	if err != nil {
		return nil, err
	}
	e.output, e.tree = checked.OutputType(), checked.NativeRep()
	e.inLoops = loops{names: n.names}.reads(nil, e.tree.Expr())
	e.clears = n.readsClear(e.tree)
	if err := n.bounded(checked); err != nil {
		return nil, err
	}
	if n.inspects {
		e.judged = n.judge(e, checked, text)
	}
	opts := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost)}
	if builds(e.tree) {
		size := types.NewSizeCalculator(types.SizeCalculatorMaxDepth(maxDepth))
		opts = append(opts, cel.MemoryTracking(types.MemoryTrackerSizeCalculator(size)), cel.MemoryLimit(maxElements))
	}
	if e.program, err = n.env.Program(checked, opts...); err != nil {
		return nil, fmt.Errorf("the expression cannot be run: %s", oneLine(err.Error()))
	}
	return e, nil
}

// check checks the types of an expression, and says what is wrong with them.
func (n *node) check(parsed *cel.Ast, text string, paths map[int64]path) (*cel.Ast, error) {
	checked, refused := n.typed(parsed, text)
	if refused == nil {
		return checked, nil
	}
	if message := n.operandTypes(text, refused.ExprID); message != "" {
		refused.Message = message
	} else if p, ok := paths[refused.ExprID]; ok {
		refused.Message = p.String() + ": " + refused.Message + n.shapes.suggestion(p)
	}
	return nil, problem(text, refused)
}

// typed checks the types of an expression. Where CEL refuses a call, whole numbers
// among its arguments become doubles, and typed repeats. It returns the first problem.
func (n *node) typed(parsed *cel.Ast, text string) (*cel.Ast, *cel.Error) {
	refused := map[int64]*cel.Error{}
	for {
		checked, issues := n.env.Check(parsed)
		if issues.Err() == nil {
			return checked, nil
		}
		before := len(refused)
		for _, e := range issues.Errors() {
			if refused[e.ExprID] == nil {
				refused[e.ExprID] = e
			}
		}
		if len(refused) == before { // at most maxNodes repetitions
			return nil, refused[issues.Errors()[0].ExprID]
		}
		if parsed, issues = n.env.Parse(text); issues.Err() != nil { // a check changes what was parsed
			return nil, issues.Errors()[0]
		}
		useDoubles(parsed.NativeRep(), refused)
	}
}

// builds reports whether an expression makes new lists or objects. Their size must be
// watched, but not that of what an expression only reads.
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

// readsClear reports whether an expression reads `clear` of a step.
func (n *node) readsClear(tree *ast.AST) (reads bool) {
	isStep := func(x ast.Expr) bool {
		t := tree.GetType(x.ID())
		if _, optional := typeName(t); optional {
			t = t.Parameters()[0]
		}
		s := n.shapes.objects[t.TypeName()]
		return s != nil && s.step
	}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		switch x.Kind() {
		case ast.SelectKind:
			reads = reads || x.AsSelect().FieldName() == fieldClear && isStep(x.AsSelect().Operand())
		case ast.CallKind:
			args := x.AsCall().Args()
			reads = reads || len(args) == 2 && args[1].Kind() == ast.LiteralKind && args[1].AsLiteral() == types.String(fieldClear) && isStep(args[0])
		}
	}))
	return reads
}

// find returns the node with an id, and nil if there is none.
func find(tree *ast.AST, id int64) (found ast.Expr) {
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id {
			found = e
		}
	}))
	return found
}

// problem returns what CEL says of a problem in a text.
func problem(text string, e *cel.Error) error {
	t := &verification.TextError{Message: oneLine(e.Message)}
	if offset, ok := common.NewTextSource(text).LocationOffset(e.Location); ok {
		t.Character = int(offset) + 1
	}
	return t
}
