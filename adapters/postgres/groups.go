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
INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events)
SELECT i.tenant_id, i.run_id, i.seq, i.next_seq, i.events
FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::text[]) WITH ORDINALITY
    AS i (tenant_id, run_id, seq, next_seq, events, ord)
WHERE i.seq = (SELECT e.next_seq FROM verifyd.run_events e
    WHERE e.tenant_id = i.tenant_id AND e.run_id = i.run_id ORDER BY e.seq DESC LIMIT 1)
ORDER BY i.ord
RETURNING tenant_id, run_id`

// groupInput names the arguments of startGroup and changeGroup, see summariesArgs.
// current has the appends whose workflow has the revision that they depend on.
const groupInput = `
WITH input AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::text[],
        $6::uuid[], $7::int[], $8::text[], $9::timestamptz[], $10::timestamptz[], $11::timestamptz[],
        $12::text[], $13::text[], $14::int[], $15::text[], $16::timestamptz[], $17::text[], $18::text[], $19::bool[],
        $20::text[], $21::text[], $22::timestamptz[], $23::timestamptz[], $24::timestamptz[], $25::bool[]) WITH ORDINALITY
    AS i (tenant_id, run_id, seq, next_seq, events,
        workflow_id, workflow_revision, reference_id, started_at, expires_at, abandon_at,
        waiting, signal, wait, ended, completed_at, error, verdict, flagged,
        status, decision, status_until, advance_at, announce_at, leased, ord)
), current AS MATERIALIZED (
    SELECT * FROM input i
    WHERE i.workflow_revision = 0 OR i.workflow_revision = (SELECT w.revision FROM verifyd.workflows w
        WHERE w.tenant_id = i.tenant_id AND w.id = i.workflow_id)
)`

// groupQueue queues the work of the runs in summarized.
const groupQueue = `queued AS (
    INSERT INTO verifyd.work AS w (tenant_id, run_id, workflow_id, kind, due_at, leased)
    SELECT i.tenant_id, i.run_id, i.workflow_id, 'advance', i.advance_at, i.leased
    FROM input i JOIN summarized k USING (tenant_id, run_id) WHERE i.advance_at IS NOT NULL
    UNION ALL
    SELECT i.tenant_id, i.run_id, i.workflow_id, 'announce', i.announce_at, false
    FROM input i JOIN summarized k USING (tenant_id, run_id) WHERE i.announce_at IS NOT NULL`

// groupMeasured inserts the measures of appends into the log: one row for each tenant
// if all were appended, else one for each that was, see measureArgs.
const groupMeasured = `measured AS (
    INSERT INTO verifyd.measure_log (tenant_id, measures)
    SELECT m.tenant_id, m.measures FROM unnest($27::uuid[], $28::text[]) AS m (tenant_id, measures)
    WHERE (SELECT count(*) FROM appended) = cardinality($1)
    UNION ALL
    SELECT i.tenant_id, i.measures FROM unnest($1::uuid[], $2::uuid[], $26::text[]) AS i (tenant_id, run_id, measures)
    JOIN appended k USING (tenant_id, run_id)
    WHERE (SELECT count(*) FROM appended) < cardinality($1) AND i.measures <> ''
)`

// groupReviewed replaces the entries of the runs in summarized in the review queue, see
// reviewsArgs. A claim stays while the review is the same. It locks the row with the empty
// cause first, as deleteReview does, and takes the claim from the locked row, which is
// newer than the snapshot of the statement if it had to wait.
const groupReviewed = `, entry AS MATERIALIZED (
    SELECT * FROM unnest($29::uuid[], $30::uuid[], $31::text[], $32::uuid[], $33::text[], $34::timestamptz[],
        $35::timestamptz[], $36::timestamptz[], $37::text[])
    AS i (tenant_id, run_id, cause, workflow_id, reference_id, since, due_at, until, shown)
), locked AS MATERIALIZED (
    SELECT v.tenant_id, v.run_id, v.since, v.claimed_by, v.claimed_name, v.claimed_at, v.claim_until
    FROM verifyd.reviews v JOIN summarized k USING (tenant_id, run_id) WHERE (v.cause || '') = '' ORDER BY v.tenant_id, v.run_id FOR UPDATE OF v
), resolved AS (
    DELETE FROM verifyd.reviews v USING locked k
    WHERE v.tenant_id = k.tenant_id AND v.run_id = k.run_id AND NOT EXISTS (SELECT FROM entry i
        WHERE i.tenant_id = v.tenant_id AND i.run_id = v.run_id AND i.cause = v.cause)
), reviewed AS (
    INSERT INTO verifyd.reviews AS v (tenant_id, run_id, cause, workflow_id, reference_id, since, due_at, until, shown,
        claimed_by, claimed_name, claimed_at, claim_until)
    SELECT i.tenant_id, i.run_id, i.cause, i.workflow_id, i.reference_id, i.since, i.due_at, i.until, i.shown,
        coalesce(c.claimed_by, ''), coalesce(c.claimed_name, ''), c.claimed_at, c.claim_until
    FROM entry i JOIN summarized k USING (tenant_id, run_id)
    LEFT JOIN locked c ON c.tenant_id = i.tenant_id AND c.run_id = i.run_id AND c.since = i.since
    ON CONFLICT (tenant_id, run_id, cause) DO UPDATE SET since = excluded.since, due_at = excluded.due_at,
        until = excluded.until, shown = excluded.shown,
        claimed_by = CASE WHEN v.since = excluded.since THEN v.claimed_by ELSE '' END,
        claim_until = CASE WHEN v.since = excluded.since THEN v.claim_until END
)`

// startGroup inserts histories, summaries and work, and returns the runs. If one of them
// exists, the group fails.
const startGroup = groupInput + `, appended AS (
    INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events)
    SELECT i.tenant_id, i.run_id, i.seq, i.next_seq, i.events FROM current i ORDER BY i.ord
    RETURNING tenant_id, run_id
), summarized AS (
    INSERT INTO verifyd.runs (tenant_id, id, workflow_id, reference_id, started_at, expires_at, abandon_at,
        waiting, signal, wait, ended, completed_at, error, verdict, flagged, status, decision, status_until)
    SELECT i.tenant_id, i.run_id, i.workflow_id, i.reference_id, i.started_at, i.expires_at, i.abandon_at,
        i.waiting, i.signal, i.wait, i.ended, i.completed_at, i.error, i.verdict, i.flagged, i.status, i.decision, i.status_until
    FROM input i JOIN appended k USING (tenant_id, run_id)
    RETURNING tenant_id, id AS run_id
), ` + groupQueue + `
), ` + groupMeasured + `%s
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
        status = i.status, decision = i.decision, status_from = NULL, status_until = i.status_until
    FROM input i JOIN appended k USING (tenant_id, run_id)
    WHERE r.tenant_id = i.tenant_id AND r.id = i.run_id
    RETURNING r.tenant_id, r.id AS run_id
), dropped AS (
    DELETE FROM verifyd.work w USING input i JOIN summarized k USING (tenant_id, run_id)
    WHERE w.tenant_id = i.tenant_id AND w.run_id = i.run_id AND (w.kind || '') = 'advance' AND i.advance_at IS NULL
), ` + groupQueue + `
    ON CONFLICT (tenant_id, run_id, kind) DO UPDATE SET
        due_at = excluded.due_at, attempt = 0, lease_id = NULL, leased = excluded.leased, lost_leases = 0
), ` + groupMeasured + `%s
SELECT tenant_id, run_id FROM appended`

// queueGroup queues several appends with events on a batch, as queueAppends does.
func queueGroup(b *pgx.Batch, group []pendingAppend, appended map[verification.RunRef]bool) error {
	parts := map[string][]pendingAppend{}
	for _, p := range group {
		statement := stmtChangeGroup
		switch begins := p.seq == 0; {
		case p.historyOnly():
			statement = stmtHistoryGroup
		case begins && p.reviewed():
			statement = stmtStartGroupReview
		case begins:
			statement = stmtStartGroup
		case p.reviewed():
			statement = stmtChangeGroupReview
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
	for _, statement := range []string{stmtHistoryGroup, stmtStartGroup, stmtStartGroupReview, stmtChangeGroup, stmtChangeGroupReview} {
		part := parts[statement]
		if len(part) == 0 {
			continue
		}
		args, err := argsOf(statement, part)
		if err != nil {
			return err
		}
		b.Queue(statement, args...).Query(read)
	}
	return nil
}

// argsOf returns the arguments of an append statement.
func argsOf(statement string, part []pendingAppend) (args []any, err error) {
	if statement == stmtHistoryGroup {
		return historyArgs(part), nil
	}
	if args, err = summariesArgs(part); err != nil {
		return nil, err
	}
	measures, err := measureArgs(part)
	args = append(args, measures...)
	if err == nil && (statement == stmtStartGroupReview || statement == stmtChangeGroupReview) {
		var entries []any
		entries, err = reviewsArgs(part)
		args = append(args, entries...)
	}
	return args, err
}

// reviewed reports whether the run has an entry in the review queue before the append
// or after it.
func (p pendingAppend) reviewed() bool {
	return p.commit.Review != nil || p.commit.ReviewBefore
}

// historyArgs returns the first arguments of every statement of a group.
func historyArgs(group []pendingAppend) []any {
	n := len(group)
	tenants, runs := make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	seqs, nextSeqs, events := make([]int32, n), make([]int32, n), make([]string, n)
	for i, p := range group {
		tenants[i], runs[i], seqs[i], nextSeqs[i], events[i] = p.tenant, p.run, p.seq, p.nextSeq(), p.events
	}
	return []any{tenants, runs, seqs, nextSeqs, events}
}

// summariesArgs returns the arguments of startGroup and changeGroup before the measures.
func summariesArgs(group []pendingAppend) ([]any, error) {
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
		advance[i], announce[i], leased[i] = orNull(p.commit.AdvanceAt), orNull(p.commit.AnnounceAt), p.commit.Leased
	}
	return append(historyArgs(group),
		workflows, revisions, references, started, expires, abandon,
		waiting, signals, waits, ended, completed, errs, verdicts, flagged,
		statuses, decisions, until, advance, announce, leased), nil
}

// measureArgs returns the arguments of groupMeasured: the measures of each append, and
// those of each tenant. A group is sorted by tenant.
func measureArgs(part []pendingAppend) ([]any, error) {
	each := make([]string, len(part))
	var tenants []pgtype.UUID
	var sums []string
	for from := 0; from < len(part); {
		to := from
		for to < len(part) && part[to].tenant == part[from].tenant {
			text, err := logged(part[to : to+1])
			if err != nil {
				return nil, err
			}
			each[to] = text
			to++
		}
		sum := each[from]
		if to-from > 1 {
			var err error
			if sum, err = logged(part[from:to]); err != nil {
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

// reviewsArgs returns the arguments of groupReviewed: one element for each row.
func reviewsArgs(part []pendingAppend) ([]any, error) {
	var tenants, runs, workflows []pgtype.UUID
	var causes, references, shown []string
	var since, due, until []pgtype.Timestamptz
	for _, p := range part {
		if p.commit.Review == nil {
			continue
		}
		r, err := newReviewArgs(*p.commit.Review)
		if err != nil {
			return nil, err
		}
		for _, cause := range r.causes {
			tenants, runs, workflows = append(tenants, p.tenant), append(runs, p.run), append(workflows, r.workflow)
			causes, references, shown = append(causes, cause), append(references, r.reference), append(shown, r.shown)
			since, due, until = append(since, r.since), append(due, r.due), append(until, r.until)
		}
	}
	return []any{tenants, runs, causes, workflows, references, since, due, until, shown}, nil
}
