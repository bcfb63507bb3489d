// The comparison of two names.

package screening

import (
	"context"
	"errors"
	"fmt"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/verification"
)

// NameMatch is the provider offline.name_match. It implements verification.Describer.
type NameMatch struct {
	described
	comparer *names.Comparer
}

// NewNameMatch returns a provider that compares two names.
func NewNameMatch() *NameMatch { return &NameMatch{describedAs(NameMatchName), names.New()} }

// Check compares name and other of the check's `with`. A score of at least threshold passes.
// A name or a kind that cannot be compared fails the check, with the reason.
func (p *NameMatch) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	w := struct {
		Name      string     `json:"name"`
		Other     string     `json:"other"`
		Kind      names.Kind `json:"kind"`
		Threshold float64    `json:"threshold"`
	}{Kind: names.Person, Threshold: reviewAt}
	if err := p.with.Read(r.With, &w); err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	m, err := p.Same(w.Kind, w.Name, w.Other)
	switch {
	case w.Kind != names.Person && w.Kind != names.Company:
		m = Comparison{Reasons: []string{"the kind is neither person nor company"}}
	case errors.Is(err, ErrNoName):
		m = Comparison{Reasons: []string{err.Error()}}
	case err != nil:
		return verification.CheckResult{}, verification.Permanent(fmt.Errorf("%s: with.%w", NameMatchName, err))
	}
	result := verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"score": m.Score, "reasons": m.Reasons}}
	if m.Score < w.Threshold {
		result.Outcome = verification.OutcomeFailed
	}
	return result, nil
}

// Comparison is the result of comparing two names.
type Comparison struct {
	Score   float64  `json:"score"` // 0 to 1
	Reasons []string `json:"reasons"`
}

// ErrNoName is the error of a name without a letter and a digit.
var ErrNoName = names.ErrNoName

// Same scores whether two names are the name of one person or company, as Check does: a word
// that only one name has lowers the score, except one middle name. kind is person or company.
func (p *NameMatch) Same(kind names.Kind, a, b string) (Comparison, error) {
	first, err := p.comparer.ParseRegistered(kind, a)
	if err != nil {
		return Comparison{}, fmt.Errorf("name: %w", err)
	}
	second, err := p.comparer.ParseRegistered(kind, b)
	if err != nil {
		return Comparison{}, fmt.Errorf("other: %w", err)
	}
	m := p.comparer.Identify(first, second)
	return Comparison{round(float64(m.Score)), explain(m, "the other name")}, nil
}

// Compare compares two names as a search does, without a list: all words have the same
// weight, except those that very many people share. kind is person or company.
func (p *NameMatch) Compare(kind names.Kind, a, b string) (Comparison, error) {
	first, err := p.comparer.Parse(kind, a)
	if err != nil {
		return Comparison{}, fmt.Errorf("name: %w", err)
	}
	second, err := p.comparer.Parse(kind, b)
	if err != nil {
		return Comparison{}, fmt.Errorf("other: %w", err)
	}
	m := p.comparer.Compare(first, second)
	return Comparison{round(float64(m.Score)), explain(m, "the other name")}, nil
}
