// The store inside a transaction of its caller.

package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Tx is the store inside a transaction of its caller. What Append adds is committed
// or rolled back with the transaction, and other hosts are woken at the commit.
//
// The transaction must be on the store's database, and its role needs the rights of
// the store's own role on the schema "verifyd". A call returns an error if the transaction has
// settings under which statements have another meaning, such as standard_conforming_strings = off. After a call, row-level security
// shows the transaction only the rows of the tenant of that call.
type Tx struct {
	store *Store
	tx    pgx.Tx
}

// Within returns the store inside a transaction of pgx, which the caller ends.
func (s *Store) Within(tx pgx.Tx) *Tx { return &Tx{store: s, tx: tx} }

// WithinSQL calls f with the store inside the transaction that is open on a
// connection of database/sql, which must be one of pgx's stdlib. The caller
// begins the transaction on the connection, and ends it after f:
//
//	conn, err := db.Conn(ctx)
//	tx, err := conn.BeginTx(ctx, nil)
//	// ... tx.ExecContext ...
//	err = store.WithinSQL(ctx, conn, func(in *postgres.Tx) error { ... })
//	err = tx.Commit()
func (s *Store) WithinSQL(ctx context.Context, conn *sql.Conn, f func(*Tx) error) error {
	return conn.Raw(func(driver any) error {
		c, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("postgres: the connection is a %T, want one of pgx's stdlib", driver)
		}
		if c.Conn().PgConn().TxStatus() == 'I' {
			return errors.New("postgres: no transaction is open on the connection: begin one on it first")
		}
		return f(&Tx{store: s, tx: openTx{c.Conn()}})
	})
}

// queueSuits adds a statement to a batch that fails if statements have another meaning in the
// transaction. It returns an error itself if the meaning of texts differs, before any is sent.
func queueSuits(b *pgx.Batch, conn *pgx.Conn) error {
	for name, want := range map[string]string{"standard_conforming_strings": "on", "client_encoding": "UTF8"} {
		if conn.PgConn().ParameterStatus(name) != want { // the server has told it
			return unsuitable(name)
		}
	}
	b.Queue(pgschema.Unsuitable).Query(func(rows pgx.Rows) error {
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err == nil && len(names) > 0 {
			err = unsuitable(names...)
		}
		return err
	})
	return nil
}

// unsuitable is the error of a transaction with a setting under which verifyd cannot work.
func unsuitable(names ...string) error {
	return fmt.Errorf("postgres: the transaction has other settings than verifyd relies on: reset %s for the connection", strings.Join(names, ", "))
}

func (t *Tx) querier() querier { return querier{to: t.tx, db: t.store.db, caller: t.tx.Conn()} }

// Load returns the events after the first `after` ones, or ErrNotFound.
func (t *Tx) Load(ctx context.Context, tenant verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
	return load(ctx, t.querier(), tenant, id, after)
}

// Append adds to a run whose history has seq events, all or nothing, or
// returns ErrConflict.
func (t *Tx) Append(ctx context.Context, tenant verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	if err := c.CheckLevel(t.store.Level()); err != nil {
		return err
	}
	if c.Rewrite || c.Delete {
		return rewrite(ctx, t.store, t.tx, t.querier(), tenant, id, seq, c)
	}
	p, err := newPendingAppend(tenant, id, seq, c)
	if err == nil {
		err = t.store.appendOne(ctx, t.querier(), t.tx, p)
	}
	return pgerror.Translate("append to run "+string(id), err)
}

// Workflow returns one workflow, or ErrNotFound.
func (t *Tx) Workflow(ctx context.Context, tenant verification.TenantID, id verification.WorkflowID) (workflow.Workflow, error) {
	return loadWorkflow(ctx, t.querier(), tenant, id)
}

// Version returns one version by its hash, or ErrNotFound.
func (t *Tx) Version(ctx context.Context, tenant verification.TenantID, id verification.WorkflowID, hash string) (workflow.Version, error) {
	return loadVersion(ctx, t.querier(), tenant, id, hash)
}

// Tenant returns one tenant, or ErrNotFound.
func (t *Tx) Tenant(ctx context.Context, id verification.TenantID) (verification.Tenant, error) {
	return loadTenant(ctx, t.querier(), id)
}

// openTx is a transaction that is open on a connection and that its caller ends.
type openTx struct{ *conn }

type conn = pgx.Conn

var _ pgx.Tx = openTx{}

// errNotOurs is returned by Commit and Rollback of an openTx.
var errNotOurs = errors.New("postgres: the transaction belongs to its caller")

// Begin sets a savepoint.
func (t openTx) Begin(ctx context.Context) (pgx.Tx, error) {
	if _, err := t.Exec(ctx, "SAVEPOINT verifyd"); err != nil {
		return nil, err
	}
	return &savepoint{openTx: t}, nil
}

// Commit returns an error.
func (openTx) Commit(context.Context) error { return errNotOurs }

// Rollback returns an error.
func (openTx) Rollback(context.Context) error { return errNotOurs }

// LargeObjects is not supported.
func (openTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

// Conn returns the connection.
func (t openTx) Conn() *pgx.Conn { return t.conn }

// savepoint is a transaction inside an open transaction. Once it has ended, Commit and Rollback return
// pgx.ErrTxClosed.
type savepoint struct {
	openTx
	ended bool
}

// Commit releases the savepoint.
func (t *savepoint) Commit(ctx context.Context) error { return t.end(ctx, "RELEASE SAVEPOINT verifyd") }

// Rollback returns to the savepoint, and releases it.
func (t *savepoint) Rollback(ctx context.Context) error {
	return t.end(ctx, "ROLLBACK TO SAVEPOINT verifyd; RELEASE SAVEPOINT verifyd")
}

func (t *savepoint) end(ctx context.Context, statements string) error {
	if t.ended {
		return pgx.ErrTxClosed
	}
	t.ended = true
	_, err := t.Exec(ctx, statements)
	return err
}
