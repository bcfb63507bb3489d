// The comparison of two names.

package screening

import (
	"context"
	"errors"
	"fmt"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
	"github.com/verifyd/verifyd/verification"
)

// nameMatch is the provider offline.name_match.
type nameMatch struct {
	described
}

// NewNameMatch returns a provider that compares two names. It is also a verification.Describer.
func NewNameMatch() verification.Provider { return &nameMatch{describedAs(NameMatchName)} }

// Check compares name and other of the check's `with`. A score of at least threshold passes.
// A name or a kind that cannot be compared fails the check, with the reason.
func (p *nameMatch) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	w := struct {
		Name      string     `json:"name"`
		Other     string     `json:"other"`
		Kind      names.Kind `json:"kind"`
		Threshold float64    `json:"threshold"`
	}{Kind: names.Person, Threshold: watchlist.ReviewAt}
	if err := p.with.Read(r.With, &w); err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	m, err := watchlist.Same(names.New(), w.Kind, w.Name, w.Other)
	switch {
	case w.Kind != names.Person && w.Kind != names.Company:
		m = watchlist.Comparison{Reasons: []string{"the kind is neither person nor company"}}
	case errors.Is(err, watchlist.ErrNoName):
		m = watchlist.Comparison{Reasons: []string{err.Error()}}
	case err != nil:
		return verification.CheckResult{}, verification.Permanent(fmt.Errorf("%s: with.%w", NameMatchName, err))
	}
	result := verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"score": m.Score, "reasons": m.Reasons}}
	if m.Score < w.Threshold {
		result.Outcome = verification.OutcomeFailed
	}
	return result, nil
}
