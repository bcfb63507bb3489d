// Rejections: what the customer and the client are told.

package rules

import (
	"slices"

	"github.com/verifyd/verifyd/verification/workflow"
)

// Rejection returns the reason of the rejection that is the decision on a run, and whether it
// has one. While the run waits for its customer, a rejection before the customer's last answer does not count.
func (r Run) Rejection(d workflow.Definition) (workflow.RejectReason, bool) {
	answered := r.Ended == "" && slices.ContainsFunc(r.Steps, func(s Step) bool {
		return (s.Type == workflow.NodeConsent || s.Type == workflow.NodeCustomerInput) && s.CompletedAt.After(r.Verdict.At)
	})
	if r.Decision() != DecisionReject || answered {
		return workflow.RejectReason{}, false
	}
	return d.RejectReason(r.Verdict.Reason)
}

// RejectionText returns what the customer is told about the rejection that is the last event of
// a history, in the language of the customer's last page; empty for nothing.
func RejectionText(d workflow.Definition, history []Event) string {
	language := ""
	for _, e := range history {
		if f, ok := e.Fact.(CustomerSubmitted); ok && f.Language != "" {
			language = f.Language
		}
	}
	f, ok := history[len(history)-1].Fact.(VerdictRecorded)
	if !ok || f.Decision != DecisionReject {
		return ""
	}
	reason, _ := d.RejectReason(f.Reason)
	return reason.In(language).CustomerText
}
