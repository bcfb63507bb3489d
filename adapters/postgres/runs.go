// The histories of runs.

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/verification"
)

// Load returns the events after the first `after` ones, or ErrNotFound.
func (s *Store) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]verification.Event, error) {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	events, err := load(ctx, s.link(), t, id, after)
	return events, translate("load run "+string(id), err)
}

// load reads a history: the rows that hold what is asked for, and the first
// one, which shows that there is such a run.
func load(ctx context.Context, l link, t verification.TenantID, id verification.RunID, after int) ([]verification.Event, error) {
	tenant, err := uuidOf(string(t))
	if err != nil {
		return nil, notFound("run")
	}
	run, err := uuidOf(string(id))
	if err != nil {
		return nil, notFound("run")
	}
	var events []verification.Event
	found := false
	read := func(rows pgx.Rows) error {
		var seq int
		var raw string
		_, err := pgx.ForEachRow(rows, []any{&seq, &raw}, func() error {
			found = true
			if raw == "" {
				return nil
			}
			more, err := decodeEvents(raw)
			if err != nil {
				return err
			}
			events = append(events, more[max(after-seq, 0):]...)
			return nil
		})
		return err
	}
	err = l.askHot(ctx, string(t), func(b *pgx.Batch) error {
		b.Queue(l.say(stmtLoad), tenant, run, max(after, 0)).Query(read)
		return nil
	})
	if err == nil && !found {
		err = notFound("run")
	}
	return events, err
}

// Append adds to a run whose history has seq events, all or nothing, or
// returns ErrConflict. An append whose answer is lost with the database is
// ErrUnavailable, and may have been kept.
func (s *Store) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a verification.Commit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := newAddition(t, id, seq, a)
	if err != nil {
		return translate("append to run "+string(id), err)
	}
	if len(a.Events) > 0 {
		return s.writers.append(ctx, d)
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	if len(s.alarms.of([]addition{d})) == 0 {
		err = s.appendIn(ctx, s.link(), nil, d)
	} else {
		err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return s.appendIn(ctx, link{to: tx}, tx, d) })
	}
	return translate("append to run "+string(id), err)
}

// lockRun keeps an append without events apart from others: nothing else does.
const lockRun = "SELECT 1 FROM verifyd.runs WHERE tenant_id = $1 AND id = $2 FOR UPDATE"

// appendIn appends one by itself, together with what other hosts are to be told:
// inside an open transaction, or in one of its own if nobody is.
func (s *Store) appendIn(ctx context.Context, l link, tx pgx.Tx, d addition) error {
	kept := make(map[verification.RunRef]bool, 1)
	err := l.askHot(ctx, string(d.ref.Tenant), func(b *pgx.Batch) error {
		if len(d.a.Events) == 0 {
			b.Queue(lockRun, d.tenant, d.run)
		}
		return send(l, b, []addition{d}, kept)
	})
	if err != nil {
		return err
	}
	if !kept[d.ref] {
		return outrun()
	}
	return s.alarms.ring(ctx, tx, s.alarms.of([]addition{d}), kept)
}

// Overdue returns up to most live runs whose deadline has passed, the longest
// overdue first, and when the next deadline that lies ahead will have passed.
func (s *Store) Overdue(ctx context.Context, now time.Time, most int) (runs []verification.RunRef, next time.Time, err error) {
	const (
		passed = `SELECT tenant_id::text, id::text FROM verifyd.runs
			WHERE ended = '' AND expires_at < $1 ORDER BY expires_at LIMIT $2`
		ahead = `SELECT min(expires_at) FROM verifyd.runs WHERE ended = '' AND expires_at >= $1`
	)
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	var at pgtype.Timestamptz
	err = s.link().ask(ctx, everyTenant, func(b *pgx.Batch) error {
		b.Queue(passed, now, most).Query(func(rows pgx.Rows) (err error) {
			runs, err = pgx.CollectRows(rows, pgx.RowToStructByPos[verification.RunRef])
			return err
		})
		b.Queue(ahead, now).QueryRow(func(row pgx.Row) error { return row.Scan(&at) })
		return nil
	})
	if at.Valid {
		next = at.Time.UTC().Add(time.Microsecond)
	}
	return runs, next, translate("find overdue runs", err)
}
