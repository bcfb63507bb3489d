// The arguments of append statements: one array for each column.

package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/verification"
)

// pendingAppend is an append that is not committed yet.
type pendingAppend struct {
	ref    verification.RunRef
	tenant pgtype.UUID
	run    pgtype.UUID
	seq    int32
	events string // a JSON array, byte for byte
	commit verification.Commit
}

func newPendingAppend(t verification.TenantID, id verification.RunID, seq int, c verification.Commit) (p pendingAppend, err error) {
	c.Summary.ID = id
	p = pendingAppend{ref: verification.RunRef{Tenant: t, Run: id}, seq: int32(seq), commit: c}
	if p.tenant, p.run, err = keyOf(p.ref); err != nil {
		return p, err
	}
	raw, err := verification.EncodeEvents(c.Events)
	p.events = string(raw)
	return p, err
}

func (p pendingAppend) nextSeq() int32 { return p.seq + int32(len(p.commit.Events)) }

// historyOnly reports whether the append changes nothing but the history.
func (p pendingAppend) historyOnly() bool {
	return p.commit.HistoryOnly && len(p.commit.Events) > 0 && p.seq > 0
}

func decodeEvents(raw string) ([]verification.Event, error) {
	var events []verification.Event
	if err := json.Unmarshal([]byte(raw), &events); err != nil {
		return nil, fmt.Errorf("decode events: %w", err)
	}
	return events, nil
}

// reviewed reports whether the run has an entry in the review queue before the append
// or after it.
func (p pendingAppend) reviewed() bool {
	return len(p.commit.Events) > 0 && (p.commit.Review != nil || p.commit.ReviewBefore)
}

// historyArgs returns the first arguments of every append statement.
func historyArgs(group []pendingAppend) []any {
	n := len(group)
	tenants, runs := make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	seqs, nextSeqs, events := make([]int32, n), make([]int32, n), make([]string, n)
	for i, p := range group {
		tenants[i], runs[i], seqs[i], nextSeqs[i], events[i] = p.tenant, p.run, p.seq, p.nextSeq(), p.events
	}
	return []any{tenants, runs, seqs, nextSeqs, events}
}

// appendArgs returns the arguments of appendStart and appendChange.
func appendArgs(group []pendingAppend) ([]any, error) {
	n := len(group)
	texts := func() []string { return make([]string, n) }
	times := func() []pgtype.Timestamptz { return make([]pgtype.Timestamptz, n) }
	workflows, revisions, references := make([]pgtype.UUID, n), make([]int32, n), texts()
	started, expires, abandon := times(), times(), times()
	waiting, signals, waits := texts(), texts(), make([]int32, n)
	ended, completed, errs, verdicts, flagged := texts(), times(), texts(), texts(), make([]bool, n)
	statuses, decisions, until := texts(), texts(), times()
	advance, announce, leased := times(), times(), make([]bool, n)
	for i, p := range group {
		s := p.commit.Summary
		var err error
		if workflows[i], err = uuidOf(string(s.Workflow)); err != nil {
			return nil, err
		}
		if s.Error != nil {
			raw, err := json.Marshal(s.Error)
			if err != nil {
				return nil, err
			}
			errs[i] = string(raw)
		}
		in := s.IntervalAt(time.Time{}) // before any of its deadlines
		revisions[i] = int32(p.commit.WorkflowRevision)
		references[i], waiting[i], signals[i], waits[i] = s.ReferenceID, string(s.Waiting), s.Signal, int32(s.WaitNumber)
		started[i], expires[i], abandon[i] = orNull(s.StartedAt), orNull(s.ExpiresAt), orNull(s.AbandonAt)
		ended[i], completed[i], verdicts[i], flagged[i] = string(s.Ended), orNull(s.CompletedAt), string(s.Verdict), s.Flagged
		statuses[i], decisions[i], until[i] = string(in.Status), string(in.Decision), orNull(in.Until)
		advance[i], announce[i], leased[i] = orNull(p.commit.AdvanceAt), orNull(p.commit.AnnounceAt), p.commit.Leased
	}
	return append(historyArgs(group),
		workflows, revisions, references, started, expires, abandon,
		waiting, signals, waits, ended, completed, errs, verdicts, flagged,
		statuses, decisions, until, advance, announce, leased), nil
}

// queueAppends queues a group of appends on a batch. Reading the results adds to
// appended the runs whose history still ended at seq.
func queueAppends(q querier, b *pgx.Batch, group []pendingAppend, appended map[verification.RunRef]bool) error {
	parts := map[string][]pendingAppend{}
	for _, p := range group {
		statement := stmtAppendChange
		switch begins := p.seq == 0 && p.nextSeq() > 0; {
		case p.historyOnly():
			statement = stmtAppendHistory
		case begins && p.reviewed():
			statement = stmtStartReview
		case begins:
			statement = stmtAppendStart
		case p.reviewed():
			statement = stmtChangeReview
		}
		parts[statement] = append(parts[statement], p)
	}
	read := func(rows pgx.Rows) error {
		var tenant, run pgtype.UUID
		_, err := pgx.ForEachRow(rows, []any{&tenant, &run}, func() error {
			appended[verification.RunRef{
				Tenant: verification.TenantID(uuid.UUID(tenant.Bytes).String()),
				Run:    verification.RunID(uuid.UUID(run.Bytes).String()),
			}] = true
			return nil
		})
		return err
	}
	for _, statement := range []string{stmtAppendHistory, stmtAppendStart, stmtStartReview, stmtAppendChange, stmtChangeReview} {
		part := parts[statement]
		if len(part) == 0 {
			continue
		}
		args, err := argsOf(statement, part)
		if err != nil {
			return err
		}
		b.Queue(q.stmt(statement), args...).Query(read)
	}
	if args := screenedArgs(group); args != nil {
		b.Queue(q.stmt(stmtScreened), args...)
	}
	return nil
}

// argsOf returns the arguments of an append statement.
func argsOf(statement string, part []pendingAppend) (args []any, err error) {
	if statement == stmtAppendHistory {
		args = historyArgs(part)
	} else if args, err = appendArgs(part); err != nil {
		return nil, err
	}
	measures, err := measureArgs(part)
	args = append(args, measures...)
	if err == nil && (statement == stmtStartReview || statement == stmtChangeReview) {
		var entries []any
		entries, err = reviewArgs(part)
		args = append(args, entries...)
	}
	return args, err
}

// keyOf returns the ids of a run; ErrNotFound when one is no UUID.
func keyOf(ref verification.RunRef) (tenant, run pgtype.UUID, err error) {
	if tenant, err = uuidOf(string(ref.Tenant)); err == nil {
		run, err = uuidOf(string(ref.Run))
	}
	return tenant, run, err
}

// uuidOf returns an id as the database takes it; ErrNotFound when it is no UUID.
func uuidOf(id string) (pgtype.UUID, error) {
	u, err := uuid.Parse(id)
	if err != nil {
		return pgtype.UUID{}, &verification.Error{Kind: verification.ErrNotFound, Subject: "id", Message: "an id must be a UUID"}
	}
	return pgtype.UUID{Bytes: u, Valid: true}, nil
}

// areUUIDs reports whether every id is a UUID. No row has any other id.
func areUUIDs[T ~string](ids ...T) bool {
	for _, id := range ids {
		if _, err := verification.ParseRunID(string(id)); err != nil {
			return false
		}
	}
	return true
}

// orNull returns null for the zero time.
func orNull(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}
}
