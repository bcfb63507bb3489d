// A run as the API shows it at a given time.

package rules

import (
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// RunView is a run as lists show it.
type RunView struct {
	ID           verification.RunID
	WorkflowID   verification.WorkflowID
	ReferenceID  string
	Status       Status
	StartedAt    time.Time
	CompletedAt  time.Time         // zero until terminal
	Outcome      string            // see Summary.Outcome
	Data         verification.Data `json:",omitempty"` // see Summary.Data
	Action       *Action           // nil unless a live run waits on a human
	Error        *RunError         // of a failed or expired run
	RedactedAt   time.Time         `json:",omitzero"` // when personal data was last removed; zero for never
	RestrictedAt time.Time         `json:",omitzero"` // since when it is restricted; zero if it is not
}

// RunDetail is a run as the API shows it on its own.
type RunDetail struct {
	RunView
	Checks     []Check
	Decision   Decision
	Notes      string
	ResolvedAt time.Time // zero without a verdict
	// Proposal is a verdict that a second reviewer must confirm; its Decision is empty
	// if there is none.
	Proposal Verdict
	Flags    []Flag
	// ErasedAt and DocumentsRemovedAt are those of Run.
	ErasedAt           time.Time `json:",omitzero"`
	DocumentsRemovedAt time.Time `json:",omitzero"`
	// Seq is the length of the history behind this view.
	Seq int
}

// Action is what unblocks a run that waits on a human.
type Action struct {
	Type       ActionType `json:"type"`
	SignalName string     `json:"signal_name"`
	// URL is the hosted-journey link of a customer input; else empty.
	URL string `json:"url,omitempty"`
}

// ActionType says who must act.
type ActionType string

// The action types.
const (
	ActionCustomerInput ActionType = "customer_input" // send the customer to the link
	ActionReview        ActionType = "review"         // a reviewer must give a verdict
)

// Check is the state of a check in a run; a run has one for each key. The key is
// stable across the versions of the workflow.
type Check struct {
	Key    string            `json:"key"`
	Label  string            `json:"label"`
	Status StepStatus        `json:"status"`
	Data   verification.Data `json:"data,omitzero"`
}

// StepStatus is the status of a step. Only a check can be pending.
type StepStatus string

// The step statuses.
const (
	StepPending StepStatus = "pending" // its next dispatch is scheduled
	StepRunning StepStatus = "running" // its result, its answer or its verdict is outstanding
	StepPassed  StepStatus = "passed"
	StepFailed  StepStatus = "failed" // it did not pass, no provider gave a result, or the run ended without one
)

// View returns the run as lists show it at a given time. The engine fills in
// the URL of a customer's action.
func (s Summary) View(now time.Time) RunView {
	v := RunView{
		ID: s.ID, WorkflowID: s.Workflow, ReferenceID: s.ReferenceID,
		Status: s.StatusAt(now), StartedAt: s.StartedAt, CompletedAt: s.CompletedAt, Outcome: s.Outcome, Data: dataOf(s.Data), Error: s.Error,
		RedactedAt: s.RedactedAt, RestrictedAt: s.RestrictedAt,
	}
	if e, overdue := s.expiry(now); overdue {
		v.CompletedAt, v.Error = s.ExpiresAt, &e.Error
	}
	if s.Waiting != "" && !v.Status.Terminal() {
		v.Action = &Action{Type: s.Waiting, SignalName: s.Signal}
	}
	return v
}

// dataOf returns JSON as data; nil for none.
func dataOf(text string) verification.Data {
	if text == "" {
		return nil
	}
	return verification.Data(text)
}

// Detail returns the run as the API shows it on its own at a given time.
func (r Run) Detail(now time.Time) RunDetail {
	r = r.AsOf(now)
	d := RunDetail{
		RunView: r.summary().View(now), Checks: r.checks(), Flags: r.flags(),
		Decision: r.Decision(), Proposal: r.Proposal, Seq: r.Seq, ErasedAt: r.ErasedAt, DocumentsRemovedAt: r.DocumentsRemovedAt,
	}
	d.Notes, d.ResolvedAt = r.resolution()
	return d
}

// checks returns the run's checks in execution order, one entry per key. Where
// several nodes share a key, the entry shows the one reached last.
func (r Run) checks() []Check {
	var checks []Check
	var reached []int
	add := func(c Check, at int) {
		i := slices.IndexFunc(checks, func(other Check) bool { return other.Key == c.Key })
		if i < 0 {
			checks, reached = append(checks, c), append(reached, at)
		} else if at > reached[i] {
			checks[i], reached[i] = c, at
		}
	}
	var each []verification.NodeID // nodes with for_each that were added
	for _, s := range r.Steps {
		switch node, element, _ := s.Node.Parts(); {
		case s.Type != workflow.NodeCheck:
		case element == 0 && s.Gone: // a list that was too long, on an earlier visit
		case element == 0 && s.Key == "": // a list that is too long, of a group or of a form
			for _, c := range r.uncalled(s.Node) {
				add(Check{Key: c.Key, Label: c.Label, Status: s.Status, Data: s.Data}, s.reached)
			}
		case element == 0:
			add(Check{Key: s.Key, Label: s.Label, Status: s.Status, Data: s.Data}, s.reached)
		case !slices.Contains(each, node):
			each = append(each, node)
			g, _ := r.Group(node)
			for _, c := range r.elementChecks(g) {
				add(c, g.began)
			}
		}
	}
	return checks
}

// uncalled returns the checks of a group whose list is too long; none of a form. Before histories had them, the group itself is one.
func (r Run) uncalled(node verification.NodeID) []workflow.CheckInfo {
	g, _ := r.Group(node)
	if len(g.checks) == 0 && g.Type == workflow.NodeChecks {
		return []workflow.CheckInfo{{Key: string(node), Label: g.Label}}
	}
	return g.checks
}

// Declined reports whether the run completed because its customer declined a
// consent: no step but a review came after it.
func (r Run) Declined() bool {
	var last Step
	for _, s := range r.Steps {
		if s.Type != workflow.NodeReview && s.reached >= last.reached {
			last = s
		}
	}
	return r.Ended == StatusCompleted && last.Type == workflow.NodeConsent && last.Status == StepFailed
}

// Checked reports whether a provider was called for the run.
func (r Run) Checked() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Dispatches > 0 })
}

// resolution returns the notes and the time of the verdict that is the run's
// decision; both are zero if there is none.
func (r Run) resolution() (notes string, at time.Time) {
	if r.Decision().Verdict() {
		return r.Verdict.Notes, r.Verdict.At
	}
	return "", time.Time{}
}
