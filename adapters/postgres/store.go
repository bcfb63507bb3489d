// The store: its pool of connections, and transactions.

package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Options are the settings of a Store. The zero value has the defaults of a host.
type Options struct {
	// MaxConns bounds the connections of this host; 0 means 16. A pool_max_conns
	// in the URL takes precedence.
	MaxConns int
	// Writers is how many groups of appends are committed at the same time; 0 means 1.
	// One writer makes larger groups, which cost less; that is best with few processors.
	Writers int
	// QueryTimeout bounds one call, which then fails with ErrUnavailable; 0 means
	// 10 s.
	QueryTimeout time.Duration
	// ListTimeout bounds each statement of a list, which then fails with
	// ErrUnavailable; 0 means 5 s.
	ListTimeout time.Duration
	// SingleHost declares that no other host uses this database. Then the store
	// inserts no jobs that wake other hosts.
	SingleHost bool
	// Copying opens also a database with an unfinished copy, see store.CopyStore. Otherwise Open
	// returns ErrConflict for it.
	Copying bool
	// EraseWithin is within how much time of a redaction Vacuum removes its dead rows; 0 means an hour.
	EraseWithin time.Duration
	// Moved is called, before a connection is used, when the server is on another timeline than before: a standby was
	// promoted, and changes that it had not received are lost. Nil does nothing.
	Moved func()
	// Log receives messages for operators; nil discards them.
	Log *slog.Logger
}

// Store is a store.Store on PostgreSQL. It is safe for concurrent use, and
// any number of hosts may open one on the same database. Its methods return
// ErrUnavailable when the database does not answer.
type Store struct {
	store.Tables // over the Store itself

	pool    *pgxpool.Pool
	db      *bun.DB
	opt     Options
	log     *slog.Logger
	writers *writers
	lists   listSlots
	wakeups wakeups
	closed  atomic.Bool
	level   atomic.Int64

	timeline atomic.Pointer[string] // of the server; nil while it is not known

	listTexts map[listShape]listTexts
	stale     string // the statement of stale rows

	accounts *coalescer[string, verification.Account] // each client's requests read one every second
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Leveled = (*Store)(nil)
)

// Open connects to the database at a postgres:// URL, whose schema must be
// current: see Migrate. It returns ErrUnavailable when no server answers, and
// ErrConflict when a migration is missing, or the level of the store is above the one that this build reads.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	o.MaxConns = cmp.Or(o.MaxConns, 16)
	o.Writers = cmp.Or(o.Writers, 1)
	o.QueryTimeout = cmp.Or(o.QueryTimeout, 10*time.Second)
	o.ListTimeout = cmp.Or(o.ListTimeout, 5*time.Second)
	o.EraseWithin = cmp.Or(o.EraseWithin, time.Hour)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	config, err := configure(url, o)
	if err != nil {
		return nil, err
	}
	if err := pgschema.Check(ctx, config.ConnConfig); err != nil {
		return nil, err
	}
	s := &Store{opt: o, log: o.Log, lists: newListSlots(int(config.MaxConns))}
	config.AfterConnect = s.prepare
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s.db = newBun(s.pool)
	s.Tables = store.Tables{RowStore: s}
	s.accounts = newCoalescer(s.loadAccount)
	s.listTexts, s.stale = textsOf(s.db), stale(s.db)
	err = s.Ping(ctx)
	if err == nil {
		err = s.readLevel(ctx)
	}
	if err == nil && !o.Copying {
		err = s.refuseUnfinishedCopy(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	if !o.SingleHost {
		if s.wakeups, err = newWakeups(s.pool); err != nil {
			s.Close()
			return nil, fmt.Errorf("configure wake-ups: %w", err)
		}
	}
	s.writers = newWriters(s, o.Writers)
	return s, nil
}

// configure reads the URL. Statements are sent unprepared, because the texts
// of bun differ at every call; the hot ones are prepared by name.
func configure(url string, o Options) (*pgxpool.Config, error) {
	config, err := pgschema.ParseConfig(url, noTenant)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "verifyd"
	}
	config.ConnConfig.ConnectTimeout = min(config.ConnConfig.ConnectTimeout, o.QueryTimeout)
	fatal := config.ConnConfig.OnPgError
	config.ConnConfig.OnPgError = func(c *pgconn.PgConn, err *pgconn.PgError) bool {
		return fatal(c, err) && err.Code != pgerror.ReadOnly // the next connection may lead to the new primary
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = int32(min(o.MaxConns, 1000))
	}
	config.MinIdleConns = min(2, config.MaxConns)
	config.MaxConnIdleTime = 5 * time.Minute
	config.HealthCheckPeriod = 5 * time.Second
	return config, nil
}

// newBun returns bun on the pool. database/sql keeps no idle connections of it.
func newBun(pool *pgxpool.Pool) *bun.DB {
	db := stdlib.OpenDBFromPool(pool)
	db.SetMaxIdleConns(0)
	return bun.NewDB(db, pgdialect.New())
}

// Ping asks the database on a connection of the pool whether it takes writes. It returns
// ErrUnavailable when no connection becomes free before ctx ends, when the database
// does not answer, and when it is read-only. Then the pool connects anew, because another
// server may have become the primary.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if stat := s.pool.Stat(); err != nil && stat.TotalConns() == stat.MaxConns() {
		return pgerror.Unavailable("database", fmt.Sprintf("no database connection is free, all %d are in use", stat.MaxConns()), err)
	}
	if err != nil {
		return pgerror.Translate("reach the database", err)
	}
	defer conn.Release()
	var readOnly bool
	if err := conn.QueryRow(ctx, "SELECT current_setting('transaction_read_only')::bool").Scan(&readOnly); err != nil {
		return pgerror.Translate("reach the database", err)
	}
	if readOnly {
		s.pool.Reset()
		return pgerror.Unavailable("database", pgerror.TakesNoWrites, nil)
	}
	return nil
}

// Close waits for pending appends and closes the connections.
func (s *Store) Close() {
	if s.writers != nil {
		s.writers.stop()
	}
	s.closed.Store(true)
	_ = s.db.Close() // its connections belong to the pool
	s.pool.Close()
}

// Pool returns the pool of connections, for other tables of the same database.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// WaitingAppends returns how many appends wait for a writer on this host.
func (s *Store) WaitingAppends() int { return s.writers.waitingAppends() }

// withTimeout bounds one call by QueryTimeout.
func (s *Store) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.opt.QueryTimeout, pgerror.ErrTimeout)
}

// The values of verifyd.tenant that are no list of tenants.
const (
	everyTenant = "all"
	noTenant    = "" // for tables without tenants
)

// snapshot returns the options of a transaction that only reads, all as of one time.
func snapshot() *sql.TxOptions {
	return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
}

// write calls f in a transaction that sees and changes one tenant.
func (s *Store) write(ctx context.Context, tenant verification.TenantID, f func(context.Context, bun.Tx) error) error {
	return s.transact(ctx, string(tenant), nil, f)
}

// transact calls f in a transaction that sees and changes some tenants.
func (s *Store) transact(ctx context.Context, tenants string, o *sql.TxOptions, f func(context.Context, bun.Tx) error) error {
	return s.begin(ctx, o, f, "SELECT set_config('verifyd.tenant', ?, true)", tenants)
}

// begin calls f in a transaction whose first statement is setUp.
func (s *Store) begin(
	ctx context.Context, o *sql.TxOptions, f func(context.Context, bun.Tx) error, setUp string, args ...any,
) error {
	if s.closed.Load() {
		return errClosed()
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
