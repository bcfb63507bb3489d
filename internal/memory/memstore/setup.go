// What a bootstrap file changes.

package memstore

import (
	"cmp"
	"context"

	"github.com/verifyd/verifyd/verification/store"
)

// SaveSetup saves all of a setup, or nothing. It holds the locks of all three tables, in this order.
func (s *Store) SaveSetup(ctx context.Context, set store.Setup) error {
	return s.rows.change(ctx, func(kept map[rowKey]store.Record) error {
		return s.workflows.change(ctx, func(workflows map[workflowKey]*keptWorkflow) error {
			return s.audit.change(ctx, func(trails map[trailKey]*auditTrail) error {
				rows, err := changedRows(kept, set.Rows())
				for _, w := range set.Workflows {
					err = cmp.Or(err, fitsRevision(workflows, w))
				}
				if err != nil || set.DryRun {
					return err
				}
				s.putRows(kept, rows)
				for _, w := range set.Workflows {
					s.putWorkflow(workflows, w)
				}
				for _, e := range set.Audit {
					s.putEntry(at(trails, keyOfEntry(e)), e, true)
				}
				return nil
			})
		})
	})
}
