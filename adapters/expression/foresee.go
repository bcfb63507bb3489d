// Foresight: what may become of an expression if a value is missing.

package expression

import (
	"cmp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/verifyd/verifyd/verification"
)

// The bounds of one look ahead: the nodes that it visits, and the conditions whose truth is
// assumed because they are there more than once.
const (
	maxForesight = 1 << 16
	maxAssumed   = 8
)

// The names of functions on optional values.
const (
	orValue  = "orValue"
	hasValue = "hasValue"
)

// prospect is a set of what an expression may come to.
type prospect uint8

const (
	isTrue  prospect = 1 << iota // true, or another value
	isFalse                      // false, or another value
	isNone                       // an optional value that is none for the absence
	fails                        // an error, for the absence

	unknown = isTrue | isFalse
)

// foresight evaluates one expression under an absence, for all values that it does not
// know.
type foresight struct {
	*expression
	absence verification.Absence
	assumed map[string]bool     // the truth of conditions, by their texts
	counts  map[string]int      // how often a condition is there, by its text; nil if nobody asks
	texts   map[int64]string    // of conditions
	missing []ast.Expr          // what was read and may be missing
	bound   map[string]prospect // names that macros give to values
	loops   int                 // around what is evaluated
	visits  int
}

func newForesight(e *expression, a verification.Absence) *foresight {
	return &foresight{expression: e, absence: a, texts: map[int64]string{}, bound: map[string]prospect{}}
}

// of returns what an expression may come to.
func (f *foresight) of(x ast.Expr) prospect {
	f.visits++
	switch x.Kind() {
	case ast.LiteralKind:
		return truth(x.AsLiteral())
	case ast.SelectKind:
		return f.selected(x, x.AsSelect().Operand(), x.AsSelect().IsTestOnly())
	case ast.CallKind:
		return f.call(x)
	case ast.ListKind:
		return f.strict(x, x.AsList().Elements()...)
	case ast.MapKind:
		var parts []ast.Expr
		for _, entry := range x.AsMap().Entries() {
			parts = append(parts, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return f.strict(x, parts...)
	case ast.ComprehensionKind:
		return f.loop(x, x.AsComprehension())
	case ast.IdentKind:
		if p, ok := f.bound[x.AsIdent()]; ok {
			return p
		}
	case ast.StructKind, ast.UnspecifiedExprKind:
	}
	return f.condition(x)
}

// loop returns what a macro comes to. Without a list, it only gives a value a name.
func (f *foresight) loop(x ast.Expr, loop ast.ComprehensionExpr) prospect {
	if loop.IterRange().Kind() == ast.ListKind && loop.IterRange().AsList().Size() == 0 {
		named := f.of(loop.AccuInit())
		if named == fails {
			return fails
		}
		outer, shadows := f.bound[loop.AccuVar()]
		f.bound[loop.AccuVar()] = named &^ fails
		result := f.of(loop.Result())
		if delete(f.bound, loop.AccuVar()); shadows {
			f.bound[loop.AccuVar()] = outer
		}
		return result | named&fails
	}
	// The list may be empty, so that a failure of the steps is only possible.
	f.loops++
	step := (f.of(loop.LoopCondition()) | f.of(loop.LoopStep())) & fails
	f.loops--
	return f.strict(x, loop.IterRange(), loop.AccuInit(), loop.Result()) | step
}

// truth returns what is known of a value.
func truth(v ref.Val) prospect {
	switch v {
	case types.True:
		return isTrue
	case types.False:
		return isFalse
	}
	return unknown
}

// strict returns what a node comes to that fails if one of its parts does.
func (f *foresight) strict(x ast.Expr, parts ...ast.Expr) prospect {
	all := prospect(0)
	for _, part := range parts {
		p := f.of(part)
		if p == fails {
			return fails
		}
		all |= p & fails
	}
	return all | f.condition(x)
}

// condition returns what is assumed of an expression as a whole.
func (f *foresight) condition(x ast.Expr) prospect {
	if k := f.tree.GetType(x.ID()).Kind(); f.loops > 0 || k != types.BoolKind && k != types.DynKind {
		return unknown // in a loop a condition has another value each time
	}
	text, ok := f.texts[x.ID()]
	if !ok {
		text, _ = cel.ExprToString(x, f.tree.SourceInfo())
		f.texts[x.ID()] = text
	}
	if text == "" {
		return unknown
	}
	if f.counts != nil {
		f.counts[text]++
	}
	switch holds, ok := f.assumed[text]; {
	case !ok:
		return unknown
	case holds:
		return isTrue
	}
	return isFalse
}

// selected returns what a selection from an operand comes to; has says that the expression
// only asks whether there is a value.
func (f *foresight) selected(x, operand ast.Expr, has bool) prospect {
	of := f.of(operand)
	call := x.Kind() == ast.CallKind
	optional := call && x.AsCall().FunctionName() != operators.Index || f.isOptional(operand)
	if rest := of &^ (fails | isNone); rest == 0 { // there is nothing to select from
		if has && of&isNone != 0 {
			of = of&^isNone | isFalse
		}
		return of
	}
	switch f.known(x) {
	case isPassed:
		return truth(types.Bool(has || f.absence.Passed))
	case isThere:
		if has {
			return isTrue
		}
		return unknown
	case isAbsent:
		switch {
		case has:
			return isFalse
		case optional:
			return isNone
		}
		f.missing = append(f.missing, x)
		return fails
	case isOpen:
	}
	return of&fails | f.condition(x)
}

// knowledge is what an absence says about the value of a path.
type knowledge int

const (
	isOpen   knowledge = iota // nothing
	isThere                   // it has a value
	isPassed                  // it says that the check has passed
	isAbsent
)

func (f *foresight) known(x ast.Expr) knowledge {
	p, ok := f.paths[x.ID()]
	switch {
	case !ok || len(p.keys) == 0:
	case f.absence.Step == "":
		if p.root == nameInput && len(p.keys) == 1 && p.keys[0].name == f.absence.Field {
			return isAbsent
		}
	case p.root != nameSteps || p.keys[0].name != string(f.absence.Step):
	case len(p.keys) == 1:
		return isThere
	case len(p.keys) == 2 && p.keys[1].name == "passed":
		return isPassed
	case len(p.keys) == 2 && p.keys[1].name == "data" && f.absence.Field == "":
		return isAbsent
	case len(p.keys) == 2:
		return isThere
	case len(p.keys) == 3 && p.keys[1].name == "data" && f.absence.Field != "" && p.keys[2].name == f.absence.Field:
		return isAbsent
	}
	return isOpen
}

func (f *foresight) isOptional(x ast.Expr) bool {
	_, optional := typeName(f.tree.GetType(x.ID()))
	return optional
}

// call returns what a call comes to.
func (f *foresight) call(x ast.Expr) prospect {
	call := x.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); {
	case name == operators.LogicalAnd || name == operators.LogicalOr:
		before := len(f.missing)
		a, b := f.of(args[0]), f.of(args[1])
		if name == operators.LogicalAnd {
			a = and(a, b)
		} else {
			a = negated(and(negated(a), negated(b)))
		}
		if a&fails == 0 {
			f.missing = f.missing[:before]
		}
		return a
	case name == operators.LogicalNot:
		return negated(f.of(args[0]))
	case name == operators.NotStrictlyFalse:
		return f.condition(x)
	case name == operators.Conditional:
		of := f.of(args[0])
		all := of & fails
		if of&isTrue != 0 {
			all |= f.of(args[1])
		}
		if of&isFalse != 0 {
			all |= f.of(args[2])
		}
		return all
	case name == operators.Index || name == operators.OptIndex || name == operators.OptSelect:
		if _, constant := f.paths[x.ID()]; constant {
			return f.selected(x, args[0], false)
		}
	case name == "optional.none":
		return isNone
	case slices.Contains(comparisons(), name):
		if holds, ok := f.compared(name, args[0], args[1]); ok {
			return truth(types.Bool(holds))
		}
	case call.IsMemberFunction() && f.isOptional(call.Target()):
		return f.ofOptional(x, call)
	}
	parts := slices.Clone(args)
	if call.IsMemberFunction() {
		parts = append(parts, call.Target())
	}
	return f.strict(x, parts...)
}

// ofOptional returns what a call of a function on an optional value comes to.
func (f *foresight) ofOptional(x ast.Expr, call ast.CallExpr) prospect {
	of := f.of(call.Target())
	if k := f.known(call.Target()); call.FunctionName() == orValue && (k == isPassed || k == isThere) {
		return of
	}
	if of&isNone == 0 && call.FunctionName() != orValue {
		return f.strict(x, append(slices.Clone(call.Args()), call.Target())...)
	}
	all := of &^ isNone
	switch call.FunctionName() {
	case orValue, "or":
		if of == fails {
			return fails
		}
		return all | f.of(call.Args()[0])
	case hasValue:
		return all&fails | isFalse
	case "value":
		f.missing = append(f.missing, x)
		return all | fails
	}
	return all | unknown
}

// and returns what a conjunction comes to: a part that is false makes it false, whatever
// becomes of the other.
func and(a, b prospect) (all prospect) {
	all = (a | b) & isFalse
	if a&isTrue != 0 && b&isTrue != 0 {
		all |= isTrue
	}
	if a&fails != 0 && b&(isTrue|fails) != 0 || b&fails != 0 && a&(isTrue|fails) != 0 {
		all |= fails
	}
	return all
}

func negated(p prospect) prospect {
	n := p & fails
	if p&isTrue != 0 {
		n |= isFalse
	}
	if p&isFalse != 0 {
		n |= isTrue
	}
	return n
}

// comparisons are the operators that compared evaluates.
func comparisons() []string {
	return []string{
		operators.Equals, operators.NotEquals, operators.In,
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	}
}

// compared evaluates a comparison of values that are known under the absence.
func (f *foresight) compared(name string, x, y ast.Expr) (holds, ok bool) {
	v, ok := f.value(x)
	if !ok {
		return false, false
	}
	if name == operators.In {
		if y.Kind() != ast.ListKind {
			return false, false
		}
		for _, item := range y.AsList().Elements() {
			w, ok := f.value(item)
			if !ok {
				return false, false
			}
			holds = holds || v.Equal(w) == types.True
		}
		return holds, true
	}
	w, ok := f.value(y)
	if !ok {
		return false, false
	}
	switch n, ordered := order(v, w); {
	case name == operators.Equals:
		return v.Equal(w) == types.True, true
	case name == operators.NotEquals:
		return v.Equal(w) != types.True, true
	case !ordered:
		return false, false
	case name == operators.Less:
		return n < 0, true
	case name == operators.LessEquals:
		return n <= 0, true
	case name == operators.Greater:
		return n > 0, true
	default:
		return n >= 0, true
	}
}

// value returns the value of an expression if it is known under the absence.
func (f *foresight) value(x ast.Expr) (ref.Val, bool) {
	switch x.Kind() {
	case ast.LiteralKind:
		return x.AsLiteral(), true
	case ast.SelectKind:
		switch k := f.known(x); {
		case x.AsSelect().IsTestOnly() || f.isOptional(x):
		case k == isPassed:
			return types.Bool(f.absence.Passed), true
		case k == isThere && x.AsSelect().FieldName() == "status":
			if f.absence.Passed {
				return types.String(verification.StepPassed), true
			}
			return types.String(verification.StepFailed), true
		}
	case ast.CallKind:
		call := x.AsCall()
		if call.FunctionName() == orValue && call.IsMemberFunction() && f.of(call.Target()) == isNone {
			return f.value(call.Args()[0])
		}
	case ast.ComprehensionKind, ast.IdentKind, ast.ListKind, ast.MapKind, ast.StructKind, ast.UnspecifiedExprKind:
	}
	return nil, false
}

// foresee returns what may become of an expression if none of the conditions before it
// holds.
func foresee(a verification.Absence, before []*expression, e *expression) (p prospect, missing []ast.Expr) {
	all := make([]*foresight, 0, len(before)+1)
	counts, visits := map[string]int{}, 0
	for _, e := range append(slices.Clone(before), e) {
		f := newForesight(e, a)
		f.counts = counts
		f.of(e.tree.Expr())
		f.counts, visits = nil, visits+f.visits
		f.missing = nil
		all = append(all, f)
	}
	var assumed []string
	for text, n := range counts {
		if n > 1 {
			assumed = append(assumed, text)
		}
	}
	slices.Sort(assumed)
	assumed = assumed[:min(len(assumed), maxAssumed)]
	for len(assumed) > 0 && visits<<len(assumed) > maxForesight {
		assumed = assumed[:len(assumed)-1]
	}
	last := all[len(all)-1]
	for n := range 1 << len(assumed) {
		truths := make(map[string]bool, len(assumed))
		for i, text := range assumed {
			truths[text] = n>>i&1 == 1
		}
		reached := true
		for _, f := range all[:len(all)-1] {
			f.assumed = truths
			reached = reached && f.of(f.tree.Expr())&isFalse != 0
		}
		if last.assumed = truths; reached {
			p |= last.of(last.tree.Expr())
			missing = append(missing, last.missing...)
			last.missing = nil
		}
	}
	slices.SortFunc(missing, func(x, y ast.Expr) int { return cmp.Compare(x.ID(), y.ID()) })
	return p, slices.CompactFunc(missing, func(x, y ast.Expr) bool { return x.ID() == y.ID() })
}

// missingValue returns the value that a node reads, as it is written and as it may be missing.
func (e *expression) missingValue(x ast.Expr) verification.MissingValue {
	p := e.paths[x.ID()]
	if x.Kind() == ast.CallKind && x.AsCall().IsMemberFunction() { // of value()
		x = x.AsCall().Target()
		p = e.paths[x.ID()]
	}
	m := verification.MissingValue{Value: p.String(), Optional: p.optional()}
	for {
		switch {
		case x.Kind() == ast.SelectKind:
			x = x.AsSelect().Operand()
			continue
		case x.Kind() == ast.CallKind && len(x.AsCall().Args()) > 0:
			x = x.AsCall().Args()[0]
			continue
		}
		break
	}
	if at, ok := e.tree.SourceInfo().GetOffsetRange(x.ID()); ok {
		m.Character = int(at.Start) + 1
	}
	return m
}

// optional returns a path to data of a step, or to the input, as an expression writes it if the
// data may be missing.
func (p path) optional() string {
	s := p.root
	for i, k := range p.keys {
		next := path{s, []key{k}}.String()
		if rest := strings.TrimPrefix(next, s); i > 0 || p.root == nameInput {
			next = s + rest[:1] + "?" + rest[1:]
		}
		s = next
	}
	return s
}

// absences returns the absences under which an expression may fail.
func (e *expression) absences() (all []verification.Absence) {
	seen := map[verification.Absence]bool{}
	try := func(a verification.Absence) {
		if seen[a] {
			return
		}
		seen[a] = true
		if p, _ := foresee(a, nil, e); p&fails != 0 {
			all = append(all, a)
		}
	}
	for _, read := range e.reads {
		keys := read.path.keys
		switch {
		case read.path.root == nameInput && len(keys) > 0 && !keys[0].list:
			try(verification.Absence{Field: keys[0].name})
		case read.path.root != nameSteps || len(keys) < 2 || keys[1].name != "data":
		default:
			step := verification.NodeID(keys[0].name)
			if try(verification.Absence{Step: step}); len(keys) > 2 && !keys[2].list {
				try(verification.Absence{Step: step, Field: keys[2].name})
				try(verification.Absence{Step: step, Field: keys[2].name, Passed: true})
			}
		}
	}
	return all
}

func (e *expression) readsStep(step verification.NodeID) bool {
	return slices.ContainsFunc(e.reads, func(r read) bool {
		if step == "" {
			return r.path.root == nameInput
		}
		return r.path.root == nameSteps && len(r.path.keys) > 0 && r.path.keys[0].name == string(step)
	})
}

// Reads reports whether the condition reads anything of a step, or of the input.
func (c condition) Reads(step verification.NodeID) bool { return c.readsStep(step) }

// Absences returns the absences under which the condition may fail.
func (c condition) Absences() []verification.Absence { return c.absences() }

// Foresee returns what may become of the condition under an absence.
func (c condition) Foresee(a verification.Absence, before []verification.Condition) verification.Prospect {
	var earlier []*expression
	for _, b := range before {
		if b, ok := b.(condition); ok {
			earlier = append(earlier, b.expression)
		}
	}
	p, missing := foresee(a, earlier, c.expression)
	found := verification.Prospect{Holds: p&isTrue != 0, HoldsNot: p&isFalse != 0}
	for _, x := range missing {
		found.Missing = append(found.Missing, c.missingValue(x))
	}
	return found
}

// Absences returns the absences under which an expression of the template may fail.
func (t template) Absences() (all []verification.Absence) {
	each(t.root, func(f filled) { all = append(all, f.absences()...) })
	return all
}

// Reads reports whether an expression of the template reads anything of a step, or of the
// input.
func (t template) Reads(step verification.NodeID) (reads bool) {
	each(t.root, func(f filled) { reads = reads || f.readsStep(step) })
	return reads
}

// Foresee returns what may become of the template under an absence.
func (t template) Foresee(a verification.Absence, _ []verification.Condition) verification.Prospect {
	found := verification.Prospect{Holds: true}
	each(t.root, func(f filled) {
		p, missing := foresee(a, nil, f.expression)
		found.Holds = found.Holds && p != fails
		for _, x := range missing {
			m := f.missingValue(x)
			m.Path, m.Character = f.path, f.at+m.Character-1
			found.Missing = append(found.Missing, m)
		}
	})
	return found
}
