// The changes that applying a file makes.

package bootstrap

import (
	"crypto/rand"
	"time"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Change is the result of applying one entry of a file.
type Change struct {
	Tenant  verification.TenantID `json:"tenant_id"`
	Kind    Kind                  `json:"kind"`
	Name    string                `json:"name"` // of the tenant; the client id; the workflow's stable name
	Outcome Outcome               `json:"outcome"`
	// Workflow, and VersionHash of its newest version, are set only for a workflow.
	Workflow    verification.WorkflowID `json:"workflow_id,omitempty"`
	VersionHash string                  `json:"version_hash,omitempty"`
	// WebhookReplaced reports whether the lifecycle webhook of an earlier file was replaced.
	WebhookReplaced bool `json:"webhook_replaced,omitempty"`
	// Warnings say what may be wrong in a workflow.
	Warnings []definitions.Diagnostic `json:"warnings,omitempty"`
}

// Kind is the kind of an entry.
type Kind string

// The kinds of entries.
const (
	KindTenant   Kind = "tenant"
	KindAccount  Kind = "account"
	KindWorkflow Kind = "workflow"
)

// Outcome says whether an entry was written.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Changed   Outcome = "changed"
	Unchanged Outcome = "unchanged"
	// Disabled is the outcome of an account that the file no longer lists.
	Disabled Outcome = "disabled"
)

// written returns the outcome of writing an entry that existed before, or not.
func written(there bool) Outcome {
	if there {
		return Changed
	}
	return Created
}

// AuditOf returns the entries of the audit trail for changes that an actor made at a time. Those of workflows are left
// out for an operator, whom the engine knows: it has recorded them, except that a webhook was replaced.
func AuditOf(changes []Change, by verification.Actor, at time.Time) (all []store.AuditEntry) {
	at = at.UTC().Truncate(time.Microsecond)
	for _, c := range changes {
		e := store.AuditEntry{Tenant: c.Tenant, ID: store.AuditID(at, rand.Text()), At: at, Actor: by, Subject: c.Name, Detail: string(c.Outcome)}
		if c.WebhookReplaced {
			replaced := e
			replaced.ID, replaced.Action, replaced.Detail = store.AuditID(at, rand.Text()), store.AuditWorkflowSaved, "lifecycle webhook replaced"
			all = append(all, replaced)
		}
		switch {
		case c.Outcome == Unchanged, c.Kind == KindWorkflow && by.Kind != verification.ActorSystem:
			continue
		case c.Kind == KindTenant:
			e.Action = store.AuditTenantSaved
		case c.Kind == KindAccount && c.Outcome == Created:
			e.Action = store.AuditAccountCreated
		case c.Kind == KindAccount && c.Outcome == Disabled:
			e.Action = store.AuditAccountDisabled
		case c.Kind == KindAccount:
			e.Action = store.AuditAccountSaved
		case c.Kind == KindWorkflow:
			e.Action = store.AuditWorkflowSaved
		}
		all = append(all, e)
	}
	return all
}
