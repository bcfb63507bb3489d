// The record of a run: what a reviewer sees of it.

package engine

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// RunRecord is a run as a reviewer sees it: its report and its whole history.
type RunRecord struct {
	// Report has the schemas of the data of its cards.
	Report verification.Report
	Action *verification.Action // nil unless a live run waits on a human; without a link
	Review *verification.Review // the entry in the review queue; nil unless the run needs a verdict
	// Seq is the length of the history. A verdict that names it is refused if the
	// run has changed since: see VerdictRequest.
	Seq        int
	History    []verification.Event
	Definition verification.Definition // of the version that the run executed
	Documents  []verification.Document // that accepted answers name
	FourEyes   bool                    // a verdict needs two reviewers: see Report.Proposal
	At         time.Time               // when it was read
}

// RunRecord returns the record of one run, or ErrNotFound.
func (e *Engine) RunRecord(ctx context.Context, t verification.TenantID, id verification.RunID) (RunRecord, error) {
	h, err := e.history(ctx, verification.RunRef{Tenant: t, Run: id})
	if err != nil {
		return RunRecord{}, err
	}
	r := RunRecord{
		Report: h.report, Action: h.run.Summary().View(h.at).Action,
		Seq: h.run.Seq, History: h.events, Documents: h.run.Documents, At: h.at,
		FourEyes: h.run.Started.FourEyes,
	}
	if summary := h.run.Summary(); summary.DecisionAt(h.at) == verification.DecisionReview {
		r.Review = summary.Review
	}
	program, err := e.describeCards(ctx, t, r.Report)
	r.Definition = program.Version.Definition
	return r, err
}
