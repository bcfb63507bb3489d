// The hot statements, prepared on every connection by name.

package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The names of the prepared statements.
const (
	stmtTenant   = "verifyd_tenant"
	stmtHot      = "verifyd_tenant_hot"
	stmtQuiet    = "verifyd_append_quiet"
	stmtLoud     = "verifyd_append"
	stmtLoad     = "verifyd_load"
	stmtWorkflow = "verifyd_workflow"
	stmtAccount  = "verifyd_account"
	stmtTake     = "verifyd_take"
	stmtDueAfter = "verifyd_due_after"
)

// appendQuiet adds rows of events to histories that still end where they are
// said to, and tells which. Two appends that come to one place at one moment meet
// at the primary key: the second fails, and with it all that was sent together,
// which is then sent one by one. %s is for a transaction that must not fail: there
// the second is left out.
const appendQuiet = `
INSERT INTO verifyd.run_events (tenant_id, run_id, seq, upto, events)
SELECT i.tenant_id, i.run_id, i.seq, i.upto, i.events
FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::text[]) WITH ORDINALITY
    AS i (tenant_id, run_id, seq, upto, events, place)
WHERE i.seq = (SELECT e.upto FROM verifyd.run_events e
    WHERE e.tenant_id = i.tenant_id AND e.run_id = i.run_id ORDER BY e.seq DESC LIMIT 1)
ORDER BY i.place
%s
RETURNING tenant_id, run_id`

// appendLoud does the same, replaces the summaries and changes the queue. An
// append without events must hold the lock of its run: the run comes before the
// queue, here as there, or the two would wait for each other.
const appendLoud = `
WITH input AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::text[],
        $6::uuid[], $7::text[], $8::timestamptz[], $9::timestamptz[], $10::timestamptz[],
        $11::text[], $12::text[], $13::int[], $14::text[], $15::timestamptz[], $16::text[], $17::text[], $18::bool[],
        $19::text[], $20::text[], $21::timestamptz[], $22::timestamptz[], $23::timestamptz[], $24::bool[]) WITH ORDINALITY
    AS i (tenant_id, run_id, seq, upto, events,
        workflow_id, reference_id, started_at, expires_at, abandon_at,
        waiting, signal, wait, ended, completed_at, error, verdict, open,
        status, decision, filed_until, advance_at, announce_at, leased, place)
), written AS (
    INSERT INTO verifyd.run_events (tenant_id, run_id, seq, upto, events)
    SELECT i.tenant_id, i.run_id, i.seq, i.upto, i.events
    FROM input i
    WHERE i.upto > i.seq AND (i.seq = 0 OR i.seq = (SELECT e.upto FROM verifyd.run_events e
        WHERE e.tenant_id = i.tenant_id AND e.run_id = i.run_id ORDER BY e.seq DESC LIMIT 1))
    ORDER BY i.place
    %s
    RETURNING tenant_id, run_id
), kept AS (
    SELECT tenant_id, run_id FROM written
    UNION ALL
    SELECT i.tenant_id, i.run_id FROM input i
    WHERE i.upto = i.seq AND i.seq = (SELECT e.upto FROM verifyd.run_events e
        WHERE e.tenant_id = i.tenant_id AND e.run_id = i.run_id ORDER BY e.seq DESC LIMIT 1)
), summed AS (
    INSERT INTO verifyd.runs AS r (tenant_id, id, workflow_id, reference_id, started_at, expires_at, abandon_at,
        waiting, signal, wait, ended, completed_at, error, verdict, open, status, decision, filed_until)
    SELECT i.tenant_id, i.run_id, i.workflow_id, i.reference_id, i.started_at, i.expires_at, i.abandon_at,
        i.waiting, i.signal, i.wait, i.ended, i.completed_at, i.error, i.verdict, i.open, i.status, i.decision, i.filed_until
    FROM input i JOIN kept k USING (tenant_id, run_id)
    ON CONFLICT (tenant_id, id) DO UPDATE SET
        workflow_id = excluded.workflow_id, reference_id = excluded.reference_id, started_at = excluded.started_at,
        expires_at = excluded.expires_at, abandon_at = excluded.abandon_at,
        waiting = excluded.waiting, signal = excluded.signal, wait = excluded.wait,
        ended = excluded.ended, completed_at = excluded.completed_at, error = excluded.error,
        verdict = excluded.verdict, open = excluded.open,
        status = excluded.status, decision = excluded.decision, filed_since = NULL, filed_until = excluded.filed_until
    RETURNING tenant_id, id AS run_id
), dropped AS (
    DELETE FROM verifyd.work w USING input i JOIN summed k USING (tenant_id, run_id)
    WHERE w.tenant_id = i.tenant_id AND w.run_id = i.run_id AND (w.kind || '') = 'advance'
        AND i.advance_at IS NULL AND i.seq > 0
), queued AS (
    INSERT INTO verifyd.work AS w (tenant_id, run_id, workflow_id, kind, due, leased)
    SELECT i.tenant_id, i.run_id, i.workflow_id, 'advance', i.advance_at, i.leased
    FROM input i JOIN summed k USING (tenant_id, run_id) WHERE i.advance_at IS NOT NULL
    UNION ALL
    SELECT i.tenant_id, i.run_id, i.workflow_id, 'announce', i.announce_at, false
    FROM input i JOIN summed k USING (tenant_id, run_id) WHERE i.announce_at IS NOT NULL
    ON CONFLICT (tenant_id, run_id, kind) DO UPDATE SET
        due = excluded.due, attempt = 0, lease_id = NULL, leased = excluded.leased, lost_leases = 0
)
SELECT tenant_id, run_id FROM kept`

// loadEvents reads the rows of a history that hold events after the first $3.
// The first row of the history is always among them: it shows that there is
// such a run.
const loadEvents = `
SELECT seq, CASE WHEN upto > $3 THEN events ELSE '' END
FROM verifyd.run_events
WHERE tenant_id = $1 AND run_id = $2 AND (upto > $3 OR seq = 0)
ORDER BY seq`

// texts are the prepared statements by their names; careful says how an append
// that meets another is left out, or nothing.
func texts(careful string) map[string]string {
	return map[string]string{
		stmtTenant: nameTenant, stmtHot: nameTenantHot, stmtLoad: loadEvents,
		stmtQuiet: fmt.Sprintf(appendQuiet, careful), stmtLoud: fmt.Sprintf(appendLoud, careful),
		stmtWorkflow: selectWorkflow, stmtAccount: selectAccount,
		stmtTake: takeWork, stmtDueAfter: dueAfter,
	}
}

// prepare makes a new connection ready.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	for name, text := range texts("") {
		if _, err := conn.Prepare(ctx, name, text); err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
	}
	return nil
}

// link is where statements are sent to: the pool, or a transaction of it, whose
// connections know them by name, or a transaction of somebody else.
type link struct {
	to interface {
		SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	}
	foreign bool
}

// say is how a statement is called there.
func (l link) say(name string) string {
	if l.foreign {
		return texts("ON CONFLICT DO NOTHING")[name]
	}
	return name
}

// ask sends statements in one round trip, and in one transaction that has named
// its tenants. What is queued reads its own answer.
func (l link) ask(ctx context.Context, tenants string, queue func(*pgx.Batch) error) error {
	return l.send(ctx, stmtTenant, tenants, queue)
}

// askHot does the same under the planner settings of nameTenantHot: for statements
// that must find their rows by an index whatever the statistics say.
func (l link) askHot(ctx context.Context, tenants string, queue func(*pgx.Batch) error) error {
	if l.foreign { // the transaction is not ours to set up
		return l.send(ctx, stmtTenant, tenants, queue)
	}
	return l.send(ctx, stmtHot, tenants, queue)
}

func (l link) send(ctx context.Context, name, tenants string, queue func(*pgx.Batch) error) error {
	var b pgx.Batch
	b.Queue(l.say(name), tenants)
	if err := queue(&b); err != nil {
		return err
	}
	return l.to.SendBatch(ctx, &b).Close()
}
