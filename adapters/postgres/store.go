// The store: one pool of connections, and the transactions on it.

package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/verifyd/verifyd/verification"
)

// Options have defaults that suit a host.
type Options struct {
	// MaxConns bounds the connections of this host; 0 means 16. A pool_max_conns
	// in the address goes before it.
	MaxConns int
	// Writers is how many groups of appends may be under way at once; 0 means 1,
	// which is best where hosts and database have few processors: larger groups
	// cost less.
	Writers int
	// QueryTimeout bounds how long one call may take before the database counts as
	// not there; 0 means 10 s.
	QueryTimeout time.Duration
	// ListTimeout bounds each statement of a list; 0 means 5 s. A list that takes
	// longer fails with ErrUnavailable.
	ListTimeout time.Duration
	// SingleHost says that no other host works on this database, so that nobody has
	// to be told of work.
	SingleHost bool
	// Log takes what operators need to know; nil drops it.
	Log *slog.Logger
}

// Store is a verification.RunStore, WorkQueue, WorkflowStore, TenantStore,
// IdempotencyStore and DeliveryStore on PostgreSQL. It is safe for concurrent use, and
// any number of hosts may have one on the same database. A database that does
// not answer is ErrUnavailable.
type Store struct {
	pool    *pgxpool.Pool
	db      *bun.DB
	opt     Options
	log     *slog.Logger
	writers *writers
	lists   listSlots
	alarms  alarms
	left    atomic.Bool // the database

	// What is asked at every request, of few things.
	workflows *asks[workflowKey, verification.Workflow]
	accounts  *asks[string, verification.Account]
}

var (
	_ verification.RunStore         = (*Store)(nil)
	_ verification.WorkQueue        = (*Store)(nil)
	_ verification.WorkflowStore    = (*Store)(nil)
	_ verification.TenantStore      = (*Store)(nil)
	_ verification.IdempotencyStore = (*Store)(nil)
	_ verification.DeliveryStore    = (*Store)(nil)
)

// Open connects to the database at a postgres:// address, whose schema must be
// current: see Migrate. It fails with ErrUnavailable when nobody answers there,
// and with ErrConflict when the schema is another.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	if o.MaxConns == 0 {
		o.MaxConns = 16
	}
	if o.Writers == 0 {
		o.Writers = 1
	}
	if o.QueryTimeout == 0 {
		o.QueryTimeout = 10 * time.Second
	}
	if o.ListTimeout == 0 {
		o.ListTimeout = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	config, err := configure(url, o)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(ctx, config.ConnConfig); err != nil {
		return nil, err
	}
	config.AfterConnect = prepare
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s := &Store{pool: pool, db: bunOver(pool), opt: o, log: o.Log, lists: newListSlots(int(config.MaxConns))}
	s.accounts = newAsks(s.loadAccount)
	s.workflows = newAsks(func(ctx context.Context, k workflowKey) (verification.Workflow, error) {
		ctx, cancel := s.withTimeout(ctx)
		defer cancel()
		return loadWorkflow(ctx, s.link(), k.tenant, k.id)
	})
	if err := s.Ping(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if !o.SingleHost {
		if s.alarms, err = newAlarms(pool); err != nil {
			s.Close()
			return nil, fmt.Errorf("open the jobs: %w", err)
		}
	}
	s.writers = newWriters(s, o.Writers)
	return s, nil
}

// configure reads the address. Statements are sent as they are, with their
// arguments: bun's texts differ at every call, and preparing each would cost
// more than it saves. The hot ones are prepared by name.
func configure(url string, o Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, badAddress(err)
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "verifyd"
	}
	if config.ConnConfig.ConnectTimeout == 0 || config.ConnConfig.ConnectTimeout > o.QueryTimeout {
		config.ConnConfig.ConnectTimeout = min(5*time.Second, o.QueryTimeout)
	}
	if !hasPoolSize(url) {
		config.MaxConns = int32(min(o.MaxConns, 1000))
	}
	config.MinIdleConns = min(2, config.MaxConns)
	config.MaxConnIdleTime = 5 * time.Minute
	config.HealthCheckPeriod = 5 * time.Second
	return config, nil
}

// bunOver opens bun on the pool; database/sql keeps none of its connections.
func bunOver(pool *pgxpool.Pool) *bun.DB {
	db := stdlib.OpenDBFromPool(pool)
	db.SetMaxIdleConns(0)
	return bun.NewDB(db, pgdialect.New())
}

// Ping reports whether a call gets through to the database, on a connection of
// the pool that appends use. It fails with ErrUnavailable when no connection
// comes free before ctx ends, or when the database does not answer.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if stat := s.pool.Stat(); err != nil && stat.TotalConns() == stat.MaxConns() {
		return &verification.Error{
			Kind: verification.ErrUnavailable, Subject: "database",
			Message: fmt.Sprintf("no database connection is free, all %d are in use", stat.MaxConns()), Cause: err,
		}
	}
	if err != nil {
		return translate("reach the database", err)
	}
	defer conn.Release()
	return translate("reach the database", conn.Ping(ctx))
}

// Close waits for the appends that are under way and leaves the database.
func (s *Store) Close() {
	if s.writers != nil {
		s.writers.stop()
	}
	s.left.Store(true)
	_ = s.db.Close() // it holds no connection
	s.pool.Close()
}

// Pool is the store's pool of connections, for what an embedder keeps beside it.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// link is the way to the database on a connection of the pool.
func (s *Store) link() link { return link{to: s.pool} }

// withTimeout bounds one call.
func (s *Store) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.opt.QueryTimeout, errTimeout)
}

// everyTenant names all tenants to row-level security.
const everyTenant = "all"

// nameTenant has the rest of a transaction see the rows of some tenants.
const nameTenant = "SELECT set_config('verifyd.tenant', $1, true)"

// nameTenantHot prepares a transaction for prepared statements, too. They are
// planned once and for all: the server would plan them anew for each number of
// appends in a group, which costs more than executing them. The plans use
// indexes even where they are made while a table is small, because they stay when
// it has grown. And no statement waits long for a run that an embedder's open
// transaction holds, because a group waits with it.
const nameTenantHot = `SELECT set_config('verifyd.tenant', $1, true),
	set_config('plan_cache_mode', 'force_generic_plan', true), set_config('lock_timeout', '1s', true),
	set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`

// read runs f in a transaction that sees one tenant at one moment.
func (s *Store) read(ctx context.Context, tenant verification.TenantID, f func(context.Context, bun.Tx) error) error {
	return s.transact(ctx, string(tenant), &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, f)
}

// write runs f in a transaction that sees and changes one tenant.
func (s *Store) write(ctx context.Context, tenant verification.TenantID, f func(context.Context, bun.Tx) error) error {
	return s.transact(ctx, string(tenant), nil, f)
}

// transact runs f in a transaction that names the tenants. It may be called
// again after f failed; f must not keep what it read then.
func (s *Store) transact(ctx context.Context, tenants string, o *sql.TxOptions, f func(context.Context, bun.Tx) error) error {
	return s.begin(ctx, o, f, "SELECT set_config('verifyd.tenant', ?, true)", tenants)
}

// begin runs f in a transaction that begins with the statement setUp.
func (s *Store) begin(
	ctx context.Context, o *sql.TxOptions, f func(context.Context, bun.Tx) error, setUp string, args ...any,
) error {
	if s.left.Load() {
		return closed()
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	return s.db.RunInTx(ctx, o, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, setUp, args...); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}
