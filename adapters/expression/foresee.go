// Foresight: what may become of an expression if a value is missing.

package expression

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/verifyd/verifyd/verification/workflow"
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
	absence workflow.Absence
	assumed map[string]bool     // the truth of conditions, by their texts
	counts  map[string]int      // how often a condition is there, by its text; nil if nobody asks
	texts   map[int64]string    // of conditions
	missing []ast.Expr          // what was read and may be missing
	bound   map[string]prospect // names that macros give to values
	loops   int                 // around what is evaluated
	visits  int
}

func newForesight(e *expression, a workflow.Absence) *foresight {
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
	case isMet:
		return truth(types.Bool(has || f.absence.Met))
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
	isMet                     // it says that the group of the check has passed
	isAbsent
)

func (f *foresight) known(x ast.Expr) knowledge {
	p, ok := f.paths[x.ID()]
	if !ok || len(p.keys) == 0 {
		return isOpen
	}
	if f.absence.Step == "" {
		if p.root == nameInput && len(p.keys) == 1 && p.keys[0].name == f.absence.Field {
			return isAbsent
		}
		return isOpen
	}
	step, keys, ok := p.step()
	group, _, _ := f.absence.Step.Parts()
	switch {
	case !ok:
	case step == group && step != f.absence.Step && len(keys) == 1 && (keys[0].name == "passed" || keys[0].name == fieldClear && !f.absence.Met):
		return isMet // what is clear has passed
	case step != f.absence.Step:
	case len(keys) == 0 && f.absence.NotCalled:
		return isAbsent
	case len(keys) == 0:
		return isThere
	case len(keys) == 1 && (keys[0].name == "passed" || keys[0].name == fieldClear && !f.absence.Passed):
		return isPassed
	case len(keys) == 1 && keys[0].name == "data" && f.absence.Field == "":
		return isAbsent
	case len(keys) == 1:
		return isThere
	case len(keys) == 2 && keys[0].name == "data" && f.absence.Field != "" && keys[1].name == f.absence.Field:
		return isAbsent
	}
	return isOpen
}

func (f *foresight) isOptional(x ast.Expr) bool {
	_, optional := typeName(f.tree.GetType(x.ID()))
	return optional
}
