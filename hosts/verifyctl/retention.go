// The commands about retention.

package main

import (
	"context"
	"fmt"

	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

type retentionCommands struct {
	Plan retentionPlan `cmd:"" help:"Count by workflow what retention would remove now and later, and what it would keep." see:"data-protection.md#retention"`
}

type retentionPlan struct {
	tenantFlags
	jsonFlag
}

// Run prints the counts, and changes nothing.
func (c retentionPlan) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		e, err := s.engineOfHosts(ctx, db, bootstrap.Providers{})
		if err != nil {
			return err
		}
		counts, all, err := e.RetentionPlan(ctx, t.ID)
		if err != nil {
			return err
		}
		if !all {
			s.note(fmt.Sprintf("only the oldest %d runs of each workflow were counted", engine.MaxRetentionPlan))
		}
		if len(counts) == 0 && !c.JSON {
			s.note("nothing is due")
			return nil
		}
		return printList(s, c.JSON, counts, "WORKFLOW OUTCOME RUNS FROM")
	})
}
