// The prepared statements of the hot path.

package postgres

// The names of the prepared statements.
const (
	stmtTenant        = "verifyd_tenant"
	stmtTenantHot     = "verifyd_tenant_hot"
	stmtTenantList    = "verifyd_tenant_list"
	stmtAppendHistory = "verifyd_append_history"
	stmtAppendStart   = "verifyd_append_start"
	stmtAppendChange  = "verifyd_append_change"
	stmtAppendNothing = "verifyd_append_nothing"
	stmtInsertRun     = "verifyd_insert_run"
	stmtUpdateRun     = "verifyd_update_run"
	stmtInsertWork    = "verifyd_insert_work"
	stmtReplaceWork   = "verifyd_replace_work"
	stmtDeleteWork    = "verifyd_delete_work"
	stmtInsertMeasure = "verifyd_insert_measures"

	stmtHistoryGroup = "verifyd_history_group"
	stmtStartGroup   = "verifyd_start_group"
	stmtChangeGroup  = "verifyd_change_group"

	stmtScreened   = "verifyd_screened"
	stmtKeys       = "verifyd_search_keys"
	stmtAudit      = "verifyd_audit"
	stmtAuditGroup = "verifyd_audit_group"
	stmtLoad       = "verifyd_load"
	stmtAccount    = "verifyd_account"
	stmtTake       = "verifyd_take"
	stmtDueAfter   = "verifyd_due_after"
	stmtMeasures   = "verifyd_measures"
)

// setTenant lets the rest of a transaction see the rows of some tenants. It also resets
// verifyd.appended, which names the run of the last append that was not refused.
const setTenant = "SELECT set_config('verifyd.tenant', $1, true), set_config('verifyd.appended', '', true)"

// setTenantHot also prepares a transaction for prepared statements. They use
// generic plans, because planning them for each append costs more than executing them.
// The plans must use indexes although they are made while
// tables are small, because the plans remain when tables have grown. And no statement
// waits long for a run that a caller's open transaction locks, because a whole
// group would wait.
const setTenantHot = setTenant + `,
	set_config('plan_cache_mode', 'force_generic_plan', true), set_config('lock_timeout', '1s', true),
	set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`

// setTenantList prepares a transaction for the statements of a list, with their timeouts: see
// setTenantHot for the plans.
const setTenantList = setTenant + `, set_config('statement_timeout', $2, true), set_config('lock_timeout', $3, true),
	set_config('plan_cache_mode', 'force_generic_plan', true),
	set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`

// A group of one append is sent as plain statements, and a larger one as statements over
// arrays (groups.go), because that is cheaper.
//
// The first statement of an append inserts its events, and the others follow in the same
// transaction: $1 is the tenant and $2 the run of all of them. If the first inserts
// nothing, the others change nothing: markAppended and ifAppended connect them.
//
// Two concurrent appends at one position conflict on the primary key: the second fails
// with its whole group, whose appends are then sent one by one. %s is a conflict clause
// for a transaction that must not fail: there the second inserts nothing.
const (
	markAppended = "set_config('verifyd.appended', $1::uuid::text || $2::uuid::text, true)"
	ifAppended   = "current_setting('verifyd.appended') = $1::uuid::text || $2::uuid::text"

	// atPosition holds if the history ends at $3, and currentWorkflow if the workflow $6
	// has the revision $7 that the append depends on, if any.
	atPosition = `$3 = (SELECT e.next_seq FROM verifyd.run_events e
    WHERE e.tenant_id = $1 AND e.run_id = $2 ORDER BY e.seq DESC LIMIT 1)`
	currentWorkflow = `($7::int = 0 OR $7 = (SELECT w.revision FROM verifyd.workflows w
    WHERE w.tenant_id = $1 AND w.id = $6::uuid))`

	insertEvents = `INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events)
SELECT $1::uuid, $2::uuid, $3::int, $4::int, $5::text WHERE `

	appendHistory = insertEvents + atPosition + " %s RETURNING " + markAppended
	appendStart   = insertEvents + currentWorkflow + " %s RETURNING " + markAppended
	appendChange  = insertEvents + atPosition + " AND " + currentWorkflow + " %s RETURNING " + markAppended

	// appendNothing is appendChange without events: $4 is $3. The append must have locked
	// its run: every append locks the run before the queue, or two of them could deadlock.
	appendNothing = "SELECT " + markAppended + " WHERE $3::int = $4::int AND $5::text IS NOT NULL AND " + atPosition + " AND " + currentWorkflow
)

// The statements that follow write the summary of the run, see summaryArgs.
const (
	insertRun = `INSERT INTO verifyd.runs (tenant_id, id, abandon_at, waiting, signal, wait, ended, completed_at,
    error, verdict, flagged, status, decision, status_until, outcome,
    review_since, review_due, review_until, causes, review, assignee, redacted_at, end_data, workflow_id, reference_id, started_at, expires_at)
SELECT $1::uuid, $2::uuid, $3::timestamptz, $4::text, $5::text, $6::int, $7::text, $8::timestamptz,
    $9::text, $10::text, $11::bool, $12::text, $13::text, $14::timestamptz, $15::text,
    $16::timestamptz, $17::timestamptz, $18::timestamptz, string_to_array($19::text, ','), $20::text, $21::text,
    $22::timestamptz, $23::text, $24::uuid, $25::text, $26::timestamptz, $27::timestamptz
WHERE ` + ifAppended

	updateRun = `UPDATE verifyd.runs SET abandon_at = $3, waiting = $4, signal = $5, wait = $6, ended = $7, completed_at = $8,
    error = $9, verdict = $10, flagged = $11, status = $12, decision = $13, status_from = NULL, status_until = $14, outcome = $15,
    review_since = $16, review_due = $17, review_until = $18, causes = string_to_array($19::text, ','), review = $20, assignee = $21,
    redacted_at = $22, end_data = $23
WHERE tenant_id = $1 AND id = $2 AND ` + ifAppended
)

// These change the queue. A run that starts has no work yet.
const (
	insertWork = `INSERT INTO verifyd.work (tenant_id, run_id, workflow_id, kind, due_at, leased, seq)
SELECT $1::uuid, $2::uuid, $3::uuid, $4::text, $5::timestamptz, $6::bool, $7::int WHERE ` + ifAppended

	replaceWork = insertWork + `
ON CONFLICT (tenant_id, run_id, kind, seq) DO UPDATE SET
    due_at = excluded.due_at, attempt = 0, lease_id = NULL, leased = excluded.leased, lost_leases = 0, alone = 0, left_at = NULL`

	deleteWork = `DELETE FROM verifyd.work
WHERE tenant_id = $1::uuid AND run_id = $2::uuid AND (kind || '') = $3 AND seq = $4 AND ` + ifAppended
)

// insertMeasures adds the measures of an append to the log.
const insertMeasures = `INSERT INTO verifyd.measure_log (tenant_id, measures) SELECT $1::uuid, $3::text WHERE ` + ifAppended

// appendScreened inserts the completed runs of a group that are screened again, see
// screenedArgs, and queues the work of those that were not screened against the version of
// the last pass. It follows their appends in the transaction, and ignores those that failed.
const appendScreened = `
WITH added AS (
    INSERT INTO verifyd.screened_runs (tenant_id, run_id, list, version)
    SELECT i.tenant_id, i.run_id, i.list, i.version
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[]) AS i (tenant_id, run_id, list, version, completed_at)
    JOIN verifyd.runs r ON r.tenant_id = i.tenant_id AND r.id = i.run_id AND r.ended = 'completed' AND r.completed_at = i.completed_at
    ON CONFLICT DO NOTHING
    RETURNING tenant_id, run_id, list, version
)
INSERT INTO verifyd.work (tenant_id, run_id, workflow_id, kind, due_at)
SELECT r.tenant_id, r.id, r.workflow_id, $6::text || a.list, r.completed_at FROM added a
JOIN verifyd.rescreen_passes p ON p.list = a.list AND p.version <> a.version
JOIN verifyd.runs r ON r.tenant_id = a.tenant_id AND r.id = a.run_id
ON CONFLICT DO NOTHING`

// loadEvents selects the rows of a history with events after the first $3, and
// always the first row, which shows that the run exists. The rows of a deleted run have next_seq -1.
const loadEvents = `
SELECT seq, CASE WHEN next_seq > $3 THEN events ELSE '' END
FROM verifyd.run_events
WHERE tenant_id = $1 AND run_id = $2 AND (next_seq > $3 OR seq = 0 AND next_seq >= 0)
ORDER BY seq`
