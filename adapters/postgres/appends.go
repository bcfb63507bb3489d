// Appends: the statements of each, and their arguments.

package postgres

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// pendingAppend is an append that is not committed yet.
type pendingAppend struct {
	ref      verification.RunRef
	tenant   pgtype.UUID
	run      pgtype.UUID
	workflow pgtype.UUID
	seq      int32
	events   string // a JSON array, byte for byte
	commit   store.Commit
	replaced []string // of a rewrite: the events that replace those before seq, each a JSON object
}

func newPendingAppend(t verification.TenantID, id verification.RunID, seq int, c store.Commit) (p *pendingAppend, err error) {
	c.Summary.ID = id
	p = &pendingAppend{ref: verification.RunRef{Tenant: t, Run: id}, seq: int32(seq), commit: c}
	if p.tenant, p.run, err = keyOf(p.ref); err != nil {
		return p, err
	}
	if c.Delete {
		return p, nil
	}
	if p.workflow, err = uuidOf(string(c.Summary.Workflow)); err != nil {
		return p, err
	}
	if _, err := auditArgs(p); err != nil { // it must not fail a group
		return p, err
	}
	raw, err := rules.EncodeEvents(c.Events)
	p.events = string(raw)
	return p, err
}

func (p *pendingAppend) nextSeq() int32 { return p.seq + int32(len(p.commit.Events)) }

// historyOnly reports whether the append changes nothing but the history.
func (p *pendingAppend) historyOnly() bool {
	return p.commit.Work == nil && len(p.commit.Events) > 0 && p.seq > 0
}

// queueAppends queues a group of appends on a batch. Reading the results adds to
// appended the runs whose history still ended at seq.
func queueAppends(q querier, b *pgx.Batch, group []*pendingAppend, appended map[verification.RunRef]bool) error {
	var err error
	if len(group) == 1 {
		err = group[0].queue(q, b, appended)
	} else {
		err = queueGroup(b, group, appended)
	}
	if args := screenedArgs(group); args != nil && err == nil {
		b.Queue(q.stmt(stmtScreened), args...)
	}
	if args := keysArgs(group); args != nil && err == nil {
		b.Queue(q.stmt(stmtKeys), args...)
	}
	err = errors.Join(err, queueAudits(q, b, group))
	if len(group) == 1 {
		err = errors.Join(err, group[0].queueErasure(b))
	}
	return err
}

// queueAudits queues the insertion of the entries of a group that is in a batch before it.
func queueAudits(q querier, b *pgx.Batch, group []*pendingAppend) error {
	args, err := auditArgs(group...)
	statement := stmtAuditGroup
	if len(group) == 1 {
		statement = stmtAudit
	}
	if args != nil {
		b.Queue(q.stmt(statement), args...)
	}
	return err
}

// queue queues the statements of one append: its events, and then what else it changes.
func (p *pendingAppend) queue(q querier, b *pgx.Batch, appended map[verification.RunRef]bool) error {
	add := func(statement string, args ...any) *pgx.QueuedQuery {
		return b.Queue(q.stmt(statement), append([]any{p.tenant, p.run}, args...)...)
	}
	c, revision := p.commit, int32(p.commit.WorkflowRevision)
	mark := func(t pgconn.CommandTag) error {
		if t.RowsAffected() == 1 {
			appended[p.ref] = true
		}
		return nil
	}
	starts := p.seq == 0 && len(c.Events) > 0
	switch {
	case p.historyOnly():
		add(stmtAppendHistory, p.seq, p.nextSeq(), p.events).Exec(mark)
		return p.queueMeasures(add)
	case starts:
		add(stmtAppendStart, p.seq, p.nextSeq(), p.events, p.workflow, revision).Exec(mark)
	case len(c.Events) > 0:
		add(stmtAppendChange, p.seq, p.nextSeq(), p.events, p.workflow, revision).Exec(mark)
	default:
		add(stmtAppendNothing, p.seq, p.nextSeq(), p.events, p.workflow, revision).Exec(mark)
	}
	if c.Rewrite {
		p.queueReplacement(b, appended)
	}
	if p.replacesKeys() {
		b.Queue(removeKeys, p.tenant, p.run)
		b.Queue(insertKeys, p.tenant, p.run, keyIDs(c.Keys))
	}
	summary, err := p.summaryArgs()
	if err != nil {
		return err
	}
	work := stmtReplaceWork
	if s := c.Summary; starts {
		work = stmtInsertWork
		add(stmtInsertRun, append(summary, p.workflow, s.ReferenceID, orNull(s.StartedAt), orNull(s.ExpiresAt))...)
	} else {
		add(stmtUpdateRun, summary...)
	}
	for _, key := range c.Work.Keys() {
		if at := c.Work[key]; !at.IsZero() {
			add(work, p.workflow, key.KindText(), orNull(at), leases(c, key), key.Seq)
		} else if !starts {
			add(stmtDeleteWork, key.KindText(), key.Seq)
		}
	}
	return p.queueMeasures(add)
}

// queueMeasures queues the insertion of the measures of the append into the log.
func (p *pendingAppend) queueMeasures(add func(statement string, args ...any) *pgx.QueuedQuery) error {
	if len(p.commit.Measures) == 0 {
		return nil
	}
	measures, err := measureLogEntries([]*pendingAppend{p})
	if err == nil {
		add(stmtInsertMeasure, measures)
	}
	return err
}

// leases reports whether a commit queues the piece of work with a lease of its caller.
func leases(c store.Commit, key store.WorkKey) bool {
	return c.Hold == store.Leased && key.Kind == store.WorkAdvance
}

// summaryArgs returns the arguments of updateRun after the first two.
func (p *pendingAppend) summaryArgs() ([]any, error) {
	s := p.commit.Summary
	failure, err := errorText(s)
	if err != nil {
		return nil, err
	}
	review, err := newReviewArgs(s)
	if err != nil {
		return nil, err
	}
	in := s.IntervalAt(time.Time{}) // before any of its deadlines
	return []any{
		orNull(s.AbandonAt), string(s.Waiting), s.Signal, int32(s.WaitNumber), string(s.Ended), orNull(s.CompletedAt),
		failure, string(s.Verdict), s.Flagged, string(in.Status), string(in.Decision), orNull(in.Until), s.Outcome,
		review.since, review.due, review.until, review.causes, review.shown, review.assignee, orNull(s.RedactedAt), s.Data,
	}, nil
}

// errorText returns the error of a run as JSON; empty for none.
func errorText(s rules.Summary) (string, error) {
	if s.Error == nil {
		return "", nil
	}
	raw, err := json.Marshal(s.Error)
	return string(raw), err
}

// keyOf returns the ids of a run, or ErrNotFound if one of them is not a UUID.
func keyOf(ref verification.RunRef) (tenant, run pgtype.UUID, err error) {
	if tenant, err = uuidOf(string(ref.Tenant)); err == nil {
		run, err = uuidOf(string(ref.Run))
	}
	return tenant, run, err
}

// uuidLength is the length of an id. uuid.Parse accepts other forms, with braces or without
// hyphens, which are not ids: see verification.ParseRunID.
const uuidLength = 36

// uuidOf returns an id in the form of the database, or ErrNotFound if it is not a UUID.
func uuidOf(id string) (pgtype.UUID, error) {
	u, err := uuid.Parse(id)
	if err != nil || len(id) != uuidLength {
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
