// Runs, and the body of the lifecycle webhook, which contains one.

package apitypes

import (
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Run is a run as lists show it.
type Run struct {
	ID          verification.RunID      `json:"id"`
	WorkflowID  verification.WorkflowID `json:"workflow_id"`
	ReferenceID string                  `json:"reference_id"`
	Status      rules.Status            `json:"status"`
	StartedAt   Timestamp               `json:"started_at"`
	CompletedAt Timestamp               `json:"completed_at"` // null until the run ends
	// Outcome is the outcome of the end node that a completed run reached. It is left out if
	// there is none, while the run needs a verdict, and after a rejection of the finished run.
	Outcome string `json:"outcome,omitempty"`
	// Data is what the end node computed, if its workflow says so. It is left out where outcome is withheld.
	Data           verification.Data `json:"data,omitzero"`
	RedactedAt     Timestamp         `json:"redacted_at,omitzero"`   // when personal data was last removed; left out if it never was
	RestrictedAt   Timestamp         `json:"restricted_at,omitzero"` // since when personal data is hidden; left out if it is not
	ActionRequired *rules.Action     `json:"action_required"`
	Error          *rules.RunError   `json:"error"`
}

// RunDetail is a single run.
type RunDetail struct {
	Run
	Checks     []rules.Check   `json:"checks,omitempty"`
	Decision   *rules.Decision `json:"decision"` // null when no verdict is needed
	Notes      string          `json:"notes,omitempty"`
	ResolvedAt Timestamp       `json:"resolved_at"` // null without a verdict
	Reviews    []Flag          `json:"reviews,omitempty"`
	Proposal   *Proposal       `json:"proposal,omitempty"`
	// ErasedAt is when the redaction was complete; left out while it is not. DocumentsRemovedAt is when the
	// uploads of a run that is not redacted were removed, because they were old.
	ErasedAt           Timestamp `json:"erased_at,omitzero"`
	DocumentsRemovedAt Timestamp `json:"documents_removed_at,omitzero"`
}

// Proposal is a verdict that a second reviewer must confirm.
type Proposal struct {
	Decision   rules.Decision `json:"decision"`
	Notes      string         `json:"notes,omitempty"`
	ProposedAt Timestamp      `json:"proposed_at"`
}

// Event is the body of a lifecycle webhook.
type Event struct {
	Type      workflow.NoticeEvent `json:"type"` // such as run.completed
	Timestamp Timestamp            `json:"timestamp"`
	Data      EventRun             `json:"data"`
}

// EventRun is the run right after an event, as lists show it.
type EventRun struct {
	Run
	// Decision is the decision right after the event. It is left out if there is none.
	Decision rules.Decision `json:"decision,omitempty"`
	// CustomerText is what the workflow tells the customer about a rejection, in a run.reviewed.
	CustomerText string `json:"customer_text,omitempty"`
	// ReviewDueAt is when the verdict is due, in a run.review_due_soon.
	ReviewDueAt *Timestamp `json:"review_due_at,omitempty"`
}

// NewRun converts a run, as lists show it.
func NewRun(v rules.RunView) Run {
	return Run{
		ID: v.ID, WorkflowID: v.WorkflowID, ReferenceID: v.ReferenceID, Status: v.Status,
		StartedAt: Timestamp{v.StartedAt}, CompletedAt: Timestamp{v.CompletedAt}, Outcome: v.Outcome, Data: v.Data,
		RedactedAt: Timestamp{v.RedactedAt}, RestrictedAt: Timestamp{v.RestrictedAt}, ActionRequired: v.Action, Error: v.Error,
	}
}

// NewRunDetail converts a single run.
func NewRunDetail(d rules.RunDetail) RunDetail {
	return RunDetail{
		Run: NewRun(d.RunView), Checks: d.Checks,
		Decision: NewDecision(d.Decision), Notes: d.Notes, ResolvedAt: Timestamp{d.ResolvedAt}, Reviews: newFlags(d.Flags),
		Proposal: newProposal(d.Proposal), ErasedAt: Timestamp{d.ErasedAt}, DocumentsRemovedAt: Timestamp{d.DocumentsRemovedAt},
	}
}

// NewEvent returns the body of the lifecycle webhook for a notice. What the notice of an end
// is about follows from its run.
func NewEvent(n rules.Notice) Event {
	if n.Seq == 0 {
		n.Event, n.OccurredAt = rules.NoticeOfEnd(n.Run.Status), n.Run.CompletedAt
	}
	e := Event{Type: n.Event, Timestamp: Timestamp{n.OccurredAt}, Data: EventRun{Run: NewRun(n.Run), Decision: n.Decision, CustomerText: n.CustomerText}}
	if !n.DueAt.IsZero() {
		e.Data.ReviewDueAt = &Timestamp{n.DueAt}
	}
	return e
}

// NewDecision returns a pointer to d, or nil for rules.DecisionNone.
func NewDecision(d rules.Decision) *rules.Decision {
	if d == rules.DecisionNone {
		return nil
	}
	return &d
}

// newProposal returns nil if nothing is proposed.
func newProposal(v rules.Verdict) *Proposal {
	if v.Decision == rules.DecisionNone {
		return nil
	}
	return &Proposal{Decision: v.Decision, Notes: v.Notes, ProposedAt: Timestamp{v.At}}
}

// Flag says why a step of a run needs a reviewer.
type Flag struct {
	NodeID verification.NodeID `json:"node_id"`
	Label  string              `json:"label"`
	Reason string              `json:"reason"`
}

func newFlags(all []rules.Flag) []Flag {
	return convertAll(all, func(f rules.Flag) Flag { return Flag{f.NodeID, f.Label, f.Reason} })
}
