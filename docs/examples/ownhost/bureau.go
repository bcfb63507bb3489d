// The provider bureau: the credit score of a PAN.

package main

import (
	"context"
	"errors"

	"github.com/verifyd/verifyd/verification"
)

// goodScore is the score from which a check passes.
const goodScore = 600

// bureau has the credit scores of PANs. It implements verification.Provider and
// verification.Describer.
type bureau struct{ scores map[string]int }

// Check passes if the score of with.pan is good.
func (b bureau) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	pan, _ := r.With["pan"].(string)
	score, known := b.scores[pan]
	if !known {
		return verification.CheckResult{}, verification.Permanent(errors.New("the bureau does not know the PAN"))
	}
	result := verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"score": score}}
	if score < goodScore {
		result.Outcome = verification.OutcomeFailed
	}
	return result, nil
}

// Describe says what `with` and the data have, so that workflows are checked against it.
func (bureau) Describe() verification.ProviderDescription {
	return verification.ProviderDescription{
		Summary: "The credit score of a person.",
		With:    verification.Data(`{"type": "object", "required": ["pan"], "properties": {"pan": {"type": "string"}}}`),
		Data:    verification.Data(`{"type": "object", "required": ["score"], "x-always": true, "properties": {"score": {"type": "integer", "title": "Credit score"}}}`),
	}
}
