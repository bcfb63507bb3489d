// Groups: the statements of several appends, over arrays.

package postgres

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/verification"
)

// historyGroup inserts rows of events into histories that still end at seq, and
// returns the runs of those.
const historyGroup = `
WITH appended AS (
    INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events)
    SELECT i.tenant_id, i.run_id, i.seq, i.next_seq, i.events
    FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::text[]) WITH ORDINALITY
        AS i (tenant_id, run_id, seq, next_seq, events, ord)
    WHERE i.seq = (SELECT e.next_seq FROM verifyd.run_events e
        WHERE e.tenant_id = i.tenant_id AND e.run_id = i.run_id ORDER BY e.seq DESC LIMIT 1)
    ORDER BY i.ord
    RETURNING tenant_id, run_id
), ` + groupMeasured + `
SELECT tenant_id, run_id FROM appended`

// groupInput names the arguments of startGroup and changeGroup, see summariesArgs.
// current has the appends whose workflow has the revision that they depend on.
const groupInput = `
WITH input AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::text[],
        $9::uuid[], $10::int[], $11::text[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[],
        $15::text[], $16::text[], $17::int[], $18::text[], $19::timestamptz[], $20::text[], $21::text[], $22::bool[],
        $23::text[], $24::text[], $25::timestamptz[], $26::text[],
        $27::timestamptz[], $28::timestamptz[], $29::timestamptz[], $30::text[], $31::text[], $32::text[], $33::timestamptz[], $34::text[]) WITH ORDINALITY
    AS i (tenant_id, run_id, seq, next_seq, events,
        workflow_id, workflow_revision, reference_id, started_at, expires_at, abandon_at,
        waiting, signal, wait, ended, completed_at, error, verdict, flagged,
        status, decision, status_until, outcome,
        review_since, review_due, review_until, causes, review, assignee, redacted_at, end_data, ord)
), current AS MATERIALIZED (
    SELECT * FROM input i
    WHERE i.workflow_revision = 0 OR i.workflow_revision = (SELECT w.revision FROM verifyd.workflows w
        WHERE w.tenant_id = i.tenant_id AND w.id = i.workflow_id)
)`

// groupQueue queues the work of the runs in summarized.
const groupQueue = `works AS MATERIALIZED (
    SELECT w.tenant_id, w.run_id, w.workflow_id, w.kind, w.seq, w.due_at, w.leased
    FROM unnest($35::uuid[], $36::uuid[], $37::uuid[], $38::text[], $39::int[], $40::timestamptz[], $41::bool[])
        AS w (tenant_id, run_id, workflow_id, kind, seq, due_at, leased)
    JOIN summarized k USING (tenant_id, run_id)
), queued AS (
    INSERT INTO verifyd.work AS w (tenant_id, run_id, workflow_id, kind, seq, due_at, leased)
    SELECT i.tenant_id, i.run_id, i.workflow_id, i.kind, i.seq, i.due_at, i.leased FROM works i WHERE i.due_at IS NOT NULL`

// groupMeasured inserts the measures of appends into the log: one row for each tenant
// if all were appended, else one for each that was, see measureArgs.
const groupMeasured = `measured AS (
    INSERT INTO verifyd.measure_log (tenant_id, measures)
    SELECT m.tenant_id, m.measures FROM unnest($7::uuid[], $8::text[]) AS m (tenant_id, measures)
    WHERE (SELECT count(*) FROM appended) = cardinality($1)
    UNION ALL
    SELECT i.tenant_id, i.measures FROM unnest($1::uuid[], $2::uuid[], $6::text[]) AS i (tenant_id, run_id, measures)
    JOIN appended k USING (tenant_id, run_id)
    WHERE (SELECT count(*) FROM appended) < cardinality($1) AND i.measures <> ''
)`

// startGroup inserts histories, summaries and work, and returns the runs. If one of them
// exists, the group fails.
const startGroup = groupInput + `, appended AS (
    INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events)
    SELECT i.tenant_id, i.run_id, i.seq, i.next_seq, i.events FROM current i ORDER BY i.ord
    RETURNING tenant_id, run_id
), summarized AS (
    INSERT INTO verifyd.runs (tenant_id, id, workflow_id, reference_id, started_at, expires_at, abandon_at,
        waiting, signal, wait, ended, completed_at, error, verdict, flagged, status, decision, status_until, outcome,
        review_since, review_due, review_until, causes, review, assignee, redacted_at, end_data)
    SELECT i.tenant_id, i.run_id, i.workflow_id, i.reference_id, i.started_at, i.expires_at, i.abandon_at,
        i.waiting, i.signal, i.wait, i.ended, i.completed_at, i.error, i.verdict, i.flagged, i.status, i.decision, i.status_until,
        i.outcome, i.review_since, i.review_due, i.review_until, string_to_array(i.causes, ','), i.review, i.assignee,
        i.redacted_at, i.end_data
    FROM input i JOIN appended k USING (tenant_id, run_id)
    RETURNING tenant_id, id AS run_id
), ` + groupQueue + `
), ` + groupMeasured + `
SELECT tenant_id, run_id FROM appended`

// changeGroup inserts into histories that still end at seq, replaces summaries and
// changes the queue.
const changeGroup = groupInput + `, appended AS (
    INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events)
    SELECT i.tenant_id, i.run_id, i.seq, i.next_seq, i.events FROM current i
    WHERE i.seq = (SELECT e.next_seq FROM verifyd.run_events e
        WHERE e.tenant_id = i.tenant_id AND e.run_id = i.run_id ORDER BY e.seq DESC LIMIT 1)
    ORDER BY i.ord
    RETURNING tenant_id, run_id
), summarized AS (
    UPDATE verifyd.runs r SET abandon_at = i.abandon_at, waiting = i.waiting, signal = i.signal, wait = i.wait,
        ended = i.ended, completed_at = i.completed_at, error = i.error, verdict = i.verdict, flagged = i.flagged,
        status = i.status, decision = i.decision, status_from = NULL, status_until = i.status_until, outcome = i.outcome,
        review_since = i.review_since, review_due = i.review_due, review_until = i.review_until,
        causes = string_to_array(i.causes, ','), review = i.review, assignee = i.assignee,
        redacted_at = i.redacted_at, end_data = i.end_data
    FROM input i JOIN appended k USING (tenant_id, run_id)
    WHERE r.tenant_id = i.tenant_id AND r.id = i.run_id
    RETURNING r.tenant_id, r.id AS run_id
), ` + groupQueue + `
    ON CONFLICT (tenant_id, run_id, kind, seq) DO UPDATE SET
        due_at = excluded.due_at, attempt = 0, lease_id = NULL, leased = excluded.leased, lost_leases = 0, alone = 0, left_at = NULL
), dropped AS (
    DELETE FROM verifyd.work w USING works i
    WHERE w.tenant_id = i.tenant_id AND w.run_id = i.run_id AND (w.kind || '') = i.kind AND w.seq = i.seq AND i.due_at IS NULL
), ` + groupMeasured + `
SELECT tenant_id, run_id FROM appended`

// queueGroup queues several appends with events on a batch, as queueAppends does.
func queueGroup(b *pgx.Batch, group []*pendingAppend, appended map[verification.RunRef]bool) error {
	var history, starts, changes []*pendingAppend
	for _, p := range group {
		switch {
		case p.historyOnly():
			history = append(history, p)
		case p.seq == 0:
			starts = append(starts, p)
		default:
			changes = append(changes, p)
		}
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
	for _, g := range []struct {
		statement string
		part      []*pendingAppend
	}{
		{stmtHistoryGroup, history},
		{stmtStartGroup, starts},
		{stmtChangeGroup, changes},
	} {
		if len(g.part) == 0 {
			continue
		}
		args, err := argsOf(g.statement, g.part)
		if err != nil {
			return err
		}
		b.Queue(g.statement, args...).Query(read)
	}
	return nil
}

// argsOf returns the arguments of a statement of a group.
func argsOf(statement string, part []*pendingAppend) ([]any, error) {
	args, err := historyArgs(part)
	if err != nil || statement == stmtHistoryGroup {
		return args, err
	}
	summaries, err := summariesArgs(part)
	return append(args, summaries...), err
}

// historyArgs returns the arguments of historyGroup, which are the first of every statement
// of a group.
func historyArgs(group []*pendingAppend) ([]any, error) {
	n := len(group)
	tenants, runs, seqs := make([]pgtype.UUID, n), make([]pgtype.UUID, n), make([]int32, n)
	nextSeqs, events := make([]int32, n), make([]string, n)
	for i, p := range group {
		tenants[i], runs[i], seqs[i], nextSeqs[i], events[i] = p.tenant, p.run, p.seq, p.nextSeq(), p.events
	}
	measures, err := measureArgs(group)
	return append([]any{tenants, runs, seqs, nextSeqs, events}, measures...), err
}

// summariesArgs returns the further arguments of startGroup and changeGroup.
func summariesArgs(group []*pendingAppend) ([]any, error) {
	n := len(group)
	texts := func() []string { return make([]string, n) }
	times := func() []pgtype.Timestamptz { return make([]pgtype.Timestamptz, n) }
	workflows, revisions, references := make([]pgtype.UUID, n), make([]int32, n), texts()
	started, expires, abandon := times(), times(), times()
	waiting, signals, waits := texts(), texts(), make([]int32, n)
	ended, completed, errs, verdicts, flagged := texts(), times(), texts(), texts(), make([]bool, n)
	statuses, decisions, until := texts(), texts(), times()
	outcomes, data := texts(), texts()
	since, due, reviewUntil, causes, reviews, assignees, redacted := times(), times(), times(), texts(), texts(), texts(), times()
	for i, p := range group {
		s := p.commit.Summary
		v, err := newReviewArgs(s)
		if err != nil {
			return nil, err
		}
		since[i], due[i], reviewUntil[i], causes[i], reviews[i], assignees[i] = v.since, v.due, v.until, v.causes, v.shown, v.assignee
		if errs[i], err = errorText(s); err != nil {
			return nil, err
		}
		workflows[i] = p.workflow
		in := s.IntervalAt(time.Time{}) // before any of its deadlines
		revisions[i] = int32(p.commit.WorkflowRevision)
		references[i], waiting[i], signals[i], waits[i] = s.ReferenceID, string(s.Waiting), s.Signal, int32(s.WaitNumber)
		started[i], expires[i], abandon[i] = orNull(s.StartedAt), orNull(s.ExpiresAt), orNull(s.AbandonAt)
		ended[i], completed[i], verdicts[i], flagged[i] = string(s.Ended), orNull(s.CompletedAt), string(s.Verdict), s.Flagged
		statuses[i], decisions[i], until[i] = string(in.Status), string(in.Decision), orNull(in.Until)
		outcomes[i], data[i], redacted[i] = s.Outcome, s.Data, orNull(s.RedactedAt)
	}
	return append([]any{
		workflows, revisions, references, started, expires, abandon,
		waiting, signals, waits, ended, completed, errs, verdicts, flagged,
		statuses, decisions, until, outcomes,
		since, due, reviewUntil, causes, reviews, assignees, redacted, data,
	}, workArgs(group)...), nil
}

// workArgs returns the arguments of groupQueue: one element for each piece of work.
func workArgs(group []*pendingAppend) []any {
	var tenants, runs, workflows []pgtype.UUID
	var kinds []string
	var seqs []int32
	var due []pgtype.Timestamptz
	var leased []bool
	for _, p := range group {
		for _, key := range p.commit.Work.Keys() {
			tenants, runs, workflows = append(tenants, p.tenant), append(runs, p.run), append(workflows, p.workflow)
			kinds, seqs = append(kinds, key.KindText()), append(seqs, int32(key.Seq))
			due, leased = append(due, orNull(p.commit.Work[key])), append(leased, leases(p.commit, key))
		}
	}
	return []any{tenants, runs, workflows, kinds, seqs, due, leased}
}

// measureArgs returns the arguments of groupMeasured: the measures of each append, and
// the measures of each tenant. A group is sorted by tenant.
func measureArgs(part []*pendingAppend) ([]any, error) {
	each := make([]string, len(part))
	var tenants []pgtype.UUID
	var sums []string
	for from := 0; from < len(part); {
		to := from
		for to < len(part) && part[to].tenant == part[from].tenant {
			text, err := measureLogEntries(part[to : to+1])
			if err != nil {
				return nil, err
			}
			each[to] = text
			to++
		}
		sum := each[from]
		if to-from > 1 {
			var err error
			if sum, err = measureLogEntries(part[from:to]); err != nil {
				return nil, err
			}
		}
		if sum != "" {
			tenants, sums = append(tenants, part[from].tenant), append(sums, sum)
		}
		from = to
	}
	return []any{each, tenants, sums}, nil
}
