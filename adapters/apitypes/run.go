// Runs, and the body of the lifecycle webhook, which contains one.

package apitypes

import "github.com/verifyd/verifyd/verification"

// Run is a run as lists show it.
type Run struct {
	ID             verification.RunID      `json:"id"`
	WorkflowID     verification.WorkflowID `json:"workflow_id"`
	ReferenceID    string                  `json:"reference_id"`
	Status         verification.Status     `json:"status"`
	StartedAt      Timestamp               `json:"started_at"`
	CompletedAt    Timestamp               `json:"completed_at"` // null until the run ends
	ActionRequired *Action                 `json:"action_required"`
	Error          *RunError               `json:"error"`
}

// RunDetail is a single run.
type RunDetail struct {
	Run
	Checks     []Check                `json:"checks,omitempty"`
	Decision   *verification.Decision `json:"decision"` // null when no verdict is needed
	Notes      string                 `json:"notes,omitempty"`
	ResolvedAt Timestamp              `json:"resolved_at"` // null without a verdict
	Reviews    []ReviewFlag           `json:"reviews,omitempty"`
	Proposal   *Proposal              `json:"proposal,omitempty"`
}

// Proposal is a verdict that a second reviewer must confirm.
type Proposal struct {
	Decision   verification.Decision `json:"decision"`
	Notes      string                `json:"notes,omitempty"`
	ProposedAt Timestamp             `json:"proposed_at"`
}

// Action says which signal a live run waits for.
type Action struct {
	Type       verification.ActionType `json:"type"`
	SignalName string                  `json:"signal_name"`
	URL        string                  `json:"url,omitempty"` // journey link of a customer_input
}

// RunError says why a run failed or expired.
type RunError struct {
	Code    verification.ErrorCode `json:"code"`
	Check   string                 `json:"check,omitempty"` // key of the check, if one caused it
	Message string                 `json:"message"`
}

// Check is the state of a check in a run.
type Check struct {
	Key    string                  `json:"key"`
	Label  string                  `json:"label"`
	Status verification.StepStatus `json:"status"`
	Data   verification.Data       `json:"data,omitzero"`
}

// ReviewFlag says why a step is flagged for review.
type ReviewFlag struct {
	NodeID verification.NodeID `json:"node_id"`
	Label  string              `json:"label"`
	Reason string              `json:"reason"`
}

// Event is the body of a lifecycle webhook.
type Event struct {
	Type      string    `json:"type"` // "run." and the status
	Timestamp Timestamp `json:"timestamp"`
	Data      Run       `json:"data"`
}

// NewRun converts a run, as lists show it.
func NewRun(v verification.RunView) Run {
	return Run{
		ID: v.ID, WorkflowID: v.WorkflowID, ReferenceID: v.ReferenceID, Status: v.Status,
		StartedAt: Timestamp{v.StartedAt}, CompletedAt: Timestamp{v.CompletedAt},
		ActionRequired: NewAction(v.Action), Error: newRunError(v.Error),
	}
}

// NewRunDetail converts a single run.
func NewRunDetail(d verification.RunDetail) RunDetail {
	return RunDetail{
		Run: NewRun(d.RunView),
		Checks: convertAll(d.Checks, func(c verification.Check) Check {
			return Check{Key: c.Key, Label: c.Label, Status: c.Status, Data: newData(c.Data)}
		}),
		Decision: NewDecision(d.Decision), Notes: d.Notes, ResolvedAt: Timestamp{d.ResolvedAt}, Reviews: newReviews(d.Flags),
		Proposal: newProposal(d.Proposal),
	}
}

// NewEvent returns the body of the lifecycle webhook of a run that has ended.
func NewEvent(v verification.RunView) Event {
	return Event{Type: "run." + string(v.Status), Timestamp: Timestamp{v.CompletedAt}, Data: NewRun(v)}
}

// NewAction converts an action; nil becomes nil.
func NewAction(a *verification.Action) *Action {
	if a == nil {
		return nil
	}
	return &Action{Type: a.Type, SignalName: a.SignalName, URL: a.URL}
}

// NewDecision returns a pointer to d, or nil for verification.DecisionNone.
func NewDecision(d verification.Decision) *verification.Decision {
	if d == verification.DecisionNone {
		return nil
	}
	return &d
}

// newProposal returns nil if nothing is proposed.
func newProposal(v verification.Verdict) *Proposal {
	if v.Decision == verification.DecisionNone {
		return nil
	}
	return &Proposal{Decision: v.Decision, Notes: v.Notes, ProposedAt: Timestamp{v.At}}
}

func newRunError(e *verification.RunError) *RunError {
	if e == nil {
		return nil
	}
	return &RunError{Code: e.Code, Check: e.Check, Message: e.Message}
}

func newReviews(flags []verification.Flag) []ReviewFlag {
	return convertAll(flags, func(f verification.Flag) ReviewFlag {
		return ReviewFlag{NodeID: f.NodeID, Label: f.Label, Reason: f.Reason}
	})
}

// newData returns nil for empty data, so that omitzero leaves the field out.
func newData(d verification.Data) verification.Data {
	if len(d) == 0 {
		return nil
	}
	return d
}
