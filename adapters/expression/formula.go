// Formulas: conditions that always or never hold, and rules behind others.

package expression

import (
	"fmt"
	"slices"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// maxCases bounds the cases in which formulas are evaluated.
const maxCases = 2048

// formula is a condition as a combination of comparisons. What is not a comparison of an
// operand with a literal is itself an operand, which is true or false.
type formula struct {
	op       string // an operator of CEL; empty for a constant
	constant bool
	parts    []formula // of !, &&, || and the conditional
	operand  string    // of a comparison: its text
	literal  ref.Val   // of a comparison; nil for an operand that is true or false
}

// operand is what formulas say about one operand.
type operand struct {
	literals []ref.Val // sorted, without duplicates; none for true or false
	members  []ref.Val // all values that it can have; nil if they are not known
	// strange says that the operand may have values that are neither equal to a literal,
	// nor less, nor greater: null, or a value of another type.
	strange bool
}

// formulas builds the formulas of one condition.
type formulas struct {
	*meaning
	tree     *ast.AST
	operands map[string]*operand
	unnamed  int // counts the operands that have no text
}

func (b *formulas) of(x ast.Expr) formula {
	switch x.Kind() {
	case ast.LiteralKind:
		if v, ok := x.AsLiteral().(types.Bool); ok {
			return formula{constant: bool(v)}
		}
	case ast.CallKind:
		call := x.AsCall()
		switch f := call.FunctionName(); f {
		case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional:
			parts := make([]formula, len(call.Args()))
			for i, arg := range call.Args() {
				parts[i] = b.of(arg)
			}
			return formula{op: f, parts: parts}
		case operators.Equals, operators.NotEquals,
			operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
			if c, ok := b.comparison(f, call.Args()[0], call.Args()[1]); ok {
				return c
			}
		case operators.In:
			if c, ok := b.membership(call.Args()[0], call.Args()[1]); ok {
				return c
			}
		}
	}
	return formula{op: operators.Equals, operand: b.name(x, false, nil)}
}

// comparison returns the formula of a comparison with a literal.
func (b *formulas) comparison(f string, x, y ast.Expr) (formula, bool) {
	if x.Kind() == ast.LiteralKind {
		x, y = y, x
		switch f {
		case operators.Less:
			f = operators.Greater
		case operators.LessEquals:
			f = operators.GreaterEquals
		case operators.Greater:
			f = operators.Less
		case operators.GreaterEquals:
			f = operators.LessEquals
		}
	}
	if x.Kind() == ast.LiteralKind || y.Kind() != ast.LiteralKind {
		return formula{}, false
	}
	v := y.AsLiteral()
	switch v.(type) {
	case types.String, types.Int, types.Uint, types.Double:
	default:
		return formula{}, false
	}
	name := b.name(x, true, v)
	if name == "" {
		return formula{}, false
	}
	return formula{op: f, operand: name, literal: v}, true
}

func (b *formulas) membership(x, list ast.Expr) (formula, bool) {
	if list.Kind() != ast.ListKind || len(list.AsList().OptionalIndices()) > 0 {
		return formula{}, false
	}
	oneOf := formula{op: operators.LogicalOr}
	for _, item := range list.AsList().Elements() {
		if item.Kind() != ast.LiteralKind {
			return formula{}, false
		}
		c, ok := b.comparison(operators.Equals, x, item)
		if !ok {
			return formula{}, false
		}
		oneOf.parts = append(oneOf.parts, c)
	}
	return oneOf, true
}

// name returns the text of an operand, and notes a literal that it is compared with. It
// returns the empty string if the literal cannot be compared with the others.
func (b *formulas) name(x ast.Expr, compared bool, literal ref.Val) string {
	text, err := cel.ExprToString(x, b.tree.SourceInfo())
	if err != nil {
		b.unnamed++
		text = "#" + strconv.Itoa(b.unnamed) + fmt.Sprintf("%p", b)
	}
	if !compared {
		text = "? " + text
	}
	o := b.operands[text]
	if o == nil {
		o = &operand{strange: true}
		if compared {
			k := b.values(x)
			o.members = k.members
			if s := b.shapeOf(x); s != nil && !s.nullable() {
				o.strange = false
			}
		}
		b.operands[text] = o
	}
	if literal == nil {
		return text
	}
	if !o.note(literal) {
		return ""
	}
	return text
}

// note adds a literal in its order. It reports whether the literal can be compared with the
// others.
func (o *operand) note(literal ref.Val) bool {
	for _, other := range o.literals {
		if _, ok := order(other, literal); !ok {
			return false
		}
	}
	at, found := slices.BinarySearchFunc(o.literals, literal, func(a, b ref.Val) int {
		n, _ := order(a, b)
		return n
	})
	if !found {
		o.literals = slices.Insert(o.literals, at, literal)
	}
	return true
}

// order compares two literals. ok is false if they have no order.
func order(a, b ref.Val) (n int, ok bool) {
	_, text := a.(types.String)
	if _, other := b.(types.String); text != other {
		return 0, false
	}
	c, ok := a.(traits.Comparer)
	if !ok {
		return 0, false
	}
	i, ok := c.Compare(b).(types.Int)
	return int(i), ok
}

// cases returns the number of values of the operand that its literals tell apart: each
// literal, what lies before, between and after them, and strange values.
func (o *operand) cases() int {
	switch {
	case len(o.literals) == 0:
		return 2
	case o.strange:
		return 2*len(o.literals) + 2
	}
	return 2*len(o.literals) + 1
}

// possible reports whether the operand can have a value of a case, as far as its members
// are known.
func (o *operand) possible(n int) bool {
	if o.members == nil || len(o.literals) == 0 {
		return true
	}
	return slices.ContainsFunc(o.members, func(m ref.Val) bool {
		at, found := slices.BinarySearchFunc(o.literals, m, func(a, b ref.Val) int {
			n, _ := order(a, b)
			return n
		})
		if found {
			return n == 2*at+1
		}
		return n == 2*at
	})
}

// system is a set of formulas over the same operands.
type system struct {
	names    []string
	operands map[string]*operand
	count    int
}

// newSystem returns the operands of formulas together; ok is false if there are too many
// cases.
func newSystem(all ...*formulas) (s system, ok bool) {
	s = system{operands: map[string]*operand{}, count: 1}
	for _, f := range all {
		for name, o := range f.operands {
			joint := s.operands[name]
			if joint == nil {
				joint = &operand{members: o.members, strange: o.strange}
				s.operands[name] = joint
				s.names = append(s.names, name)
			}
			for _, literal := range o.literals {
				if !joint.note(literal) {
					return s, false
				}
			}
		}
	}
	slices.Sort(s.names)
	for _, name := range s.names {
		if s.count *= s.operands[name].cases(); s.count > maxCases {
			return s, false
		}
	}
	return s, true
}

// never reports whether f holds in no case; known leaves out the cases that the members
// of operands exclude.
func (s system) never(known bool, f func(at map[string]int) bool) bool {
	at := make(map[string]int, len(s.names))
	for n := range s.count {
		possible := true
		for rest, i := n, 0; i < len(s.names); i++ {
			o := s.operands[s.names[i]]
			at[s.names[i]] = rest % o.cases()
			rest /= o.cases()
			possible = possible && (!known || o.possible(at[s.names[i]]))
		}
		if possible && f(at) {
			return false
		}
	}
	return true
}

// holds evaluates a formula in one case.
func (s system) holds(f formula, at map[string]int) bool {
	switch f.op {
	case "":
		return f.constant
	case operators.LogicalNot:
		return !s.holds(f.parts[0], at)
	case operators.LogicalAnd:
		return !slices.ContainsFunc(f.parts, func(p formula) bool { return !s.holds(p, at) })
	case operators.LogicalOr:
		return slices.ContainsFunc(f.parts, func(p formula) bool { return s.holds(p, at) })
	case operators.Conditional:
		if s.holds(f.parts[0], at) {
			return s.holds(f.parts[1], at)
		}
		return s.holds(f.parts[2], at)
	}
	o, n := s.operands[f.operand], at[f.operand]
	if f.literal == nil {
		return n == 1
	}
	i, _ := slices.BinarySearchFunc(o.literals, f.literal, func(a, b ref.Val) int {
		n, _ := order(a, b)
		return n
	})
	value, literal := n, 2*i+1
	if n > 2*len(o.literals) { // a strange value
		return f.op == operators.NotEquals
	}
	switch f.op {
	case operators.Equals:
		return value == literal
	case operators.NotEquals:
		return value != literal
	case operators.Less:
		return value < literal
	case operators.LessEquals:
		return value <= literal
	case operators.Greater:
		return value > literal
	}
	return value >= literal
}

// judged is a condition as a formula, with what was found in its comparisons.
type judged struct {
	formula
	*formulas
	text  string
	found []workflow.Finding
}

func (n *node) judge(e *expression, checked *cel.Ast, text string) *judged {
	m := &meaning{expression: e, shapes: n.shapes}
	m.comparisons()
	if constantParts(e.tree) {
		tree := n.folded(checked)
		e2 := &expression{paths: map[int64]path{}, tree: tree}
		_ = (&inspection{e2, n.names, n.steps}).visit(tree.Expr(), false) // notes the paths by their new ids
		b := &formulas{meaning: &meaning{expression: e2, shapes: n.shapes}, tree: tree, operands: map[string]*operand{}}
		return &judged{b.of(tree.Expr()), b, text, m.found}
	}
	b := &formulas{meaning: m, tree: e.tree, operands: map[string]*operand{}}
	return &judged{b.of(e.tree.Expr()), b, text, m.found}
}

// constantParts reports whether a part of a tree can be evaluated without a run.
func constantParts(tree *ast.AST) bool {
	literal := func(e ast.Expr) bool { return e.Kind() == ast.LiteralKind }
	found := false
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			args := e.AsCall().Args()
			if e.AsCall().IsMemberFunction() {
				args = append(slices.Clone(args), e.AsCall().Target())
			}
			if e.AsCall().FunctionName() == operators.In && args[1].Kind() == ast.ListKind {
				args = append(slices.Clone(args[1].AsList().Elements()), args[0])
			}
			found = found || len(args) > 0 && !slices.ContainsFunc(args, func(a ast.Expr) bool { return !literal(a) })
		case ast.LiteralKind, ast.ComprehensionKind, ast.IdentKind, ast.ListKind, ast.MapKind, ast.SelectKind,
			ast.StructKind, ast.UnspecifiedExprKind:
		}
	}))
	return found
}

// findings returns what cannot be meant in a condition behind others of the same branch.
func (j *judged) findings(before []*judged) []workflow.Finding {
	if slices.ContainsFunc(j.found, func(f workflow.Finding) bool { return f.Certain }) {
		return j.found // its other problems follow from these
	}
	found := slices.Clone(j.found)
	add := func(certain bool, message string) {
		found = append(found, workflow.Finding{TextError: verification.TextError{Message: message}, Certain: certain})
	}
	if s, ok := newSystem(j.formulas); ok {
		holds := func(at map[string]int) bool { return s.holds(j.formula, at) }
		fails := func(at map[string]int) bool { return !s.holds(j.formula, at) }
		switch {
		case s.never(false, fails):
			add(true, "the condition always holds")
			return found
		case s.never(true, holds):
			add(true, "the condition never holds")
			return found
		case s.never(true, fails):
			add(false, "the condition holds for every value that it reads")
		}
	}
	if i := slices.IndexFunc(before, func(b *judged) bool { return b != nil && b.text == j.text }); i >= 0 {
		add(true, fmt.Sprintf("rules[%d] has the same condition, so this rule is never reached", i))
		return found
	}
	for _, known := range []bool{false, true} {
		if covers := j.behind(before, known); covers != "" {
			add(!known, covers+", so this rule is never reached")
			return found
		}
	}
	return found
}

// behind returns the earlier rules of which one holds whenever the condition holds; empty
// if there are none.
func (j *judged) behind(before []*judged, known bool) string {
	var within []*judged // those that read nothing else
	for i, b := range before {
		if b == nil || !b.shares(j) {
			continue
		}
		if b.reads(j) {
			within = append(within, b)
		}
		if j.covered(known, b) {
			return fmt.Sprintf("rules[%d] holds whenever this condition holds", i)
		}
	}
	if len(within) > 1 && j.covered(known, within...) {
		return "an earlier rule holds whenever this condition holds"
	}
	return ""
}

func (j *judged) shares(other *judged) bool {
	for name := range j.operands {
		if other.operands[name] != nil {
			return true
		}
	}
	return false
}

// reads reports whether j reads only what other reads.
func (j *judged) reads(other *judged) bool {
	for name := range j.operands {
		if other.operands[name] == nil {
			return false
		}
	}
	return true
}

func (j *judged) covered(known bool, by ...*judged) bool {
	all := []*formulas{j.formulas}
	for _, b := range by {
		all = append(all, b.formulas)
	}
	s, ok := newSystem(all...)
	return ok && s.never(known, func(at map[string]int) bool {
		return s.holds(j.formula, at) && !slices.ContainsFunc(by, func(b *judged) bool { return s.holds(b.formula, at) })
	})
}
