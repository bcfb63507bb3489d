// Reports: runs as documents.

package rules

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// CardStatus is the status of a step on a report.
type CardStatus string

// The card statuses.
const (
	CardOK          CardStatus = "ok"
	CardFailed      CardStatus = "failed"
	CardNeedsReview CardStatus = "needs_review"
)

// Report is a run as a document. It depends only on the history and on the time
// (whether the deadline has passed). See docs/api.md, "Report".
type Report struct {
	Run      ReportRun
	Workflow ReportWorkflow
	Summary  ReportSummary
	Cards    []Card // in execution order
	// Groups are the headings of cards, see Run.ReportGroups. MakeReport and MakePrint leave them out.
	Groups []ReportGroup `json:"-"`
	Error  *RunError

	// Flags, Decision, Notes, ResolvedAt, Proposal, Run.Outcome and Run.Data are zero in a printed
	// report, see MakePrint. Flags has a flag for each flagged step, in execution order.
	Flags []Flag
	// Unscreened are the checks that screen, and that the run came to and has not called.
	Unscreened []Unscreened `json:",omitempty"`
	// Concerns are what a reviewer should look at: hits first, then Unscreened, then failed checks, then other flags, and the
	// review step that the run is parked on; in each part in execution order. A review step without a reason of
	// its own is left out if there is anything else. Only the pages of reviewers show them.
	Concerns   []Concern `json:"-"`
	Decision   Decision  // empty for none
	Notes      string
	ResolvedAt time.Time // zero for none
	// InputCorrections are the corrections of the input of the start, oldest first.
	InputCorrections []Correction `json:",omitempty"`
	// Proposal is a verdict that a second reviewer must confirm; its Decision is empty
	// if there is none.
	Proposal Verdict

	// Digest is the SHA-256 over the history, in hexadecimal.
	Digest string
}

// ReportRun is the run of a report.
type ReportRun struct {
	ID          verification.RunID
	ReferenceID string
	Status      Status
	StartedAt   time.Time
	CompletedAt time.Time // zero until terminal
	RedactedAt  time.Time `json:",omitzero"` // when personal data was last removed; zero for never
	// ErasedAt and DocumentsRemovedAt are those of Run.
	ErasedAt           time.Time `json:",omitzero"`
	DocumentsRemovedAt time.Time `json:",omitzero"`
	RestrictedAt       time.Time `json:",omitzero"` // since when it is restricted; zero if it is not
	// Outcome is Summary.Outcome. A verdict may have led there, so a printed report
	// does not have it.
	Outcome string
	// Data is Summary.Data; a printed report does not have it, either.
	Data verification.Data `json:",omitempty"`
}

// ReportWorkflow is the version that the run executed.
type ReportWorkflow struct {
	ID          verification.WorkflowID `json:"id"`
	Name        string                  `json:"name"`
	Version     int                     `json:"version"` // 1 for the first
	VersionHash string                  `json:"version_hash"`
}

// ReportSummary counts the cards by status.
type ReportSummary struct {
	OK          int `json:"ok"`
	Failed      int `json:"failed"`
	NeedsReview int `json:"needs_review"`
}

// Card is one step on a report: a finished one, a flagged one, the review step that a live
// run is parked on, or the step at which a run ended. It shows the last visit of the step;
// while a live run visits a step again, the last one that is finished.
type Card struct {
	NodeID      verification.NodeID
	Type        workflow.NodeType
	Key         string // of a check; else empty
	Label       string
	Status      CardStatus
	Reason      string    // may be empty
	Causes      []Cause   `json:"-"` // why the step is flagged, on any visit; none if it is not
	StartedAt   time.Time // of the first visit
	CompletedAt time.Time // zero while unfinished
	Dispatches  int       // of a check, over all visits; else 0
	Data        verification.Data
	// Corrections are the corrections of values of Data, oldest first.
	Corrections []Correction `json:",omitempty"`
	// Found is what a source found that could not tell; nil for nothing. Only the pages of reviewers and a report for the file have
	// it.
	Found verification.Data `json:"-"`
	// Visits are the visits before the one that the card shows, oldest first, 100 at most.
	// VisitsOmitted counts the others: visits that are not flagged are left out first, and
	// then the oldest.
	Visits        []CardVisit `json:",omitempty"`
	VisitsOmitted int         `json:",omitzero"`
	// Rounds are the times at which the customer was asked again for the step, oldest first.
	Rounds []Round `json:"-"`
	// Gone says that all visits of the step are in Visits: see Step.Gone. The card then has no answer of its own.
	Gone bool `json:"-"`
	// Rescreened are the hits that later versions of a list had, oldest first. They are
	// never printed; the reason says that there are some.
	Rescreened []HitsFound
	// Sentences are the sentences of Reason, for readers of other languages.
	Sentences []Sentence `json:"-"`
	// Screening is what a check found on a list; nil if it has screened nobody. The API shows
	// the data of the check instead.
	Screening *Screening `json:"-"`
	// HitDecisions are the decisions of reviewers on Hits. The API does not show them.
	HitDecisions []HitDecision `json:"-"`
	// Cleared are the hits that the check left out, on all visits and in later versions of the
	// list, with the decisions that cleared them. The API does not show who made them.
	Cleared []Clearance `json:"-"`
	// workflow.DataSchema describes Data: as the providers of a check do, or with the labels of a
	// form. Only printed reports and the pages of reviewers have it.
	DataSchema workflow.DataSchema `json:"-"`
}

// VisitCount returns how often the run came to the step.
func (c Card) VisitCount() int {
	n := len(c.Visits) + c.VisitsOmitted
	if !c.Gone {
		n++
	}
	return n
}

// MakeReport returns the report of a history at a given time.
func MakeReport(id verification.RunID, history []Event, now time.Time) Report {
	return makeReport(id, history, now, Run.Decision)
}

// makeReport returns the report of a history at a given time. The verdict that settles the
// cards is the decision that decide returns.
func makeReport(id verification.RunID, history []Event, now time.Time, decide func(Run) Decision) Report {
	r, earlier := foldVisits(id, history)
	if e, overdue := r.expiry(now); overdue {
		r = r.Evolve(e)
		history = append(history[:len(history):len(history)], e)
	}
	view := r.summary().View(now)
	report := Report{
		Run: ReportRun{
			ID: id, ReferenceID: view.ReferenceID, Status: view.Status,
			StartedAt: view.StartedAt, CompletedAt: view.CompletedAt, Outcome: view.Outcome, Data: view.Data,
			RedactedAt: view.RedactedAt, RestrictedAt: view.RestrictedAt,
			ErasedAt: r.ErasedAt, DocumentsRemovedAt: r.DocumentsRemovedAt,
		},
		Workflow: ReportWorkflow{
			ID: r.Started.Workflow, Name: r.Started.WorkflowName,
			Version: r.Started.Version, VersionHash: r.Started.VersionHash,
		},
		Error:    view.Error,
		Flags:    r.flags(),
		Decision: decide(r),
		Proposal: r.Proposal,

		InputCorrections: r.correctionsOf(""),
		Digest:           reportDigest(history),
	}
	report.Concerns, report.Unscreened = r.concerns(), r.Unscreened
	report.Notes, report.ResolvedAt = r.resolution()
	for _, s := range r.Steps {
		ends := earlier[s.Node]
		if s.Gone {
			last := s
			last.Gone = false
			ends = append(ends, last)
		}
		if r.Ended == "" && !s.finished() && s.Type != workflow.NodeReview { // a live run waits on it
			n := len(ends)
			switch {
			case n > 0:
				last := ends[n-1]
				s.Status, s.Data, s.found, s.CompletedAt, s.unavailable = last.Status, last.Data, last.found, last.CompletedAt, last.unavailable
				s.noAnswer, s.provider, ends = last.noAnswer, last.provider, ends[:n-1]
			case !s.flagged():
				continue
			}
		}
		c := r.card(s, report.Decision)
		c.Visits, c.VisitsOmitted = r.cardVisits(ends, report.Decision)
		report.Cards = append(report.Cards, c)
		switch c.Status {
		case CardOK:
			report.Summary.OK++
		case CardFailed:
			report.Summary.Failed++
		case CardNeedsReview:
			report.Summary.NeedsReview++
		}
	}
	return report
}

// MakePrint returns the report of a history as it is printed: of a verdict it shows only
// that the run went on, and of corrections not who recorded them. Its cards are as on a run without a verdict, a card of a review
// has no completion time, and the fields that are never printed are zero.
func MakePrint(id verification.RunID, history []Event, now time.Time) Report {
	r := makeReport(id, history, now, func(Run) Decision { return DecisionNone })
	r.Flags, r.Concerns, r.Notes, r.ResolvedAt, r.Proposal, r.Run.Outcome, r.Run.Data = nil, nil, "", time.Time{}, Verdict{}, "", nil
	nameless(r.InputCorrections)
	for i := range r.Cards {
		c := &r.Cards[i]
		nameless(c.Corrections)
		c.Found = nil
		c.Rounds = slices.Clone(c.Rounds)
		for j := range c.Rounds {
			c.Rounds[j].By, c.Rounds[j].Identity = "", ""
		}
		for j := range c.Visits {
			c.Visits[j].Rescreened, c.Visits[j].HitDecisions, c.Visits[j].Found = nil, nil, nil
		}
		if c.Rescreened, c.HitDecisions, c.Cleared = nil, nil, nil; c.Type != workflow.NodeReview {
			continue
		}
		c.CompletedAt = time.Time{}
		for j := range c.Visits {
			c.Visits[j].CompletedAt = time.Time{}
		}
	}
	return r
}

// nameless removes who recorded the corrections.
func nameless(all []Correction) {
	for i := range all {
		all[i].By = ""
	}
}

// card returns the card of a step without its earlier visits. A verdict adds a sentence to
// the reason if it settles the step.
func (r Run) card(s Step, d Decision) Card {
	last, _ := s.visit(0)
	c := Card{
		NodeID: s.Node, Type: s.Type, Key: s.Key, Label: s.Label, Causes: s.causeNames(),
		StartedAt: s.StartedAt, CompletedAt: s.CompletedAt, Dispatches: s.Dispatches, Data: s.shown(),
		Corrections: r.correctionsOf(s.Node), Rescreened: s.Rescreened, Screening: s.Screening, HitDecisions: last.HitDecisions, Cleared: s.Cleared,
		Rounds: s.Rounds, Gone: s.Gone, Found: s.found,
	}
	if s.Gone {
		c.CompletedAt, c.Data, c.Found, c.Screening, c.HitDecisions = time.Time{}, nil, nil, nil, nil
	}
	c.Status, c.Sentences = r.cardStatus(s, d)
	switch {
	case r.settles(s) && d == DecisionApprove:
		c.Sentences = append(c.Sentences, Sentence{Key: sentenceApproved})
	case r.settles(s) && d == DecisionReject:
		c.Sentences = append(c.Sentences, Sentence{Key: sentenceRejected})
	}
	c.Reason = english(c.Sentences)
	return c
}

// settles reports whether the verdict settles a step: it is flagged and finished, or the
// verdict was given after the end of the run.
func (r Run) settles(s Step) bool {
	return s.flagged() && (s.finished() || r.Verdict.Node == "")
}

// cardStatus returns the status of a card, and its sentences without the verdict.
func (r Run) cardStatus(s Step, d Decision) (status CardStatus, all []Sentence) {
	all = s.sentences()
	stopped := r.Ended != "" && !s.finished()
	if stopped {
		all = append(all, Sentence{Key: sentenceUnfinished})
	}
	switch {
	case r.settles(s) && d == DecisionApprove:
		return CardOK, all
	case r.settles(s) && d == DecisionReject, stopped:
		return CardFailed, all
	case s.flagged():
		return CardNeedsReview, all
	case s.Gone:
		return CardOK, []Sentence{{Key: sentenceGone}}
	case s.Type == workflow.NodeCheck && s.Status == StepFailed:
		return CardFailed, []Sentence{s.failure()}
	case s.Confirms != nil && !*s.Confirms:
		return CardOK, []Sentence{{Key: sentenceNotConfirmed}}
	}
	return CardOK, all
}

// failure returns the sentence that says why a check has failed.
func (s Step) failure() Sentence {
	switch {
	case s.cancelled:
		return Sentence{Key: sentenceNotNeeded}
	case s.unavailable:
		return AnswerSentence(s.noAnswer, s.provider, nil)
	}
	return AnswerSentence(verification.OutcomeFailed, s.provider, s.Data)
}

// shown returns the data of a step for a report, which shows the verdict of a review beside
// the cards.
func (s Step) shown() verification.Data {
	if s.Type == workflow.NodeReview {
		return nil
	}
	return s.Data
}

// digest returns the SHA-256 of the history: the JSON of each event on a line.
func digest(history []Event) string {
	h := sha256.New()
	for _, e := range history {
		line, err := EncodeEvent(e)
		if err != nil {
			// Facts are plain data: only a Data that is not JSON fails.
			line = []byte(err.Error())
		}
		h.Write(line)
		h.Write([]byte{'\n'})
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
