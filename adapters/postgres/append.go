// Appends as they are sent: columns of values, a place for each append.

package postgres

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/verification"
)

// addition is one append on its way.
type addition struct {
	ref    verification.RunRef
	tenant pgtype.UUID
	run    pgtype.UUID
	seq    int32
	events string // a JSON array, byte for byte
	a      verification.Commit
}

func newAddition(t verification.TenantID, id verification.RunID, seq int, a verification.Commit) (addition, error) {
	d := addition{ref: verification.RunRef{Tenant: t, Run: id}, seq: int32(seq), a: a}
	d.a.Summary.ID = id
	var err error
	if d.tenant, err = uuidOf(string(t)); err != nil {
		return d, err
	}
	if d.run, err = uuidOf(string(id)); err != nil {
		return d, err
	}
	d.events, err = encodeEvents(a.Events)
	return d, err
}

func (d addition) upto() int32 { return d.seq + int32(len(d.a.Events)) }

// quiet tells whether nothing but the history changes.
func (d addition) quiet() bool { return d.a.HistoryOnly && len(d.a.Events) > 0 && d.seq > 0 }

// encodeEvents writes events as a JSON array, each byte for byte.
func encodeEvents(events []verification.Event) (string, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, e := range events {
		raw, err := verification.EncodeEvent(e)
		if err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteString(",\n")
		}
		b.Write(raw)
	}
	b.WriteByte(']')
	return b.String(), nil
}

func decodeEvents(raw string) ([]verification.Event, error) {
	var events []verification.Event
	if err := json.Unmarshal([]byte(raw), &events); err != nil {
		return nil, fmt.Errorf("decode events: %w", err)
	}
	return events, nil
}

// quietArgs are the arguments of appendQuiet.
func quietArgs(group []addition) []any {
	n := len(group)
	tenants, runs := make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	seqs, uptos, events := make([]int32, n), make([]int32, n), make([]string, n)
	for i, d := range group {
		tenants[i], runs[i], seqs[i], uptos[i], events[i] = d.tenant, d.run, d.seq, d.upto(), d.events
	}
	return []any{tenants, runs, seqs, uptos, events}
}

// loudArgs are the arguments of appendLoud.
func loudArgs(group []addition) ([]any, error) {
	n := len(group)
	texts := func() []string { return make([]string, n) }
	moments := func() []pgtype.Timestamptz { return make([]pgtype.Timestamptz, n) }
	workflows, references := make([]pgtype.UUID, n), texts()
	started, expires, abandon := moments(), moments(), moments()
	waiting, signals, waits := texts(), texts(), make([]int32, n)
	ended, completed, faults, verdicts, open := texts(), moments(), texts(), texts(), make([]bool, n)
	statuses, decisions, until := texts(), texts(), moments()
	advance, announce, leased := moments(), moments(), make([]bool, n)
	for i, d := range group {
		s := d.a.Summary
		var err error
		if workflows[i], err = uuidOf(string(s.Workflow)); err != nil {
			return nil, err
		}
		if faults[i], err = encodeFault(s.Error); err != nil {
			return nil, err
		}
		in := s.IntervalAt(time.Time{}) // before any of its deadlines
		references[i], waiting[i], signals[i], waits[i] = s.ReferenceID, string(s.Waiting), s.Signal, int32(s.Wait)
		started[i], expires[i], abandon[i] = moment(s.StartedAt), moment(s.ExpiresAt), moment(s.AbandonAt)
		ended[i], completed[i], verdicts[i], open[i] = string(s.Ended), moment(s.CompletedAt), string(s.Verdict), s.Open
		statuses[i], decisions[i], until[i] = string(in.Status), string(in.Decision), moment(in.Until)
		advance[i], announce[i], leased[i] = moment(d.a.AdvanceAt), moment(d.a.AnnounceAt), d.a.Leased
	}
	return append(quietArgs(group),
		workflows, references, started, expires, abandon,
		waiting, signals, waits, ended, completed, faults, verdicts, open,
		statuses, decisions, until, advance, announce, leased), nil
}

// send queues the appends of a group on a batch; kept is told of each that is
// kept, once the batch is read.
func send(l link, b *pgx.Batch, group []addition, kept map[verification.RunRef]bool) error {
	var quiet, loud []addition
	for _, d := range group {
		if d.quiet() {
			quiet = append(quiet, d)
		} else {
			loud = append(loud, d)
		}
	}
	read := func(rows pgx.Rows) error {
		var tenant, run pgtype.UUID
		_, err := pgx.ForEachRow(rows, []any{&tenant, &run}, func() error {
			kept[verification.RunRef{
				Tenant: verification.TenantID(uuid.UUID(tenant.Bytes).String()),
				Run:    verification.RunID(uuid.UUID(run.Bytes).String()),
			}] = true
			return nil
		})
		return err
	}
	if len(quiet) > 0 {
		b.Queue(l.say(stmtQuiet), quietArgs(quiet)...).Query(read)
	}
	if len(loud) > 0 {
		args, err := loudArgs(loud)
		if err != nil {
			return err
		}
		b.Queue(l.say(stmtLoud), args...).Query(read)
	}
	return nil
}

// uuidOf reads an id that the domain has already checked.
func uuidOf(id string) (pgtype.UUID, error) {
	u, err := uuid.Parse(id)
	if err != nil {
		return pgtype.UUID{}, &verification.Error{Kind: verification.ErrNotFound, Subject: "id", Message: "an id must be a UUID"}
	}
	return pgtype.UUID{Bytes: u, Valid: true}, nil
}

// moment is null for the zero moment.
func moment(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}
}

func encodeFault(e *verification.RunError) (string, error) {
	if e == nil {
		return "", nil
	}
	raw, err := json.Marshal(e)
	return string(raw), err
}
