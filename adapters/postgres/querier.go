// Sending statements: one round trip for a batch that names its tenants.

package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
)

// querier sends statements to the pool or to a transaction.
type querier struct {
	to interface {
		SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	}
	db      *bun.DB       // builds statements
	timeout time.Duration // of a batch; 0 for none
	caller  *pgx.Conn     // of a transaction that belongs to a caller, or nil; nothing is prepared on it
}

// querier returns a querier that sends to the pool.
func (s *Store) querier() querier {
	return querier{to: s.pool, db: s.db, timeout: s.opt.QueryTimeout}
}

// stmt returns the name of a prepared statement, or its text in an external
// transaction.
func (q querier) stmt(name string) string {
	switch {
	case q.caller != nil && name == stmtTenant:
		return setTenant + ", " + lockCaller
	case q.caller != nil:
		return statements("ON CONFLICT DO NOTHING")[name]
	}
	return name
}

// batch sends the statements that queue adds, in one round trip and one
// transaction that sees the rows of some tenants.
func (q querier) batch(ctx context.Context, tenants string, queue func(*pgx.Batch) error) error {
	return q.send(ctx, stmtTenant, tenants, queue)
}

// hotBatch is batch under the planner settings of setTenantHot, for statements
// that must use an index whatever the statistics are.
func (q querier) hotBatch(ctx context.Context, tenants string, queue func(*pgx.Batch) error) error {
	if q.caller != nil { // the settings of the transaction belong to its caller
		return q.send(ctx, stmtTenant, tenants, queue)
	}
	return q.send(ctx, stmtTenantHot, tenants, queue)
}

func (q querier) send(ctx context.Context, setUp, tenants string, queue func(*pgx.Batch) error) error {
	if q.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, q.timeout, pgerror.ErrTimeout)
		defer cancel()
	}
	var b pgx.Batch
	if q.caller != nil {
		if err := queueSuits(&b, q.caller); err != nil {
			return err
		}
	}
	b.Queue(q.stmt(setUp), tenants)
	if err := queue(&b); err != nil {
		return err
	}
	return q.to.SendBatch(ctx, &b).Close()
}

// execHot sends one statement as hotBatch does.
func (q querier) execHot(ctx context.Context, tenants, statement string, args ...any) error {
	return q.hotBatch(ctx, tenants, func(b *pgx.Batch) error {
		b.Queue(statement, args...)
		return nil
	})
}

// exec sends one statement.
func (q querier) exec(ctx context.Context, tenants, statement string, args ...any) error {
	return q.batch(ctx, tenants, func(b *pgx.Batch) error {
		b.Queue(statement, args...)
		return nil
	})
}

// selectRow returns the first row of a statement, or an error that isMissing reports. The
// columns have the names of the fields of T.
func selectRow[T any](ctx context.Context, q querier, tenants, statement string, args ...any) (row T, err error) {
	err = q.batch(ctx, tenants, func(b *pgx.Batch) error {
		b.Queue(statement, args...).Query(func(rows pgx.Rows) (err error) {
			row, err = pgx.CollectOneRow(rows, pgx.RowToStructByNameLax[T])
			return err
		})
		return nil
	})
	return row, err
}

// selectAll returns all rows of a statement, converted.
func selectAll[R, T any](ctx context.Context, q querier, tenants, statement string, convert func(R) T) (all []T, err error) {
	err = q.batch(ctx, tenants, func(b *pgx.Batch) error {
		b.Queue(statement).Query(func(rows pgx.Rows) (err error) {
			all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (T, error) {
				r, err := pgx.RowToStructByNameLax[R](row)
				return convert(r), err
			})
			return err
		})
		return nil
	})
	return all, err
}

// statements returns the prepared statements by name. onConflict is the ON CONFLICT clause
// for a position that another append has taken; it may be empty.
func statements(onConflict string) map[string]string {
	return map[string]string{
		stmtTenant: setTenant, stmtTenantHot: setTenantHot, stmtTenantList: setTenantList, stmtLoad: loadEvents,
		stmtAppendHistory: fmt.Sprintf(appendHistory, onConflict),
		stmtAppendStart:   fmt.Sprintf(appendStart, onConflict),
		stmtAppendChange:  fmt.Sprintf(appendChange, onConflict),
		stmtAppendNothing: appendNothing,
		stmtInsertRun:     insertRun, stmtUpdateRun: updateRun,
		stmtInsertWork: insertWork, stmtReplaceWork: replaceWork, stmtDeleteWork: deleteWork,
		stmtInsertMeasure: insertMeasures,
		stmtHistoryGroup:  historyGroup, stmtStartGroup: startGroup, stmtChangeGroup: changeGroup,
		stmtScreened: appendScreened, stmtKeys: appendKeys, stmtAccount: selectAccount,
		stmtAudit: fmt.Sprintf(insertAudit, ofOneAppend), stmtAuditGroup: fmt.Sprintf(insertAudit, ofGroup),
		stmtTake: takeWork, stmtDueAfter: dueAfter,
		stmtMeasures: readMeasures,
	}
}

// prepare prepares the statements on a new connection, and notes the timeline of the server.
func (s *Store) prepare(ctx context.Context, conn *pgx.Conn) error {
	var now string
	err := conn.QueryRow(ctx, "SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END").Scan(&now)
	if err != nil && !pgerror.Answered(err) { // a server that answers otherwise has no timelines
		return err
	}
	if now != "" {
		if before := s.timeline.Swap(&now); before != nil && *before != now && s.opt.Moved != nil {
			s.opt.Moved()
		}
	}
	for name, text := range statements("") {
		if _, err := conn.Prepare(ctx, name, text); err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
	}
	return nil
}
