// The histories of runs, and runs across tenants.

package postgres

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Load returns the events after the first `after` ones, or ErrNotFound.
func (s *Store) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
	return load(ctx, s.querier(), t, id, after)
}

func load(ctx context.Context, q querier, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
	tenant, run, err := keyOf(verification.RunRef{Tenant: t, Run: id})
	if err != nil {
		return nil, verification.NotFound("run")
	}
	var events []rules.Event
	found := false
	read := func(rows pgx.Rows) error {
		var seq int
		var raw string
		_, err := pgx.ForEachRow(rows, []any{&seq, &raw}, func() error {
			found = true
			if raw == "" {
				return nil
			}
			more, err := rules.DecodeEvents([]byte(raw))
			if err != nil {
				return err
			}
			events = append(events, more[max(after-seq, 0):]...)
			return nil
		})
		return err
	}
	err = q.hotBatch(ctx, string(t), func(b *pgx.Batch) error {
		b.Queue(q.stmt(stmtLoad), tenant, run, max(after, 0)).Query(read)
		return nil
	})
	if err == nil && !found {
		err = verification.NotFound("run")
	}
	return events, pgerror.Translate("load run "+string(id), err)
}

// Append adds to a run whose history has seq events, all or nothing, or returns
// ErrConflict. When the connection breaks before the result arrives, it returns
// ErrUnavailable, and the append may have been committed.
func (s *Store) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	if err := cmp.Or(ctx.Err(), c.CheckLevel(s.Level())); err != nil {
		return err
	}
	if c.Rewrite || c.Delete {
		ctx, cancel := s.withTimeout(ctx)
		defer cancel()
		return rewrite(ctx, s, s.pool, querier{}, t, id, seq, c)
	}
	p, err := newPendingAppend(t, id, seq, c)
	if err != nil {
		return pgerror.Translate("append to run "+string(id), err)
	}
	if len(c.Events) > 0 && c.Erasure == nil { // an erasure locks the one row of the mark: a group would wait for it
		return s.writers.append(ctx, p)
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	if len(s.wakeups.ofAppends([]*pendingAppend{p})) == 0 {
		err = s.appendOne(ctx, s.querier(), nil, p)
	} else {
		err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return s.appendOne(ctx, querier{to: tx}, tx, p) })
	}
	if isAppendConflict(err) {
		err = store.HistoryChanged()
	}
	return pgerror.Translate("append to run "+string(id), err)
}

// lockRun serializes an append without events with other appends to its run. It fails in a transaction of a
// caller that no longer sees, because of its isolation level, that the run was deleted.
const lockRun = "SELECT 1 FROM verifyd.runs WHERE tenant_id = $1 AND id = $2 FOR UPDATE"

// appendOne sends one append and inserts its wake-ups in tx, which may be nil when
// there are none.
func (s *Store) appendOne(ctx context.Context, q querier, tx pgx.Tx, p *pendingAppend) error {
	appended := make(map[verification.RunRef]bool, 1)
	err := q.hotBatch(ctx, string(p.ref.Tenant), func(b *pgx.Batch) error {
		switch {
		case p.commit.Delete:
			p.queueDeletion(b, appended)
			return errors.Join(queueAudits(q, b, []*pendingAppend{p}), p.queueErasure(b))
		case len(p.commit.Events) == 0 || q.caller != nil && p.seq > 0:
			b.Queue(lockRun, p.tenant, p.run)
		}
		return queueAppends(q, b, []*pendingAppend{p}, appended)
	})
	if err != nil {
		return err
	}
	if !appended[p.ref] {
		return store.HistoryChanged()
	}
	return s.wakeups.enqueue(ctx, tx, s.wakeups.ofAppends([]*pendingAppend{p}), appended)
}

// tenantsWith returns the saved tenants for which a query has a row.
func (s *Store) tenantsWith(ctx context.Context, query string, args ...any) ([]verification.TenantID, error) {
	return selectAll(ctx, s.querier(), everyTenant, s.db.NewSelect().Model((*tenantRow)(nil)).Column("tenant_id").
		Where("EXISTS ("+query+")", args...).OrderExpr("tenant_id").String(),
		func(r tenantRow) verification.TenantID { return r.TenantID })
}
