// What is left of removed rows, and the vacuum that removes it.

package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification/store"
)

var _ store.Removals = (*Store)(nil)

// The names of rows of shared_values. The first has the id of a transaction: dead rows of all transactions
// before it are gone. The second has the time of the vacuum.
const (
	vacuumedName   = "vacuumed_before"
	vacuumedAtName = "vacuumed_at"
)

// Removed implements store.Removals: a mark is the id of a transaction that had not begun. What was removed before
// a mark is gone if Vacuum began after the transactions before it, and nobody could see the rows any more that they
// removed. A number of another server, from which the database was copied, does not count.
func (s *Store) Removed(ctx context.Context, before int64) (mark int64, gone bool, err error) {
	err = s.transact(ctx, noTenant, nil, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw(`SELECT begun, coalesce((SELECT value::bigint BETWEEN ? AND begun FROM verifyd.shared_values WHERE name = ?), false)
			FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS begun) AS s`, before, vacuumedName).Scan(ctx, &mark, &gone)
	})
	return mark, gone, pgerror.Translate("read what was vacuumed", err)
}

// erasedTables are the tables of which a redaction removes rows.
const erasedTables = "verifyd.run_events, verifyd.runs, verifyd.search_keys, verifyd.screened_runs"

// vacuumState reads whether a redaction is not complete, whether Vacuum has run since a time, whether this role may
// vacuum, and the id of a transaction before which no row is visible to anybody that is not visible to all.
const vacuumState = `
SELECT EXISTS (
        SELECT FROM verifyd.work w JOIN verifyd.runs r ON r.tenant_id = w.tenant_id AND r.id = w.run_id
        WHERE w.kind = '` + string(store.WorkErase) + `' AND r.redacted_at IS NOT NULL
    ),
    EXISTS (SELECT FROM verifyd.shared_values WHERE name = '` + vacuumedAtName + `' AND value::bigint > ?),
    (SELECT bool_and(pg_has_role(c.relowner, 'USAGE')
            OR CASE WHEN current_setting('server_version_num')::int >= 170000 THEN has_table_privilege(c.oid, 'MAINTAIN') ELSE false END)
        FROM pg_class c WHERE c.oid = ANY (string_to_array('` + erasedTables + `', ', ')::regclass[])),
    (SELECT least(pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint - (
            SELECT coalesce(max(old), 0) FROM (
                SELECT age(backend_xmin) AS old FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
                UNION ALL SELECT age(xmin) FROM pg_replication_slots WHERE xmin IS NOT NULL
                UNION ALL SELECT age(transaction) FROM pg_prepared_xacts
            ) AS held))
        FROM pg_current_snapshot() AS s)`

// Vacuum vacuums the tables of which redactions removed rows, and their indexes, if a redaction is not complete. It does so
// at most four times within Options.EraseWithin on all hosts. It may take long, and ends with ctx.
func (s *Store) Vacuum(ctx context.Context, now time.Time) error {
	var pending, recent, may bool
	var before int64
	err := s.transact(ctx, everyTenant, nil, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw(vacuumState, now.Add(-s.opt.EraseWithin/4).UnixMicro()).Scan(ctx, &pending, &recent, &may, &before)
	})
	switch {
	case err != nil:
		return pgerror.Translate("look for redactions", err)
	case !pending || recent:
		return nil
	case !may:
		return errNoVacuum
	}
	for table := range strings.SplitSeq(erasedTables, ", ") {
		if _, err := s.pool.Exec(ctx, "VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) "+table); err != nil {
			return pgerror.Translate("vacuum "+table, err)
		}
	}
	err = s.transact(ctx, noTenant, nil, func(ctx context.Context, tx bun.Tx) error {
		rows := []sharedRow{
			{Name: vacuumedName, Value: strconv.FormatInt(before, 10)}, {Name: vacuumedAtName, Value: strconv.FormatInt(now.UnixMicro(), 10)},
		}
		_, err := tx.NewInsert().Model(&rows).On("CONFLICT (name) DO UPDATE").Set("value = excluded.value").Exec(ctx)
		return err
	})
	return pgerror.Translate("record the vacuum", err)
}

var errNoVacuum = errors.New("the role of this host may not vacuum the tables, so that no redaction is complete: let it own them, or GRANT MAINTAIN ON " +
	erasedTables + " to it (PostgreSQL 17 or later)")
