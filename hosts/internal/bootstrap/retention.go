// What a file changes about retention.

package bootstrap

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// RetentionChange is a change of the policy that counts for a workflow of a tenant.
type RetentionChange struct {
	Tenant verification.TenantID
	engine.RetentionChange
}

// RetentionChanges returns what a file would change about the retention of the workflows of a store. Call it before Apply,
// and NoteRetention afterwards.
func RetentionChanges(ctx context.Context, b definitions.Bootstrap, e *engine.Engine) (all []RetentionChange, err error) {
	for _, t := range b.Tenants {
		next := engine.NextRetention{Tenant: t.Tenant.Retention, Workflows: map[string]verification.Retention{}}
		for _, w := range t.Workflows {
			next.Workflows[w.Definition.Workflow] = w.Definition.Retention
		}
		changes, err := e.RetentionChanges(ctx, t.Tenant.ID, &next)
		if err != nil {
			return nil, fmt.Errorf("retention of tenant %s: %w", t.Tenant.ID, err)
		}
		for _, c := range changes {
			all = append(all, RetentionChange{t.Tenant.ID, c})
		}
	}
	return all, nil
}

// NoteRetention records changes that were saved.
func NoteRetention(ctx context.Context, e *engine.Engine, all []RetentionChange) error {
	for _, c := range all {
		if err := e.NoteRetention(ctx, c.Tenant, []engine.RetentionChange{c.RetentionChange}); err != nil {
			return fmt.Errorf("retention of workflow %s: %w", c.Workflow, err)
		}
	}
	return nil
}

// Text says when a change counts, and how many runs go when.
func (c RetentionChange) Text() string {
	var counts []string
	for _, n := range c.Counts {
		when := "now"
		if !n.From.IsZero() {
			when = "from " + n.From.UTC().Format(time.RFC3339)
		}
		counts = append(counts, fmt.Sprintf("%d %s %s", n.Runs, n.Outcome, when))
	}
	text := "no run is due"
	if len(counts) > 0 {
		text = "runs: " + strings.Join(counts, ", ")
	}
	if !c.All {
		text += ", of the oldest ones, which were counted"
	}
	return fmt.Sprintf("retention of workflow %s changes, in full from %s: %s", c.Name, c.At.UTC().Format(time.RFC3339), text)
}
