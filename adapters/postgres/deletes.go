// Deletions: appends that remove a run, see store.Commit.Delete.

package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
)

// A deletion is sent by rewrite. It appends a row without events to the history, at the position of the next
// append, and removes everything else. The rows of the history stay at their positions, without events: an append that was
// decided on an earlier history, and that waits for a lock, cannot be inserted there. Maintenance
// removes them once the appends of that time have ended: see removeDeleted.
const (
	endHistory = `INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events)
SELECT $1::uuid, $2::uuid, $3::int, -1, '' WHERE ` + atPosition + " RETURNING " + markAppended

	emptyEvents = "UPDATE verifyd.run_events SET events = '', next_seq = -1" + ofRun + " AND next_seq >= 0"
	removeRun   = "DELETE FROM verifyd.runs WHERE tenant_id = $1::uuid AND id = $2::uuid"
	noteDeleted = "INSERT INTO verifyd.deleted_runs (tenant_id, run_id) VALUES ($1::uuid, $2::uuid) ON CONFLICT DO NOTHING"
)

// tablesOfRuns returns the tables with rows of runs, besides runs and run_events.
func tablesOfRuns() []string {
	return []string{"work", "claims", "search_keys", "screened_runs", "deliveries"}
}

// queueDeletion queues the statements of a deletion, which need a transaction that is rolled back if it is refused.
func (p *pendingAppend) queueDeletion(b *pgx.Batch, appended map[verification.RunRef]bool) {
	add := func(statement string, args ...any) *pgx.QueuedQuery {
		return b.Queue(statement, append([]any{p.tenant, p.run}, args...)...)
	}
	add(endHistory, p.seq).Exec(func(t pgconn.CommandTag) error {
		appended[p.ref] = t.RowsAffected() == 1
		return nil
	})
	p.queueNoticeCheck(add, appended)
	add(emptyEvents)
	add(removeRun)
	for _, table := range tablesOfRuns() {
		add("DELETE FROM verifyd." + table + ofRun)
	}
	add(noteDeleted)
}

const (
	maxDeleted = 1000 // deleted runs whose rows are removed in one transaction

	deletedRuns = "SELECT tenant_id, run_id FROM verifyd.deleted_runs LIMIT $1"
)

// removeDeleted removes what is left of deleted runs. It waits for the appends that may have been decided before
// the deletions; if one of them takes long, the next call goes on.
func (s *Store) removeDeleted(ctx context.Context) error {
	for {
		var tenants, runs []pgtype.UUID
		err := s.querier().batch(ctx, everyTenant, func(b *pgx.Batch) error {
			b.Queue(deletedRuns, maxDeleted).Query(func(rows pgx.Rows) error {
				var tenant, run pgtype.UUID
				_, err := pgx.ForEachRow(rows, []any{&tenant, &run}, func() error {
					tenants, runs = append(tenants, tenant), append(runs, run)
					return nil
				})
				return err
			})
			return nil
		})
		if err == nil && len(runs) > 0 {
			if err = s.awaitAppends(ctx, appending); err == nil {
				err = s.removeRest(ctx, tenants, runs)
			}
		}
		if errors.Is(err, errAppending) {
			return nil
		}
		if err != nil || len(runs) < maxDeleted {
			return pgerror.Translate("remove the rest of deleted runs", err)
		}
	}
}

// removeRest removes the rows that deleted runs still have. The tables other than run_events have some only if
// another host wrote them while a run was deleted.
func (s *Store) removeRest(ctx context.Context, tenants, runs []pgtype.UUID) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		return querier{to: tx, db: s.db}.hotBatch(ctx, everyTenant, func(b *pgx.Batch) error {
			for _, table := range tablesOfRuns() {
				b.Queue("DELETE FROM verifyd."+table+removeCopied, tenants, runs)
			}
			b.Queue("DELETE FROM verifyd.run_events"+removeCopied+" AND next_seq < 0", tenants, runs)
			b.Queue("DELETE FROM verifyd.deleted_runs"+removeCopied, tenants, runs)
			return nil
		})
	})
}
