// The prepared statements of the hot path.

package postgres

// The names of the prepared statements.
const (
	stmtTenant        = "verifyd_tenant"
	stmtTenantHot     = "verifyd_tenant_hot"
	stmtAppendHistory = "verifyd_append_history"
	stmtAppendStart   = "verifyd_append_start"
	stmtAppendChange  = "verifyd_append_change"
	stmtStartReview   = "verifyd_start_review"
	stmtChangeReview  = "verifyd_change_review"
	stmtScreened      = "verifyd_screened"
	stmtLoad          = "verifyd_load"
	stmtAccount       = "verifyd_account"
	stmtTake          = "verifyd_take"
	stmtDueAfter      = "verifyd_due_after"
	stmtOverdue       = "verifyd_overdue"
	stmtNextDeadline  = "verifyd_next_deadline"
)

// setTenant lets the rest of a transaction see the rows of some tenants.
const setTenant = "SELECT set_config('verifyd.tenant', $1, true)"

// setTenantHot also prepares a transaction for prepared statements. They use
// generic plans, because planning for each number of appends in a group costs
// more than executing. The plans must use indexes although they are made while
// tables are small, because the plans remain when tables have grown. And no statement
// waits long for a run that a caller's open transaction locks, because a whole
// group would wait.
const setTenantHot = `SELECT set_config('verifyd.tenant', $1, true),
	set_config('plan_cache_mode', 'force_generic_plan', true), set_config('lock_timeout', '1s', true),
	set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`

// appendMeasured inserts the measures of appends into the log: one row for each tenant
// if all were appended, else one for each that was. %d numbers its arguments, see
// measureArgs; input has the appends.
const appendMeasured = `measured AS (
    INSERT INTO verifyd.measure_log (tenant_id, measures)
    SELECT m.tenant_id, m.measures FROM unnest($%d::uuid[], $%d::text[]) AS m (tenant_id, measures)
    WHERE (SELECT count(*) FROM appended) = cardinality($1)
    UNION ALL
    SELECT i.tenant_id, i.measures FROM unnest($1::uuid[], $2::uuid[], $%d::text[]) AS i (tenant_id, run_id, measures)
    JOIN appended k USING (tenant_id, run_id)
    WHERE (SELECT count(*) FROM appended) < cardinality($1) AND i.measures <> ''
)`

// appendHistory inserts rows of events into histories that still end at seq, and
// returns the runs of those. Two concurrent appends at one position conflict on
// the primary key: the second fails with its whole batch, whose appends are then
// sent one by one. %s is a conflict clause for a transaction that must not fail:
// there the second inserts nothing.
const appendHistory = `
WITH appended AS (
    INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events)
    SELECT i.tenant_id, i.run_id, i.seq, i.next_seq, i.events
    FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::text[]) WITH ORDINALITY
        AS i (tenant_id, run_id, seq, next_seq, events, ord)
    WHERE i.seq = (SELECT e.next_seq FROM verifyd.run_events e
        WHERE e.tenant_id = i.tenant_id AND e.run_id = i.run_id ORDER BY e.seq DESC LIMIT 1)
    ORDER BY i.ord
    %s
    RETURNING tenant_id, run_id
), %s
SELECT tenant_id, run_id FROM appended`

// appendInput names the arguments of appendStart and appendChange, see appendArgs.
// current has the appends whose workflow has the revision that they depend on.
const appendInput = `
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

// appendQueue queues the work of the runs in summarized.
const appendQueue = `queued AS (
    INSERT INTO verifyd.work AS w (tenant_id, run_id, workflow_id, kind, due_at, leased)
    SELECT i.tenant_id, i.run_id, i.workflow_id, 'advance', i.advance_at, i.leased
    FROM input i JOIN summarized k USING (tenant_id, run_id) WHERE i.advance_at IS NOT NULL
    UNION ALL
    SELECT i.tenant_id, i.run_id, i.workflow_id, 'announce', i.announce_at, false
    FROM input i JOIN summarized k USING (tenant_id, run_id) WHERE i.announce_at IS NOT NULL`

// appendReviewed replaces the entries of the runs in summarized in the review queue, see
// reviewArgs. A claim stays while the review is the same.
const appendReviewed = `, entry AS MATERIALIZED (
    SELECT * FROM unnest($29::uuid[], $30::uuid[], $31::text[], $32::uuid[], $33::text[], $34::timestamptz[],
        $35::timestamptz[], $36::timestamptz[], $37::text[])
    AS i (tenant_id, run_id, cause, workflow_id, reference_id, since, due_at, until, shown)
), resolved AS (
    DELETE FROM verifyd.reviews v USING summarized k
    WHERE v.tenant_id = k.tenant_id AND v.run_id = k.run_id AND NOT EXISTS (SELECT FROM entry i
        WHERE i.tenant_id = v.tenant_id AND i.run_id = v.run_id AND i.cause = v.cause)
), reviewed AS (
    INSERT INTO verifyd.reviews AS v (tenant_id, run_id, cause, workflow_id, reference_id, since, due_at, until, shown,
        claimed_by, claimed_name, claimed_at, claim_until)
    SELECT i.tenant_id, i.run_id, i.cause, i.workflow_id, i.reference_id, i.since, i.due_at, i.until, i.shown,
        coalesce(c.claimed_by, ''), coalesce(c.claimed_name, ''), c.claimed_at, c.claim_until
    FROM entry i JOIN summarized k USING (tenant_id, run_id)
    LEFT JOIN verifyd.reviews c ON c.tenant_id = i.tenant_id AND c.run_id = i.run_id AND c.cause = '' AND c.since = i.since
    ON CONFLICT (tenant_id, run_id, cause) DO UPDATE SET since = excluded.since, due_at = excluded.due_at,
        until = excluded.until, shown = excluded.shown,
        claimed_by = CASE WHEN v.since = excluded.since THEN v.claimed_by ELSE '' END,
        claim_until = CASE WHEN v.since = excluded.since THEN v.claim_until END
)`

// appendStart inserts histories, summaries and work, and returns the runs that did
// not exist. %s is as in appendHistory.
const appendStart = appendInput + `, appended AS (
    INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events)
    SELECT i.tenant_id, i.run_id, i.seq, i.next_seq, i.events FROM current i ORDER BY i.ord
    %s
    RETURNING tenant_id, run_id
), summarized AS (
    INSERT INTO verifyd.runs (tenant_id, id, workflow_id, reference_id, started_at, expires_at, abandon_at,
        waiting, signal, wait, ended, completed_at, error, verdict, flagged, status, decision, status_until)
    SELECT i.tenant_id, i.run_id, i.workflow_id, i.reference_id, i.started_at, i.expires_at, i.abandon_at,
        i.waiting, i.signal, i.wait, i.ended, i.completed_at, i.error, i.verdict, i.flagged, i.status, i.decision, i.status_until
    FROM input i JOIN appended k USING (tenant_id, run_id)
    RETURNING tenant_id, id AS run_id
), ` + appendQueue + `
), %s%s
SELECT tenant_id, run_id FROM appended`

// appendChange inserts into histories that still end at seq, replaces summaries and
// changes the queue. An append without events must have locked its run: every append
// locks the run before the queue, or two of them could deadlock.
const appendChange = appendInput + `, written AS (
    INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events)
    SELECT i.tenant_id, i.run_id, i.seq, i.next_seq, i.events FROM current i
    WHERE i.next_seq > i.seq AND i.seq = (SELECT e.next_seq FROM verifyd.run_events e
        WHERE e.tenant_id = i.tenant_id AND e.run_id = i.run_id ORDER BY e.seq DESC LIMIT 1)
    ORDER BY i.ord
    %s
    RETURNING tenant_id, run_id
), appended AS (
    SELECT tenant_id, run_id FROM written
    UNION ALL
    SELECT i.tenant_id, i.run_id FROM current i
    WHERE i.next_seq = i.seq AND i.seq = (SELECT e.next_seq FROM verifyd.run_events e
        WHERE e.tenant_id = i.tenant_id AND e.run_id = i.run_id ORDER BY e.seq DESC LIMIT 1)
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
), ` + appendQueue + `
    ON CONFLICT (tenant_id, run_id, kind) DO UPDATE SET
        due_at = excluded.due_at, attempt = 0, lease_id = NULL, leased = excluded.leased, lost_leases = 0
), %s%s
SELECT tenant_id, run_id FROM appended`

// appendScreened inserts the completed runs of a group that are screened again, see
// screenedArgs. It follows their appends in the transaction, and ignores those that failed.
const appendScreened = `
INSERT INTO verifyd.screened_runs (tenant_id, run_id, list, pass)
SELECT i.tenant_id, i.run_id, i.list, coalesce((SELECT p.number FROM verifyd.rescreen_passes p
    WHERE p.list = i.list AND p.version = i.version), 0)
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[]) AS i (tenant_id, run_id, list, version, completed_at)
JOIN verifyd.runs r ON r.tenant_id = i.tenant_id AND r.id = i.run_id AND r.ended = 'completed' AND r.completed_at = i.completed_at
ON CONFLICT DO NOTHING`

// loadEvents selects the rows of a history with events after the first $3, and
// always the first row, which shows that the run exists.
const loadEvents = `
SELECT seq, CASE WHEN next_seq > $3 THEN events ELSE '' END
FROM verifyd.run_events
WHERE tenant_id = $1 AND run_id = $2 AND (next_seq > $3 OR seq = 0)
ORDER BY seq`
