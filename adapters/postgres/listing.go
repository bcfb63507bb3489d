// Limits on reading lists, so that appends and other tenants do not wait for it.

package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/fair"
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

// readPage counts the rows that filter selects, and reads one page of them.
func readPage[R, T any](
	ctx context.Context, s *Store, t verification.TenantID, q verification.PageQuery, doing string,
	convert func(R) T, filter func(*bun.SelectQuery) *bun.SelectQuery,
) (verification.Page[T], error) {
	p := verification.Page[T]{PageQuery: q}
	var rows []R
	err := s.listing(ctx, t, q.Offset, func(ctx context.Context) error {
		return s.readList(ctx, t, func(ctx context.Context, tx bun.Tx) error {
			rows = nil
			selected := filter(tx.NewSelect().Model(&rows))
			total, err := selected.Count(ctx)
			p.Total = int(total)
			if err != nil || q.Limit < 1 || q.Offset >= p.Total {
				return err
			}
			return selected.Offset(int64(q.Offset)).Limit(int64(q.Limit)).Scan(ctx)
		})
	})
	if err != nil {
		return verification.Page[T]{PageQuery: q}, translate(doing, err)
	}
	for _, r := range rows {
		p.Data = append(p.Data, convert(r))
	}
	return p, nil
}

// readList calls f in a transaction that sees a snapshot of one tenant, with a
// timeout of ListTimeout for each statement. A list that timed out does not mean that the
// database is unavailable, so the error tells the client to read less. A list that waited
// for a lock, or that an administrator canceled, did not take too long.
func (s *Store) readList(ctx context.Context, t verification.TenantID, f func(context.Context, bun.Tx) error) error {
	const setUp = "SELECT set_config('verifyd.tenant', ?, true), set_config('statement_timeout', ?, true), set_config('lock_timeout', ?, true)"
	// The statement begins a little later than slow, and waits for a lock a little later still.
	shorter := s.opt.ListTimeout * 9 / 10
	slow, cancel := context.WithTimeout(context.WithoutCancel(ctx), shorter)
	defer cancel()
	millis := func(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }
	err := s.begin(ctx, snapshot(), f, setUp, string(t), millis(s.opt.ListTimeout), millis(shorter))
	switch {
	case code(err) == codeCanceled && slow.Err() != nil:
		return errUnavailable("list", "the list takes too long; try a smaller offset, or a filter", err)
	case code(err) == codeNotLocked:
		return errUnavailable("database", "the database does not answer", err)
	}
	return err
}
