// The store inside a transaction that somebody else has opened.

package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/verifyd/verifyd/verification"
)

// Tx is the store inside a transaction of its caller. Load, Append, Workflow,
// Version and Tenant go through the transaction, and what Append adds commits
// or vanishes with it, other hosts being told at the commit. Every other method
// is the store's own, outside of the transaction.
//
// The transaction must be on the store's database; its role needs the rights of
// the store's own on the schema "verifyd". After a call the transaction sees,
// under row-level security, the rows of the tenant of that call alone.
type Tx struct {
	*Store
	tx pgx.Tx
}

var (
	_ verification.RunStore      = (*Tx)(nil)
	_ verification.WorkflowStore = (*Tx)(nil)
	_ verification.TenantStore   = (*Tx)(nil)
)

// Within is the store inside a transaction of pgx. The caller commits it, or
// rolls it back.
func (s *Store) Within(tx pgx.Tx) *Tx { return &Tx{Store: s, tx: tx} }

// WithinSQL runs f with the store inside the transaction that is open on a
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
			return fmt.Errorf("postgres: the connection is one of %T, want one of pgx's stdlib", driver)
		}
		if c.Conn().PgConn().TxStatus() == 'I' {
			return errors.New("postgres: no transaction is open on the connection: begin one on it first")
		}
		return f(&Tx{Store: s, tx: openTx{c.Conn()}})
	})
}

// link is the way to the database through the transaction.
func (t *Tx) link() link { return link{to: t.tx, foreign: true} }

// Load returns the events after the first `after` ones, or ErrNotFound.
func (t *Tx) Load(ctx context.Context, tenant verification.TenantID, id verification.RunID, after int) ([]verification.Event, error) {
	events, err := load(ctx, t.link(), tenant, id, after)
	return events, translate("load run "+string(id), err)
}

// Append adds to a run whose history has seq events, all or nothing, or
// returns ErrConflict.
func (t *Tx) Append(ctx context.Context, tenant verification.TenantID, id verification.RunID, seq int, a verification.Commit) error {
	d, err := newAddition(tenant, id, seq, a)
	if err == nil {
		err = t.appendIn(ctx, t.link(), t.tx, d)
	}
	return translate("append to run "+string(id), err)
}

// Workflow returns one workflow, or ErrNotFound.
func (t *Tx) Workflow(ctx context.Context, tenant verification.TenantID, id verification.WorkflowID) (verification.Workflow, error) {
	return loadWorkflow(ctx, t.link(), tenant, id)
}

// Version returns one version by its hash, or ErrNotFound.
func (t *Tx) Version(ctx context.Context, tenant verification.TenantID, id verification.WorkflowID, hash string) (verification.Version, error) {
	return loadVersion(ctx, t.link(), tenant, id, hash)
}

// Tenant returns one tenant, or ErrNotFound.
func (t *Tx) Tenant(ctx context.Context, id verification.TenantID) (verification.Tenant, error) {
	return loadTenant(ctx, t.link(), id)
}

// openTx is the transaction that is open on a connection. Whoever opened it
// ends it.
type openTx struct{ *conn }

type conn = pgx.Conn

var _ pgx.Tx = openTx{}

// errNotOurs refuses to end a transaction of somebody else.
var errNotOurs = errors.New("postgres: the transaction belongs to its caller")

// Begin opens a savepoint.
func (t openTx) Begin(ctx context.Context) (pgx.Tx, error) {
	if _, err := t.Exec(ctx, "SAVEPOINT verifyd"); err != nil {
		return nil, err
	}
	return savepoint{t}, nil
}

// Commit refuses.
func (openTx) Commit(context.Context) error { return errNotOurs }

// Rollback refuses.
func (openTx) Rollback(context.Context) error { return errNotOurs }

// LargeObjects are none.
func (openTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

// Conn is the connection itself.
func (t openTx) Conn() *pgx.Conn { return t.conn }

// savepoint is a transaction inside one that is open.
type savepoint struct{ openTx }

// Commit keeps what was done since the savepoint.
func (t savepoint) Commit(ctx context.Context) error {
	_, err := t.Exec(ctx, "RELEASE SAVEPOINT verifyd")
	return err
}

// Rollback takes back what was done since the savepoint.
func (t savepoint) Rollback(ctx context.Context) error {
	_, err := t.Exec(ctx, "ROLLBACK TO SAVEPOINT verifyd")
	return err
}
