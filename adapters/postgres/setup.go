// What a bootstrap file changes.

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification/store"
)

// saveApplied makes a bootstrap file the newest one that was applied.
const saveApplied = `
INSERT INTO verifyd.applied_files (hash, applied_at, names) VALUES ($1, clock_timestamp(), $2)
ON CONFLICT (hash) DO UPDATE SET applied_at = excluded.applied_at, names = excluded.names`

// errDry ends the transaction of a dry run.
var errDry = errors.New("dry run")

// SaveSetup saves all of a setup, or nothing, in one transaction of one batch. Rows are locked in one order on all
// hosts. After a change of workflows it waits for the appends that may not have seen the change: see awaitAppends.
func (s *Store) SaveSetup(ctx context.Context, set store.Setup) error {
	bounded, cancel := s.withTimeout(ctx)
	defer cancel()
	err := pgx.BeginFunc(bounded, s.pool, func(tx pgx.Tx) error {
		err := querier{to: tx, db: s.db}.batch(bounded, everyTenant, func(b *pgx.Batch) error { return s.queueSetup(b, set) })
		if err == nil && set.DryRun {
			err = errDry
		}
		return err
	})
	replaces := slices.ContainsFunc(set.Workflows, func(c store.WorkflowChange) bool { return c.Workflow.Revision > 1 })
	switch {
	case errors.Is(err, errDry):
		err = nil
	case err == nil && replaces:
		if err = s.awaitAppends(ctx, appending+exceptCallers); errors.Is(err, errAppending) {
			err = pgerror.Unavailable("workflow",
				"the workflow has changed, but a change of a run that began before is not saved yet; read the workflow before you try again", err)
		}
	}
	return pgerror.Translate("save", err)
}

// queueSetup queues the statements of a setup.
func (s *Store) queueSetup(b *pgx.Batch, set store.Setup) error {
	if err := s.queueRows(b, set.Rows()); err != nil {
		return err
	}
	for _, c := range slices.SortedFunc(slices.Values(set.Workflows), func(a, b store.WorkflowChange) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Workflow.ID, b.Workflow.ID))
	}) {
		save, add, err := s.workflowSaves(c)
		if err != nil {
			return err
		}
		queueOne(b, save, store.WorkflowChanged())
		if add != "" {
			b.Queue(add)
		}
	}
	if err := queueAudit(b, set.Audit); err != nil {
		return err
	}
	if f := set.File; f != (store.AppliedFile{}) {
		if !storable(f.Hash, f.Names) {
			return notStorable("bootstrap file")
		}
		b.Queue(saveApplied, f.Hash, f.Names)
	}
	return nil
}

// queueAudit queues the insertion of entries. All hosts lock their rows in one order.
func queueAudit(b *pgx.Batch, entries []store.AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b store.AuditEntry) int {
		return strings.Compare(string(a.Tenant)+a.ID, string(b.Tenant)+b.ID)
	})
	args, err := auditArgs(&pendingAppend{commit: store.Commit{Audit: sorted}})
	if err == nil {
		b.Queue(fmt.Sprintf(insertAudit, ofOneAppend), args...)
	}
	return err
}
