// Subject and facts: whom a run is about, and what of it is compared.

package verification

import (
	"context"
	"fmt"
	"slices"
)

// SubjectFields say whom the runs of a workflow are about. Each field is an expression, such
// as steps.details.data.name; empty for none.
type SubjectFields struct {
	Name      string `json:"name,omitempty"`
	BirthDate string `json:"birth_date,omitempty"`
	Number    string `json:"number,omitempty"`   // of an identity document
	Portrait  string `json:"portrait,omitempty"` // the answer of an image field
}

// Comparison is a fact with the expressions whose values must agree.
type Comparison struct {
	Fact string   `json:"fact"` // what reviewers read, such as Name
	Of   []string `json:"of"`
	// OnDifference says what happens if the values differ; empty means DifferenceNote.
	OnDifference OnDifference `json:"on_difference,omitempty"`
	// Kind says how the values are compared for DifferenceFlag. It is empty for names of people if
	// one of the values is the name of the subject or of a field called name, and else for FactText.
	Kind FactKind `json:"kind,omitempty"`
}

// The bounds of comparisons.
const (
	maxComparisons = 32
	maxCompared    = 8 // expressions of a comparison
)

// FactValue is the value of an expression of `subject` or `compare` in a run.
type FactValue struct {
	// Value is a plain value of JSON; nil if it is not given: the run has no such value yet,
	// or it cannot be evaluated.
	Value any
	// Unclear says that there is no Value because the expression cannot be evaluated, or its
	// value is too large.
	Unclear bool
	// Reads are the paths that the expression reads, such as steps.pan.data.name.
	Reads []string
}

// FactValues are the values of the expressions of `subject` and `compare` in a run.
type FactValues struct {
	Name, BirthDate, Number, Portrait FactValue
	Compared                          [][]FactValue // by comparison, in the order of Of
}

// FactValues evaluates the expressions of `subject` and `compare`. It never fails.
func (p Program) FactValues(r Run) FactValues {
	def := p.Version.Definition
	var all []any
	if p.facts != nil {
		all = p.facts.Evaluate(r.scope())
	}
	next := 0
	value := func(text string) (v FactValue) {
		if text == "" {
			return v
		}
		if next < len(all) {
			v = FactValue{Value: all[next], Reads: p.facts.Reads(next)}
			if _, v.Unclear = v.Value.(error); v.Unclear {
				v.Value = nil
			}
		}
		next++
		return v
	}
	var f FactValues
	if s := def.Subject; s != nil {
		f.Name, f.BirthDate, f.Number, f.Portrait = value(s.Name), value(s.BirthDate), value(s.Number), value(s.Portrait)
	}
	for _, c := range def.Compare {
		row := make([]FactValue, len(c.Of))
		for i, text := range c.Of {
			row[i] = value(text)
		}
		f.Compared = append(f.Compared, row)
	}
	return f
}

// factTexts returns the expressions of `subject` and `compare` and their paths, in the order
// in which FactValues reads their values. Empty ones are left out.
func (d Definition) factTexts() (texts, paths []string) {
	add := func(path, text string) {
		if text != "" {
			texts, paths = append(texts, text), append(paths, path)
		}
	}
	if s := d.Subject; s != nil {
		add("subject.name", s.Name)
		add("subject.birth_date", s.BirthDate)
		add("subject.number", s.Number)
		add(portraitPath, s.Portrait)
	}
	for i, c := range d.Compare {
		for k, text := range c.Of {
			add(fmt.Sprintf("compare[%d].of[%d]", i, k), text)
		}
	}
	return texts, paths
}

const portraitPath = "subject.portrait"

// subject checks the form of `subject` and `compare`.
func (v *validator) subject() {
	if s := v.def.Subject; s != nil {
		v.check("subject", *s != SubjectFields{}, "must have a name, birth_date, number or portrait")
		for path, text := range map[string]string{
			"subject.name": s.Name, "subject.birth_date": s.BirthDate, "subject.number": s.Number, portraitPath: s.Portrait,
		} {
			v.length(path, text, 0, maxText)
		}
	}
	if !v.check("compare", len(v.def.Compare) <= maxComparisons, "must be at most %d facts", maxComparisons) {
		return
	}
	facts := map[string]bool{}
	for i, c := range v.def.Compare {
		at := fmt.Sprintf("compare[%d]", i)
		v.length(at+".fact", c.Fact, 1, maxLabel)
		v.check(at+".fact", !facts[c.Fact] || c.Fact == "", "is there twice")
		facts[c.Fact] = true
		v.check(at+".of", len(c.Of) >= 2 && len(c.Of) <= maxCompared, "must have 2 to %d expressions", maxCompared)
		for k, text := range c.Of {
			v.length(fmt.Sprintf("%s.of[%d]", at, k), text, 1, maxText)
		}
		v.difference(at, c)
	}
}

// facts compiles the expressions of `subject` and `compare`. All steps may have run.
func (v *validator) facts(ctx context.Context, l ExpressionCompiler, p *Program) {
	texts, paths := v.def.factTexts()
	if len(texts) == 0 || len(v.def.Compare) > maxComparisons {
		return
	}
	var all []Values // by declarations
	failed := make([]bool, len(texts))
	for i, d := range v.declarations("") {
		values, problems := l.Values(texts, d)
		for k, err := range problems {
			if err != nil && !failed[k] {
				failed[k] = true
				v.textProblem(paths[k], err)
			}
		}
		if values == nil || ctx.Err() != nil {
			return
		}
		if all = append(all, values); i == 0 {
			p.facts = values
		}
	}
	for k, path := range paths {
		if failed[k] {
			continue
		}
		found := make([][]Finding, len(all))
		for i := range all {
			found[i] = all[i].Findings(k)
		}
		v.findings(path, found)
		v.factType(path, all[len(all)-1].Types(k))
	}
	v.differences(p)
}

// factType checks the JSON types that a value may have; nil if they are not known.
func (v *validator) factType(path string, types []string) {
	object := slices.Contains(types, "object")
	switch {
	case types == nil:
	case path == portraitPath:
		v.check(path, object, "must be the answer of an image field, such as steps.details.data.photo")
	default:
		v.check(path, !object, "must be a text, a number or a list, not an object")
	}
}
