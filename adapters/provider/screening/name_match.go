// The comparison of two names.

package screening

import (
	"context"
	"fmt"

	"github.com/verifyd/verifyd/adapters/provider/screening/names"
	"github.com/verifyd/verifyd/verification"
)

// NameMatch is offline.name_match. It implements verification.Describer.
type NameMatch struct{ comparer *names.Comparer }

// NewNameMatch returns a provider that compares two names.
func NewNameMatch(c *names.Comparer) *NameMatch { return &NameMatch{comparer: c} }

// Check compares name and other of the check's with. A score from threshold on passes.
func (p *NameMatch) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	w := with{values: r.With, optionalKind: true}
	w.only("name", "other", "kind", "threshold")
	a, b := w.text("name", true), w.text("other", true)
	kind := w.kind()
	threshold, _ := w.score("threshold", reviewAt)
	if w.err != nil {
		return verification.CheckResult{}, verification.Permanent(w.err)
	}
	m, err := Compare(p.comparer, kind, a, b)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(fmt.Errorf("with.name and with.other: %w", err))
	}
	result := verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"score": m.Score, "reasons": m.Reasons}}
	if m.Score < threshold {
		result.Outcome = verification.OutcomeFailed
	}
	return result, nil
}

// Describe returns the description of the provider.
func (p *NameMatch) Describe() verification.ProviderDescription {
	return verification.ProviderDescription{
		Summary: "Compares two names, in any script.",
		With: verification.Data(`{
  "type": "object", "additionalProperties": false, "required": ["name", "other"],
  "properties": {
    "name": {"type": "string", "title": "Name"},
    "other": {"type": "string", "title": "Other name"},
    "kind": {"type": "string", "enum": ["person", "company"], "default": "person", "title": "Kind"},
    "threshold": {"type": "number", "minimum": 0.5, "maximum": 1, "default": 0.85, "title": "Threshold"}
  }
}`),
		Data: verification.Data(`{
  "type": "object", "additionalProperties": false, "required": ["score", "reasons"],
  "properties": {
    "score": {"type": "number", "title": "Score"},
    "reasons": {"type": "array", "items": {"type": "string"}, "title": "Reasons"}
  }
}`),
	}
}

// Comparison is the result of comparing two names.
type Comparison struct {
	Score   float64  `json:"score"` // 0 to 1
	Reasons []string `json:"reasons"`
}

// Compare compares two names without a list, so that all tokens tell the same but
// those that very many people share.
func Compare(c *names.Comparer, kind names.Kind, a, b string) (Comparison, error) {
	first, err := c.Parse(kind, a)
	if err != nil {
		return Comparison{}, err
	}
	second, err := c.Parse(kind, b)
	if err != nil {
		return Comparison{}, err
	}
	m := c.Compare(first, second)
	return Comparison{round(float64(m.Score)), explain(m)}, nil
}
