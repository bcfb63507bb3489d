// Reports: runs as documents.

package verification

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
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
	Error    *RunError

	// Flags, Decision, Notes, ResolvedAt, Proposal and Run.Outcome are never printed.
	Flags      []Flag
	Decision   Decision // empty for none
	Notes      string
	ResolvedAt time.Time // zero for none
	// Proposal is a verdict that a second reviewer must confirm; its Decision is empty
	// if there is none.
	Proposal Verdict

	// Digest is the SHA-256 over the history, in hexadecimal.
	Digest string
}

// ReportRun is the run of a report.
type ReportRun struct {
	ID          RunID
	ReferenceID string
	Status      Status
	StartedAt   time.Time
	CompletedAt time.Time // zero until terminal
	// Outcome is that of the end node; empty for none. A verdict may have led there,
	// so it is never printed.
	Outcome string
}

// ReportWorkflow is the version that the run executed.
type ReportWorkflow struct {
	ID          WorkflowID `json:"id"`
	Name        string     `json:"name"`
	Version     int        `json:"version"` // 1 for the first
	VersionHash string     `json:"version_hash"`
}

// ReportSummary counts the cards by status.
type ReportSummary struct {
	OK          int `json:"ok"`
	Failed      int `json:"failed"`
	NeedsReview int `json:"needs_review"`
}

// Card is one step on a report: a finished one, the review step that a live run
// is parked on, or the step at which a run ended.
type Card struct {
	NodeID      NodeID
	Type        NodeType
	Key         string // of a check; else empty
	Label       string
	Status      CardStatus
	Reason      string // may be empty
	StartedAt   time.Time
	CompletedAt time.Time // zero while unfinished
	Dispatches  int       // of a check; else 0
	Data        Data
	// Rescreened are the hits that later versions of a list had, oldest first. They are
	// never printed; the reason says that there are some.
	Rescreened []HitsFound
	// DataSchema describes Data: as the providers of a check do, or with the labels of a
	// form. Only printed reports and the pages of reviewers have it.
	DataSchema DataSchema `json:"-"`
}

// unfinishedSentence is the reason on the card of the step at which a run ended.
const unfinishedSentence = "The run ended before this step was finished."

// A verdict adds one of these sentences to the reason of each flagged card.
const (
	approvedSentence = "A reviewer approved the run."
	rejectedSentence = "A reviewer rejected the run."
)

// MakeReport returns the report of a history at a given time.
func MakeReport(id RunID, history []Event, now time.Time) Report {
	r := Fold(id, history)
	if e, overdue := r.expiry(now); overdue {
		r = r.Evolve(e)
		history = append(history[:len(history):len(history)], e)
	}
	view := r.Summary().View(now)
	report := Report{
		Run: ReportRun{
			ID: id, ReferenceID: view.ReferenceID, Status: view.Status,
			StartedAt: view.StartedAt, CompletedAt: view.CompletedAt, Outcome: r.Outcome,
		},
		Workflow: ReportWorkflow{
			ID: r.Started.Workflow, Name: r.Started.WorkflowName,
			Version: r.Started.Version, VersionHash: r.Started.VersionHash,
		},
		Error:    view.Error,
		Flags:    r.Flags(),
		Decision: r.Decision(),
		Proposal: r.Proposal,
		Digest:   digest(history),
	}
	report.Notes, report.ResolvedAt = r.resolution()
	for _, s := range r.Steps {
		if !s.finished() && s.Type != NodeReview && r.Ended == "" {
			continue // a live run waits on it
		}
		c := r.card(s, report.Decision)
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

// card returns the card of a step. A verdict settles only flagged steps. It
// settles an unfinished one only if it was given after the end of the run.
func (r Run) card(s Step, d Decision) Card {
	c := Card{
		NodeID: s.Node, Type: s.Type, Key: s.Key, Label: s.Label, Reason: s.flagReason(),
		StartedAt: s.StartedAt, CompletedAt: s.CompletedAt, Dispatches: s.Dispatches, Data: s.Data,
		Rescreened: s.Rescreened,
	}
	if s.Type == NodeReview {
		c.Data = nil // the report shows the verdict beside the cards and never prints it
	}
	stopped := r.Ended != "" && !s.finished()
	if stopped {
		c.Reason = strings.TrimPrefix(c.Reason+" "+unfinishedSentence, " ")
	}
	settled := s.flagged() && (s.finished() || r.Verdict.Node == "")
	switch {
	case settled && d == DecisionApprove:
		c.Status, c.Reason = CardOK, c.Reason+" "+approvedSentence
	case settled && d == DecisionReject:
		c.Status, c.Reason = CardFailed, c.Reason+" "+rejectedSentence
	case stopped:
		c.Status = CardFailed
	case s.flagged():
		c.Status = CardNeedsReview
	case s.Type == NodeCheck && s.Status == StepFailed && s.unavailable:
		c.Status, c.Reason = CardFailed, "The source gave no answer."
	case s.Type == NodeCheck && s.Status == StepFailed:
		c.Status, c.Reason = CardFailed, "The check did not pass."
	default:
		c.Status = CardOK
	}
	return c
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
