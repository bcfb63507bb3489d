// A run as JSON.

package main

import (
	"encoding/json"

	"github.com/verifyd/verifyd/verification"
)

// shownJSON is the report of the API, with what only operators see.
type shownJSON struct {
	Run            reportRunJSON             `json:"run"`
	Workflow       reportWorkflowJSON        `json:"workflow"`
	Summary        reportSummaryJSON         `json:"summary"`
	ActionRequired *actionJSON               `json:"action_required"`
	Cards          []cardJSON                `json:"cards"`
	Error          *verification.RunError    `json:"error"`
	Reviews        []verification.ReviewFlag `json:"reviews,omitempty"`
	Decision       *verification.Decision    `json:"decision"`
	DecidedBy      string                    `json:"decided_by,omitempty"`
	Notes          string                    `json:"notes,omitempty"`
	ResolvedAt     moment                    `json:"resolved_at"`
	Digest         string                    `json:"digest"`
	Events         []json.RawMessage         `json:"events,omitempty"`
}

type reportRunJSON struct {
	ID          verification.RunID  `json:"id"`
	ReferenceID string              `json:"reference_id"`
	Status      verification.Status `json:"status"`
	StartedAt   moment              `json:"started_at"`
	CompletedAt moment              `json:"completed_at"`
}

type reportWorkflowJSON struct {
	ID          verification.WorkflowID `json:"id"`
	Name        string                  `json:"name"`
	Version     int                     `json:"version"`
	VersionHash string                  `json:"version_hash"`
}

type reportSummaryJSON struct {
	OK          int `json:"ok"`
	Failed      int `json:"failed"`
	NeedsReview int `json:"needs_review"`
}

type cardJSON struct {
	NodeID      verification.NodeID     `json:"node_id"`
	Type        verification.NodeType   `json:"type"`
	Key         string                  `json:"key,omitempty"`
	Label       string                  `json:"label"`
	Status      verification.CardStatus `json:"status"`
	Reason      string                  `json:"reason,omitempty"`
	StartedAt   moment                  `json:"started_at"`
	CompletedAt moment                  `json:"completed_at,omitzero"`
	Dispatches  int                     `json:"dispatches"`
	Data        json.RawMessage         `json:"data,omitempty"`
}

// json is the run as its report has it.
func (r shown) json(events bool) shownJSON {
	report := r.report
	out := shownJSON{
		Run: reportRunJSON{
			ID: report.Run.ID, ReferenceID: report.Run.ReferenceID, Status: report.Run.Status,
			StartedAt: moment(report.Run.StartedAt), CompletedAt: moment(report.Run.CompletedAt),
		},
		Workflow: reportWorkflowJSON(report.Workflow), Summary: reportSummaryJSON(report.Summary),
		ActionRequired: actionOf(r.action), Error: report.Error, Reviews: report.Reviews,
		Cards: shapes(report.Cards, func(c verification.Card) cardJSON {
			return cardJSON{
				NodeID: c.NodeID, Type: c.Type, Key: c.Key, Label: c.Label, Status: c.Status, Reason: c.Reason,
				StartedAt: moment(c.StartedAt), CompletedAt: moment(c.CompletedAt), Dispatches: c.Dispatches,
				Data: json.RawMessage(c.Data),
			}
		}),
		Decision: decisionOf(report.Decision), Notes: report.Notes, ResolvedAt: moment(report.ResolvedAt),
		Digest: report.Digest,
	}
	if report.Decision.Verdict() {
		out.DecidedBy = r.run.Verdict.By
	}
	if events {
		out.Events = shapes(r.history, eventOf)
	}
	return out
}
