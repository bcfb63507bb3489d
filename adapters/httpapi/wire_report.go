// The report's JSON shape, its fields in their order.

package httpapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/verification"
)

type reportJSON struct {
	Run        reportRunJSON      `json:"run"`
	Workflow   reportWorkflowJSON `json:"workflow"`
	Summary    reportSummaryJSON  `json:"summary"`
	Cards      []cardJSON         `json:"cards"`
	Error      *runErrorJSON      `json:"error"`
	Reviews    []flagJSON         `json:"reviews,omitempty"`
	Decision   decision           `json:"decision"`
	Notes      string             `json:"notes,omitzero"`
	ResolvedAt moment             `json:"resolved_at"`
	Digest     string             `json:"digest"`
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
	Key         string                  `json:"key,omitzero"`
	Label       string                  `json:"label"`
	Status      verification.CardStatus `json:"status"`
	Reason      string                  `json:"reason,omitzero"`
	StartedAt   moment                  `json:"started_at"`
	CompletedAt moment                  `json:"completed_at,omitzero"`
	Dispatches  int                     `json:"dispatches"`
	Data        jsontext.Value          `json:"data,omitzero"`
}

func reportOf(r verification.Report) reportJSON {
	return reportJSON{
		Run: reportRunJSON{
			ID: r.Run.ID, ReferenceID: r.Run.ReferenceID, Status: r.Run.Status,
			StartedAt: moment(r.Run.StartedAt), CompletedAt: moment(r.Run.CompletedAt),
		},
		Workflow: reportWorkflowJSON{
			ID: r.Workflow.ID, Name: r.Workflow.Name,
			Version: r.Workflow.Version, VersionHash: r.Workflow.VersionHash,
		},
		Summary:  reportSummaryJSON{OK: r.Summary.OK, Failed: r.Summary.Failed, NeedsReview: r.Summary.NeedsReview},
		Cards:    shapes(r.Cards, cardOf),
		Error:    runErrorOf(r.Error),
		Reviews:  flagsOf(r.Reviews),
		Decision: decision(r.Decision), Notes: r.Notes, ResolvedAt: moment(r.ResolvedAt),
		Digest: r.Digest,
	}
}

func cardOf(c verification.Card) cardJSON {
	return cardJSON{
		NodeID: c.NodeID, Type: c.Type, Key: c.Key, Label: c.Label, Status: c.Status, Reason: c.Reason,
		StartedAt: moment(c.StartedAt), CompletedAt: moment(c.CompletedAt), Dispatches: c.Dispatches, Data: dataOf(c.Data),
	}
}
