// Writing generated runs.

package bench

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/verification/rules"
)

// rows are written in one statement.
type rows struct {
	runs      []row
	histories []historyRow
	err       error
}

// row is a run and its status interval: see the table "runs".
type row struct {
	tenant, id [16]byte
	summary    rules.Summary
	interval   rules.StatusInterval
}

// historyRow is the whole history of a run as one append.
type historyRow struct {
	tenant, id [16]byte
	upto       int
	events     string
}

// newRow returns a run as maintenance leaves it at a time.
func newRow(tenant, id uuid.UUID, run rules.Run, at time.Time) row {
	s := run.Summary()
	return row{tenant: tenant, id: id, summary: s, interval: s.IntervalAt(at)}
}

// newID returns a UUID of version 7.
func newID(at time.Time, random *rand.Rand) (u uuid.UUID) {
	binary.BigEndian.PutUint64(u[:8], uint64(at.UnixMilli())<<16|0x7000|random.Uint64N(1<<12))
	binary.BigEndian.PutUint64(u[8:], 1<<63|random.Uint64N(1<<62))
	return u
}

// makeIncoming creates tables for COPY, which does not work on tables with row-level
// security.
func makeIncoming(ctx context.Context, tx pgx.Tx) error {
	const tables = `
CREATE TEMPORARY TABLE incoming_runs (LIKE verifyd.runs) ON COMMIT DROP;
CREATE TEMPORARY TABLE incoming_histories (LIKE verifyd.run_events) ON COMMIT DROP;
CREATE TEMPORARY TABLE incoming_claims (LIKE verifyd.claims) ON COMMIT DROP;
CREATE TEMPORARY TABLE incoming_measures (LIKE verifyd.measures) ON COMMIT DROP;
ALTER TABLE incoming_measures ALTER key_hash DROP NOT NULL`
	_, err := tx.Exec(ctx, tables)
	return err
}

// write inserts the rows; the triggers of the table count them.
func (b rows) write(ctx context.Context, tx pgx.Tx) error {
	columns := []string{
		"tenant_id", "id", "workflow_id", "reference_id", "started_at", "expires_at", "abandon_at",
		"waiting", "signal", "wait", "ended", "completed_at", "outcome", "end_data", "error", "verdict", "flagged",
		"status", "decision", "status_from", "status_until",
		"review_since", "review_due", "review_until", "causes", "review", "assignee",
	}
	const take = `
INSERT INTO verifyd.runs (tenant_id, id, workflow_id, reference_id, started_at, expires_at, abandon_at,
    waiting, signal, wait, ended, completed_at, outcome, end_data, error, verdict, flagged, status, decision, status_from, status_until,
    review_since, review_due, review_until, causes, review, assignee)
SELECT tenant_id, id, workflow_id, reference_id, started_at, expires_at, abandon_at,
    waiting, signal, wait, ended, completed_at, outcome, end_data, error, verdict, flagged, status, decision, status_from, status_until,
    review_since, review_due, review_until, causes, review, assignee
FROM incoming_runs`
	const takeHistories = `
INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events)
SELECT tenant_id, run_id, seq, next_seq, events FROM incoming_histories`
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"incoming_runs"}, columns,
		pgx.CopyFromSlice(len(b.runs), func(i int) ([]any, error) { return b.runs[i].values() }))
	if err != nil {
		return err
	}
	_, err = tx.CopyFrom(ctx, pgx.Identifier{"incoming_histories"}, []string{"tenant_id", "run_id", "seq", "next_seq", "events"},
		pgx.CopyFromSlice(len(b.histories), func(i int) ([]any, error) {
			h := b.histories[i]
			return []any{h.tenant, h.id, int32(0), int32(h.upto), h.events}, nil
		}))
	if err != nil {
		return err
	}
	if err := b.writeClaims(ctx, tx); err != nil {
		return err
	}
	for _, statement := range []string{take, takeHistories, "TRUNCATE incoming_runs, incoming_histories"} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (r row) values() ([]any, error) {
	s := r.summary
	problem := ""
	if s.Error != nil {
		raw, err := json.Marshal(s.Error)
		if err != nil {
			return nil, err
		}
		problem = string(raw)
	}
	workflow, err := uuid.Parse(string(s.Workflow))
	if err != nil {
		return nil, err
	}
	review, err := reviewValues(s)
	return append([]any{
		r.tenant, r.id, [16]byte(workflow), s.ReferenceID, s.StartedAt, orNull(s.ExpiresAt), orNull(s.AbandonAt),
		string(s.Waiting), s.Signal, s.WaitNumber, string(s.Ended), orNull(s.CompletedAt), s.Outcome, s.Data, problem, string(s.Verdict), s.Flagged,
		string(r.interval.Status), string(r.interval.Decision), orNull(r.interval.From), orNull(r.interval.Until),
	}, review...), err
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// dropIndexes drops the indexes of the runs except the primary key and returns the
// statements that create them.
func dropIndexes(ctx context.Context, tx pgx.Tx) (remake func(context.Context) error, err error) {
	const indexes = `
SELECT pg_get_indexdef(indexrelid), format('DROP INDEX %s', indexrelid::regclass)
FROM pg_index WHERE indrelid = 'verifyd.runs'::regclass AND NOT indisprimary`
	found, err := tx.Query(ctx, indexes)
	if err != nil {
		return nil, err
	}
	type index struct{ Make, Drop string }
	all, err := pgx.CollectRows(found, pgx.RowToStructByPos[index])
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if _, err := tx.Exec(ctx, i.Drop); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		for _, i := range all {
			if _, err := tx.Exec(ctx, i.Make); err != nil {
				return fmt.Errorf("%s: %w", i.Make, err)
			}
		}
		return nil
	}, nil
}
