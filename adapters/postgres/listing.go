// Limits on reading lists, so that appends and other tenants do not wait for it.

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// deepOffset is the offset from which a list is deep: skipping rows costs more than
// reading the page.
const deepOffset = 5000

// listSlots bounds the lists that are read at the same time.
type listSlots struct {
	all  *fair.Limiter // a quarter of the connections; half of them for each tenant
	deep *fair.Limiter // half as many deep lists; one for each tenant
}

func newListSlots(conns int) listSlots {
	all := max(1, conns/4)
	return listSlots{all: fair.NewLimiter(all, max(1, all/2)), deep: fair.NewLimiter(max(1, all/2), 1)}
}

// acquire waits for a slot of a tenant. A deep list that waits for another deep
// list holds no slot that a shallow list could use.
func (l listSlots) acquire(ctx context.Context, t verification.TenantID, offset int) (release func(), err error) {
	releaseDeep := func() {}
	if offset >= deepOffset {
		if releaseDeep, err = l.deep.Acquire(ctx, string(t)); err != nil {
			return nil, err
		}
	}
	releaseAny, err := l.all.Acquire(ctx, string(t))
	if err != nil {
		releaseDeep()
		return nil, err
	}
	return func() { releaseAny(); releaseDeep() }, nil
}

// listing waits for a slot and calls f, both within one timeout.
func (s *Store) listing(ctx context.Context, t verification.TenantID, offset int, f func(context.Context) error) error {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	release, err := s.lists.acquire(ctx, t, offset)
	if err != nil {
		return err
	}
	defer release()
	return f(ctx)
}

// listStatement is a statement of a list. Its text is the same for all values, which are its
// arguments, so that each connection prepares and plans it once.
type listStatement struct {
	text string
	args []any
	read func(pgx.Rows) error
}

// beginList begins the transaction of a list: its statements see a snapshot.
const beginList = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// readBatch sends the statements of a list in one round trip and one transaction, as readList
// does. A single statement needs no other snapshot than its own.
func (s *Store) readBatch(ctx context.Context, t verification.TenantID, statements ...listStatement) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	for _, st := range statements { // this sends nothing if the text is prepared
		if _, err := conn.Conn().Prepare(ctx, st.text, st.text); err != nil {
			return err
		}
	}
	return s.limited(ctx, func(statement, lock string) error {
		var b pgx.Batch
		if len(statements) > 1 {
			b.Queue(beginList)
		}
		b.Queue(stmtTenantList, string(t), statement, lock)
		for _, st := range statements {
			b.Queue(st.text, st.args...).Query(st.read)
		}
		if len(statements) > 1 {
			b.Queue("COMMIT")
		}
		err := conn.SendBatch(ctx, &b).Close()
		if raw := conn.Conn().PgConn(); err != nil && !raw.IsClosed() && raw.TxStatus() != 'I' {
			_, rolledBack := conn.Exec(ctx, "ROLLBACK")
			err = errors.Join(err, rolledBack)
		}
		return err
	})
}

// filter is a condition of a list and its argument; ? stands for it.
type filter struct {
	condition string
	arg       any
}

// readPage counts the rows of R that match the filters, and reads one page of them in an
// order.
func readPage[R, T any](
	ctx context.Context, s *Store, t verification.TenantID, q store.PageQuery, doing string,
	convert func(R) T, order string, filters ...filter,
) (store.Page[T], error) {
	p := store.Page[T]{PageQuery: q}
	selected := s.db.NewSelect().Model((*R)(nil)).Where("tenant_id = $1")
	counted, read := []any{string(t)}, []any{string(t)}
	for n, f := range filters {
		selected = selected.Where(f.condition, bun.Safe("$"+strconv.Itoa(n+2)))
		counted, read = append(counted, f.arg), append(read, f.arg)
	}
	total := s.db.NewSelect().TableExpr("(?) AS r", selected).ColumnExpr("count(*)").String()
	statements := []listStatement{{total, counted, func(rows pgx.Rows) (err error) {
		p.Total, err = pgx.CollectOneRow(rows, pgx.RowTo[int])
		return err
	}}}
	if q.Limit > 0 {
		n := len(read)
		page := selected.OrderExpr(order).String() + fmt.Sprintf(" LIMIT $%d OFFSET $%d", n+1, n+2)
		statements = append(statements, listStatement{page, append(read, q.Limit, q.Offset), func(rows pgx.Rows) (err error) {
			p.Data, err = pgx.AppendRows(p.Data, rows, func(row pgx.CollectableRow) (T, error) {
				r, err := pgx.RowToStructByNameLax[R](row)
				return convert(r), err
			})
			return err
		}})
	}
	err := s.listing(ctx, t, q.Offset, func(ctx context.Context) error { return s.readBatch(ctx, t, statements...) })
	if err != nil {
		return store.Page[T]{PageQuery: q}, pgerror.Translate(doing, err)
	}
	return p, nil
}

// readList calls f in a transaction that sees a snapshot of one tenant, with a
// timeout of ListTimeout for each statement. A list that timed out does not mean that the
// database is unavailable, so the error tells the client to read less. A list that waited
// for a lock, or that an administrator canceled, did not take too long.
func (s *Store) readList(ctx context.Context, t verification.TenantID, f func(context.Context, bun.Tx) error) error {
	const setUp = "SELECT set_config('verifyd.tenant', ?, true), set_config('statement_timeout', ?, true), set_config('lock_timeout', ?, true)"
	return s.limited(ctx, func(statement, lock string) error {
		return s.begin(ctx, snapshot(), f, setUp, string(t), statement, lock)
	})
}

// limited calls f with the timeouts of the statements of a list, and returns its error.
func (s *Store) limited(ctx context.Context, f func(statement, lock string) error) error {
	// The statement begins a little later than slow, and waits for a lock a little later still.
	shorter := s.opt.ListTimeout * 9 / 10
	slow, cancel := context.WithTimeout(context.WithoutCancel(ctx), shorter)
	defer cancel()
	millis := func(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }
	err := f(millis(s.opt.ListTimeout), millis(shorter))
	switch {
	case pgerror.Code(err) == pgerror.Canceled && slow.Err() != nil:
		return pgerror.Unavailable("list", "the list takes too long; try a smaller offset, or a filter", err)
	case pgerror.Code(err) == pgerror.NotLocked:
		return pgerror.Unavailable("database", "the database does not answer", err)
	}
	return err
}
