// Package pgadmin reads the state of a database for operators: its hosts, its queue, the
// files that were applied to it, and whether its counters are right.
package pgadmin

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
)

// Database is a database as operators see it. Its methods return ErrUnavailable when the
// database does not answer.
type Database struct{ store *postgres.Store }

// Of returns the database of a store. It uses the connections of the store.
func Of(s *postgres.Store) Database { return Database{s} }

// The values of verifyd.tenant: row-level security shows a transaction the rows of every
// tenant, or none.
const (
	everyTenant = "all"
	noTenant    = "" // for tables without tenants
)

// queryTimeout bounds each call but CheckCounts.
const queryTimeout = 10 * time.Second

// snapshot returns the options of a transaction that only reads, all as of one time.
func snapshot() pgx.TxOptions {
	return pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
}

// bounded is transact, at most for queryTimeout.
func (d Database) bounded(ctx context.Context, tenants string, o pgx.TxOptions, f func(context.Context, pgx.Tx) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, queryTimeout, pgerror.ErrTimeout)
	defer cancel()
	return d.transact(ctx, tenants, o, f)
}

// transact calls f in a transaction that sees the rows of some tenants.
func (d Database) transact(ctx context.Context, tenants string, o pgx.TxOptions, f func(context.Context, pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, d.store.Pool(), o, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT set_config('verifyd.tenant', $1, true)", tenants); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}

// collect returns the rows of a query. Its columns have the names of the fields of T.
func collect[T any](ctx context.Context, tx pgx.Tx, query string, args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByNameLax[T])
}

// RunTenants returns the saved tenants that have a run with this id. There is normally at
// most one, but the database does not enforce it. RunTenants looks the run up in each
// tenant, so its cost grows with the number of tenants, not of runs.
func (d Database) RunTenants(ctx context.Context, id verification.RunID) (tenants []verification.TenantID, err error) {
	if _, err := verification.ParseRunID(string(id)); err != nil {
		return nil, nil //nolint:nilerr // no run has any other id
	}
	const query = `SELECT t.tenant_id FROM verifyd.tenants t
WHERE EXISTS (SELECT 1 FROM verifyd.runs r WHERE r.tenant_id = t.tenant_id AND r.id = $1) ORDER BY t.tenant_id`
	err = d.bounded(ctx, everyTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, string(id))
		if err != nil {
			return err
		}
		tenants, err = pgx.CollectRows(rows, pgx.RowTo[verification.TenantID])
		return err
	})
	return tenants, pgerror.Translate("find the tenant of run "+string(id), err)
}
