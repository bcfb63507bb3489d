// The commands about runs.

package main

import (
	"context"
	"errors"

	"github.com/verifyd/verifyd/verification"
)

type runCommands struct {
	List runList `cmd:"" help:"List the runs of a tenant."`
	Show runShow `cmd:"" help:"Show one run: where it stands, its cards, its history."`
}

type runList struct {
	databaseFlag
	tenantFlag
	Workflow string `placeholder:"WORKFLOW" help:"Only runs of this workflow: its stable name or its id."`
	Status   string `placeholder:"STATUS" help:"Only runs that are completed, cancelled, expired, failed, in_progress or abandoned."`
	Decision string `placeholder:"DECISION" help:"Only runs whose decision is review, approve or reject."`
	pageFlags
	jsonFlag
}

// Help is shown below the usage.
func (runList) Help() string {
	return `The newest come first. All filters must match.

Examples:

    verifyctl run list --tenant Acme --status failed
    verifyctl run list --tenant Acme --decision review --json`
}

// Run prints one page of runs.
func (c runList) Run(ctx context.Context, s *session) error {
	q, err := c.query()
	if err != nil {
		return err
	}
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		t, err := db.tenant(ctx, c.tenantFlag)
		if err != nil {
			return err
		}
		if c.Workflow != "" {
			w, err := db.workflow(ctx, t.ID, c.Workflow)
			if err != nil {
				return err
			}
			q.Workflow = w.ID
		}
		q.Now = s.clock.Now().UTC()
		found, err := db.List(ctx, t.ID, q)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.json(pageOf(found, func(r verification.Summary) runJSON {
				return runOf(r.View(q.Now), r.DecisionAt(q.Now))
			}))
		}
		more(s, found)
		names := []string{"ID", "REFERENCE_ID", "STATUS", "DECISION", "STARTED_AT", "COMPLETED_AT", "WAITS_FOR", "ERROR"}
		return s.table(names, shapes(found.Data, func(r verification.Summary) []string {
			v := r.View(q.Now)
			return []string{
				string(v.ID), v.ReferenceID, string(v.Status), string(r.DecisionAt(q.Now)),
				moment(v.StartedAt).String(), moment(v.CompletedAt).String(), waitsFor(v), faultOf(v.Error),
			}
		}))
	})
}

// query reads the filters, refused in the words of the API.
func (c runList) query() (q verification.RunQuery, err error) {
	if q.PageQuery, err = c.page(); err != nil {
		return q, err
	}
	if c.Status != "" {
		if q.Status, err = verification.ParseStatus(c.Status); err != nil {
			return q, errors.New("--status: invalid status (supported: completed, cancelled, expired, failed, in_progress, abandoned)")
		}
	}
	if c.Decision != "" {
		if q.Decision, err = verification.ParseDecision(c.Decision); err != nil {
			return q, errors.New("--decision: invalid decision (supported: review, approve, reject)")
		}
	}
	return q, nil
}

// waitsFor is whom a live run waits for.
func waitsFor(v verification.RunView) string {
	if v.Action == nil {
		return ""
	}
	return string(v.Action.Type)
}

// faultOf is what a run failed or expired on.
func faultOf(e *verification.RunError) string {
	switch {
	case e == nil:
		return ""
	case e.Check != "":
		return string(e.Code) + " " + e.Check
	}
	return string(e.Code)
}

// runJSON is a run as lists of the API show it, with its decision and without
// the customer's link: whoever has that is the customer.
type runJSON struct {
	ID             verification.RunID      `json:"id"`
	WorkflowID     verification.WorkflowID `json:"workflow_id"`
	ReferenceID    string                  `json:"reference_id"`
	Status         verification.Status     `json:"status"`
	StartedAt      moment                  `json:"started_at"`
	CompletedAt    moment                  `json:"completed_at"`
	ActionRequired *actionJSON             `json:"action_required"`
	Error          *verification.RunError  `json:"error"`
	Decision       *verification.Decision  `json:"decision"`
}

type actionJSON struct {
	Type       verification.ActionType `json:"type"`
	SignalName string                  `json:"signal_name"`
}

func runOf(v verification.RunView, d verification.Decision) runJSON {
	return runJSON{
		ID: v.ID, WorkflowID: v.WorkflowID, ReferenceID: v.ReferenceID, Status: v.Status,
		StartedAt: moment(v.StartedAt), CompletedAt: moment(v.CompletedAt),
		ActionRequired: actionOf(v.Action), Error: v.Error, Decision: decisionOf(d),
	}
}

func actionOf(a *verification.Action) *actionJSON {
	if a == nil {
		return nil
	}
	return &actionJSON{Type: a.Type, SignalName: a.SignalName}
}

// decisionOf is null when nothing needs a human.
func decisionOf(d verification.Decision) *verification.Decision {
	if d == verification.DecisionNone {
		return nil
	}
	return &d
}
