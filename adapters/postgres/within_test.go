// Tests of runs in transactions of the caller.

package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// embedder is an application with a table of its own.
type embedder struct {
	store  *postgres.Store
	engine *engine.Engine
	pool   *pgxpool.Pool
	flow   verification.WorkflowID
}

func newEmbedder(t *testing.T) *embedder {
	t.Helper()
	url := pgtest.Database(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE customers (name text PRIMARY KEY, run uuid)"); err != nil {
		t.Fatal(err)
	}
	e := &embedder{store: openAt(t, url, postgres.Options{}), pool: pool}
	e.engine = newEngine(t, e.store)
	applied, err := e.engine.Apply(t.Context(), ours, reviewed())
	if err != nil {
		t.Fatal(err)
	}
	e.flow = applied.Workflow.ID
	return e
}

// within calls f inside a transaction of pgx or of database/sql, which is committed
// unless f returns an error.
func (e *embedder) within(t *testing.T, kind string, f func(exec func(sql string, args ...any) error, in *engine.TxEngine) error) error {
	t.Helper()
	ctx := t.Context()
	if kind == "pgx" {
		return pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
			exec := func(sql string, args ...any) error { _, err := tx.Exec(ctx, sql, args...); return err }
			return f(exec, e.engine.Within(e.store.Within(tx)))
		})
	}
	db := stdlib.OpenDBFromPool(e.pool)
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	exec := func(sql string, args ...any) error { _, err := tx.ExecContext(ctx, sql, args...); return err }
	var within *engine.TxEngine
	err = e.store.WithinSQL(ctx, conn, func(in *postgres.Tx) error {
		within = e.engine.Within(in)
		return nil
	})
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := f(exec, within); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

var errChangedMind = errors.New("changed its mind")

func (e *embedder) customers(t *testing.T) (n int) {
	t.Helper()
	if err := e.pool.QueryRow(t.Context(), "SELECT count(*) FROM customers").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (e *embedder) work(t *testing.T) (pieces, jobs int) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), e.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT set_config('verifyd.tenant', 'all', true)"); err != nil {
			return err
		}
		const count = "SELECT (SELECT count(*) FROM verifyd.work), (SELECT count(*) FROM verifyd.river_job)"
		return tx.QueryRow(t.Context(), count).Scan(&pieces, &jobs)
	})
	if err != nil {
		t.Fatal(err)
	}
	return pieces, jobs
}

func TestARunStartsTogetherWithTheCallersDataOrNotAtAll(t *testing.T) {
	for _, kind := range []string{"pgx", "database/sql"} {
		t.Run(kind, func(t *testing.T) {
			e := newEmbedder(t)
			start := func(then error) (verification.RunID, error) {
				var id verification.RunID
				err := e.within(t, kind, func(exec func(string, ...any) error, in *engine.TxEngine) error {
					v, err := in.Start(t.Context(), ours, e.flow, engine.StartRequest{ReferenceID: "customer"})
					if err != nil {
						return err
					}
					id = v.ID
					if _, err := e.engine.Run(t.Context(), ours, id); !errors.Is(err, verification.ErrNotFound) {
						t.Errorf("before the commit others read %v, want not found", err)
					}
					return errors.Join(exec("INSERT INTO customers VALUES ($1, $2)", "asha", string(id)), then)
				})
				return id, err
			}
			id, err := start(errChangedMind)
			if !errors.Is(err, errChangedMind) {
				t.Fatal(err)
			}
			if _, err := e.engine.Run(t.Context(), ours, id); !errors.Is(err, verification.ErrNotFound) {
				t.Errorf("the run of a transaction that was rolled back: %v, want not found", err)
			}
			if pieces, jobs := e.work(t); pieces != 0 || jobs != 0 || e.customers(t) != 0 {
				t.Errorf("the rollback left %d pieces of work, %d jobs and %d customers", pieces, jobs, e.customers(t))
			}
			if id, err = start(nil); err != nil {
				t.Fatal(err)
			}
			if pieces, jobs := e.work(t); pieces != 1 || jobs != 1 || e.customers(t) != 1 {
				t.Errorf("the commit left %d pieces of work, %d jobs and %d customers, want one each", pieces, jobs, e.customers(t))
			}
			e.serve(t)
			e.wait(t, id, func(d rules.RunDetail) bool {
				return d.Action != nil && d.Action.Type == rules.ActionReview
			})
		})
	}
}

func TestAVerdictCommitsWithTheDataOfItsCaller(t *testing.T) {
	for _, kind := range []string{"pgx", "database/sql"} {
		t.Run(kind, func(t *testing.T) {
			e := newEmbedder(t)
			e.serve(t)
			v, err := e.engine.Start(t.Context(), ours, e.flow, engine.StartRequest{ReferenceID: "customer"})
			if err != nil {
				t.Fatal(err)
			}
			parked := func(d rules.RunDetail) bool {
				return d.Action != nil && d.Action.Type == rules.ActionReview
			}
			e.wait(t, v.ID, parked)
			approve := func(then error) error {
				return e.within(t, kind, func(exec func(string, ...any) error, in *engine.TxEngine) error {
					r, err := in.GiveVerdict(t.Context(), ours, v.ID, rules.GiveVerdict{Decision: rules.DecisionApprove, By: "asha"})
					if err == nil && r.Result != engine.SignalDelivered {
						t.Errorf("GiveVerdict = %+v, want it delivered", r)
					}
					return errors.Join(err, exec("INSERT INTO customers VALUES ('approved', $1)", string(v.ID)), then)
				})
			}
			if err := approve(errChangedMind); !errors.Is(err, errChangedMind) {
				t.Fatal(err)
			}
			if d, err := e.engine.Run(t.Context(), ours, v.ID); err != nil || !parked(d) || e.customers(t) != 0 {
				t.Errorf("after the rollback the run is %+v, %v", d, err)
			}
			if err := approve(nil); err != nil {
				t.Fatal(err)
			}
			e.wait(t, v.ID, func(d rules.RunDetail) bool { return d.Status == rules.StatusCompleted })
			if e.customers(t) != 1 {
				t.Error("the embedder's row is gone")
			}
			again := e.within(t, kind, func(_ func(string, ...any) error, in *engine.TxEngine) error {
				_, err := in.Submit(t.Context(), ours, v.ID, engine.SubmitRequest{Signal: "consent_submitted"})
				return err
			})
			if !errors.Is(again, verification.ErrNotOpen) {
				t.Errorf("a signal that is not open = %v", again)
			}
		})
	}
}

func TestOtherRunsContinueWhileATransactionLocksARun(t *testing.T) {
	e := newEmbedder(t)
	v, err := e.engine.Start(t.Context(), ours, e.flow, engine.StartRequest{ReferenceID: "held"})
	if err != nil {
		t.Fatal(err)
	}
	err = e.within(t, "pgx", func(_ func(string, ...any) error, in *engine.TxEngine) error {
		if _, err := in.Cancel(t.Context(), ours, v.ID); err != nil {
			return err
		}
		if _, err := e.engine.Cancel(t.Context(), ours, v.ID); !errors.Is(err, verification.ErrUnavailable) {
			t.Errorf("a cancel meanwhile = %v, want unavailable", err)
		}
		began := time.Now()
		if _, err := e.engine.Start(t.Context(), ours, e.flow, engine.StartRequest{ReferenceID: "other"}); err != nil {
			t.Errorf("another start meanwhile: %v after %s", err, time.Since(began))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := e.engine.Run(t.Context(), ours, v.ID); err != nil || d.Status != rules.StatusCancelled {
		t.Errorf("after the commit the run is %s, %v; want it cancelled", d.Status, err)
	}
}

func TestATransactionMustBeOpen(t *testing.T) {
	e := newEmbedder(t)
	db := stdlib.OpenDBFromPool(e.pool)
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = e.store.WithinSQL(t.Context(), conn, func(*postgres.Tx) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "begin one") {
		t.Errorf("WithinSQL without a transaction = %v", err)
	}
	tx, err := conn.BeginTx(t.Context(), &sql.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was done in it
	err = e.store.WithinSQL(context.WithoutCancel(t.Context()), conn, func(in *postgres.Tx) error {
		_, err := e.engine.Within(in).Start(t.Context(), ours, e.flow, engine.StartRequest{ReferenceID: "a", IdempotencyKey: "k"})
		return err
	})
	if !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("an idempotency key inside a transaction = %v, want it refused", err)
	}
}

func TestARunInATransactionHasItsLinkAtOnce(t *testing.T) {
	e := newEmbedder(t)
	d := reviewed()
	d.Workflow, d.ID, d.Start = "asked", "", "consent"
	d.Nodes["consent"] = workflow.Node{Type: workflow.NodeConsent, Text: "We look you up.", OnDeclined: "done", Next: "pan"}
	applied, err := e.engine.Apply(t.Context(), ours, d)
	must(t, err)
	err = e.within(t, "pgx", func(_ func(string, ...any) error, in *engine.TxEngine) error {
		v, err := in.Start(t.Context(), ours, applied.Workflow.ID, engine.StartRequest{ReferenceID: "customer"})
		if err == nil && (v.Action == nil || v.Action.URL == "") {
			t.Errorf("run = %+v, want a journey link", v)
		}
		return err
	})
	must(t, err)
}
