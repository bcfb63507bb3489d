// The record of a run: what a reviewer sees of it.

package desk

import (
	"context"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// RunRecord is a run as a reviewer sees it: its report and its whole history.
type RunRecord struct {
	// Report has the schemas of the data of its cards, and the labels as people read them.
	Report rules.Report
	Action *rules.Action // nil unless a live run waits on a human; without a link
	Review *rules.Review // the entry in the review queue; nil unless the run needs a verdict
	// Seq is the length of the history. A verdict that names it is refused if the
	// run has changed since: see rules.GiveVerdict.
	Seq        int
	History    []rules.Event
	Definition workflow.Definition     // of the version that the run executed
	Documents  []verification.Document // that accepted answers name
	FourEyes   bool                    // a verdict needs two reviewers: see Report.Proposal
	// Verdict is the newest verdict with its reason; its Decision is empty if there is none,
	// or if hits were found since.
	Verdict rules.Verdict
	Subject rules.Subject
	// Elements are named in the labels of Report and Facts. ElementsThen are those of each list that History has, by the index
	// of the event with the list.
	Elements     facts.Elements
	ElementsThen map[int]facts.Elements
	Facts        facts.Facts
	// Input is what the run was started with, and InputSchema describes it.
	Input       verification.Data
	InputSchema workflow.DataSchema
	Asked       []facts.Asked // what the checks were asked, in execution order
	// AskedBefore is what checks were asked on earlier visits that have hits, by VisitAddress.
	AskedBefore map[string]verification.Data
	At          time.Time // when it was read
	ExpiresAt   time.Time // the deadline; zero for never
	Hold        rules.Hold
	// Restriction is the last restriction of a run that is restricted: see Report.Run.RestrictedAt.
	Restriction rules.Restricted
	// Hidden reports whether the record has no personal data, because it was removed or the run is restricted.
	Hidden bool
	// MayRedact reports whether the run has personal data that a redaction removes; if it is refused now,
	// Kept is why: see rules.MayRedact.
	MayRedact bool
	Kept      error

	words []facts.SearchWord // by which the run is found, without those of its elements
}

// RunRecord returns the record of one run, or ErrNotFound. With inFull, it has the personal data of a restricted
// run, too.
func (d *Desk) RunRecord(ctx context.Context, t verification.TenantID, id verification.RunID, inFull bool) (RunRecord, error) {
	read := d.engine.History
	if inFull {
		read = d.engine.HistoryInFull
	}
	h, err := read(ctx, t, id)
	if err != nil {
		return RunRecord{}, err
	}
	r := RunRecord{
		Report: h.Report,
		Seq:    h.Run.Seq, History: h.Events, Documents: h.Run.Documents, At: h.At,
		FourEyes: h.Run.FourEyes(), Verdict: h.Run.Verdict, Input: h.Run.Started.Input,
		ExpiresAt: h.Run.Deadline(), Hold: h.Run.Hold, Definition: h.Program.Version.Definition, Asked: facts.AskedOf(h.Program, h.Run, t),
	}
	r.Hidden = !h.Run.RedactedAt.IsZero() || !h.Run.RestrictedAt.IsZero() && !inFull
	for _, e := range h.Events {
		if f, ok := e.Fact.(rules.Restricted); ok {
			r.Restriction = f
		}
	}
	r.MayRedact, r.Kept = rules.MayRedact(h.Run, h.Events)
	summary := h.Run.Summary()
	r.Action = summary.View(h.At).Action
	if summary.DecisionAt(h.At) == rules.DecisionReview {
		r.Review = summary.Review
	}
	r.InputSchema = r.Definition.InputSchema.Map()
	for i, a := range r.Asked {
		n, _ := r.Definition.Node(a.Node)
		if with := h.Provider(n.Provider).With; a.With != nil && with != nil {
			r.Asked[i].Schema = with.Map()
		}
	}
	schemas := map[verification.NodeID]workflow.DataSchema{}
	for _, c := range r.Report.Cards {
		schemas[c.NodeID] = c.DataSchema
	}
	r.AskedBefore = map[string]verification.Data{}
	for _, c := range r.Report.Cards {
		for _, v := range c.Visits {
			if len(v.Hits()) == 0 {
				continue
			}
			if then, ok := rules.VisitAsked(id, h.Events, c.NodeID, v.Number); ok {
				r.AskedBefore[rules.VisitAddress(c.NodeID, v.Number)] = then.Asked(h.Program, t, c.NodeID)
			}
		}
	}
	r.Report.Concerns = h.Run.Compared(r.Report.Concerns, h.Program, facts.SubjectOf(h.Program, h.Run))
	r.Elements, r.ElementsThen = facts.ElementsOf(h.Program, h.Run), elementsThen(h)
	r.Report = r.Elements.Named(r.Report)
	r.words = slices.DeleteFunc(facts.SearchWords(h.Program, h.Run), func(w facts.SearchWord) bool {
		return slices.ContainsFunc(r.Elements.All, func(e facts.Element) bool { return slices.Contains(e.SearchWords(), w) })
	})
	r.Subject, r.Facts = facts.SubjectOf(h.Program, h.Run), facts.Of(h.Program, h.Run, schemas, r.Asked)
	return r, nil
}

// elementsThen returns RunRecord.ElementsThen.
func elementsThen(h engine.History) map[int]facts.Elements {
	found, run, lists := map[int]facts.Elements{}, rules.Fold(h.Run.ID, nil), []int(nil)
	for i, e := range h.Events {
		if f, ok := e.Fact.(rules.GroupBegan); ok && h.Program.ElementValues(f.Node) != nil {
			lists = append(lists, i)
		}
	}
	for k, at := range lists {
		end := len(h.Events) // of the part of the history in which no other list is read
		if k+1 < len(lists) {
			end = lists[k+1]
		}
		run = run.EvolveAll(h.Events[run.Seq:end])
		found[at] = facts.ElementsOf(h.Program, run)
	}
	return found
}
