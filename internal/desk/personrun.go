// One run in a person's file, without what the file leaves out.

package desk

import (
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// personRun is a run in a person's file.
type personRun struct {
	run        rules.Run
	history    []rules.Event // what the file has
	whole      []rules.Event
	definition workflow.Definition
	at         time.Time
	all        bool // also what may tip a person off
	// screened are the checks that screened. If there are any, nothing is told that may depend
	// on what they found, also if they found nothing.
	screened  map[verification.NodeID]bool
	documents []verification.Document
	element   *personElement // whom the file is about; nil for the person of the run
}

func newPersonRun(id verification.RunID, history []rules.Event, d workflow.Definition, at time.Time, q PersonQuery) personRun {
	run := rules.Fold(id, history)
	r := personRun{
		run: run.AsOf(at), history: history, whole: history, definition: d, at: at, all: q.ScreeningReason != "",
		screened:  map[verification.NodeID]bool{},
		documents: slices.Concat(run.Documents, run.Wait().Uploads),
	}
	r.documents = slices.DeleteFunc(r.documents, func(d verification.Document) bool { return d.ID == "" }) // redacted
	for _, s := range run.Steps {
		if slices.Contains(q.ScreeningChecks, s.Key) {
			r.screened[s.Node] = true
		}
	}
	for _, e := range history {
		switch f := e.Fact.(type) { //nolint:gochecksumtype // only these say that a check screens
		case rules.Dispatched:
			if f.Rescreen != "" || f.Screens {
				r.screened[f.Node] = true
			}
		case rules.ResultRecorded:
			if f.Screening != nil {
				r.screened[f.Node] = true
			}
		}
	}
	return r
}

// hides reports whether the file leaves out what may depend on a screening of the run.
func (r personRun) hides() bool { return !r.all && len(r.screened) > 0 }

// detail returns the run as the API shows it, without what the file leaves out.
func (r personRun) detail() rules.RunDetail {
	d := r.run.Detail(r.at)
	if !r.all {
		d.Notes, d.Proposal = "", rules.Verdict{}
	}
	if !r.hides() {
		return d
	}
	d.Outcome, d.Data, d.Action, d.Error, d.Decision, d.ResolvedAt, d.Flags = "", nil, nil, r.shownError(), rules.DecisionNone, time.Time{}, nil
	d.Checks = slices.DeleteFunc(d.Checks, func(c rules.Check) bool { return r.screens(c.Key) })
	return d
}

// screens reports whether a check that screened has this key.
func (r personRun) screens(key string) bool {
	return slices.ContainsFunc(r.run.Steps, func(s rules.Step) bool { return s.Key == key && r.screened[s.Node] })
}

// hidesList reports whether the file leaves out a list for whose elements steps were made: a screening may have found them.
func (r personRun) hidesList(node verification.NodeID) bool {
	if r.element == nil || !r.hides() {
		return r.hides()
	}
	for step := range r.screened {
		if of, _, _ := step.Parts(); slices.Contains(r.element.reads[node], of) {
			return true
		}
	}
	return false
}

// shownError returns the error of the run unless it is of a check that screened.
func (r personRun) shownError() *rules.RunError {
	if e := r.run.Error; e != nil && !r.screens(e.Check) {
		return e
	}
	return nil
}

// report returns the report for the customer, without what the file leaves out.
func (r personRun) report() rules.Report {
	report := rules.MakePrint(r.run.ID, r.whole, r.at)
	if r.element != nil {
		report = r.element.report(report)
	} else if !r.hides() {
		return report
	} else {
		report.Error = r.shownError()
	}
	report.Summary = rules.ReportSummary{}
	report.Cards = slices.DeleteFunc(report.Cards, func(c rules.Card) bool {
		return r.hides() && (r.screened[c.NodeID] || c.Type == workflow.NodeReview)
	})
	for _, c := range report.Cards {
		switch c.Status {
		case rules.CardOK:
			report.Summary.OK++
		case rules.CardFailed:
			report.Summary.Failed++
		case rules.CardNeedsReview:
			report.Summary.NeedsReview++
		}
	}
	return report
}
