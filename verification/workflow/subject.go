// Subject and facts: whom a run is about, and what of it is compared.

package workflow

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
	// Kind is FactPerson or FactCompany, no expression; empty means that the workflow does not say.
	Kind FactKind `json:"kind,omitempty"`
}

// Comparison is a fact with the expressions whose values must agree.
type Comparison struct {
	Fact string   `json:"fact"` // what reviewers read, such as Name
	Of   []string `json:"of"`
	// OnDifference says what happens if the values differ; empty means DifferenceNote.
	OnDifference OnDifference `json:"on_difference,omitempty"`
	// Kind says how the values are compared for DifferenceFlag; see Definition.KindOf for what an empty one means.
	Kind FactKind `json:"kind,omitempty"`
}

// The bounds of comparisons.
const (
	maxComparisons = 32
	maxCompared    = 8 // expressions of a comparison
)

// factTexts returns the expressions of `subject` and `compare` and their paths, in the order
// in which rules.FactValues reads their values. Empty ones are left out.
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
		v.check("subject", *s != SubjectFields{Kind: s.Kind}, "must have a name, birth_date, number or portrait")
		oneOf(v, "subject.kind", s.Kind, FactPerson, FactCompany)
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
	if texts, paths := v.def.factTexts(); len(v.def.Compare) <= maxComparisons {
		p.facts = v.values(ctx, l, texts, paths, v.declarations(""))
	}
}

// values compiles expressions for people, and returns them as they are stored; nil if there are none.
func (v *validator) values(ctx context.Context, l ExpressionCompiler, texts, paths []string, declared []Declarations) Values {
	if len(texts) == 0 {
		return nil
	}
	var all []Values // by declarations
	failed := make([]bool, len(texts))
	for _, d := range declared {
		values, problems := l.Values(texts, d)
		for k, err := range problems {
			if err != nil && !failed[k] {
				failed[k] = true
				v.textProblem(paths[k], err)
			}
		}
		if values == nil || ctx.Err() != nil {
			return nil
		}
		all = append(all, values)
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
	return all[0]
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
