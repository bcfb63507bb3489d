// Rewrites and deletions: appends that replace the history of a run, or remove the run; see store.Commit.

package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// A rewrite appends its last events to the history, as other appends do. The statements that
// follow replace what was there before. $1 is the tenant and $2 the run.
//
// The rows of the history stay at their positions. If one were deleted, an append that was
// decided on an earlier history, and that waits for a lock, could still be inserted there.
const (
	ofRun = " WHERE tenant_id = $1::uuid AND run_id = $2::uuid"

	pendingNotice = "SELECT 1 FROM verifyd.work" + ofRun + " AND (kind || '') = $3::text LIMIT 1"

	// replaceEvents replaces the events before $3 by those in $4, each a JSON object.
	replaceEvents = `
UPDATE verifyd.run_events SET events = '[' || array_to_string(($4::text[])[seq + 1 : next_seq], E',\n') || ']'` + ofRun + " AND seq < $3::int"

	// replaceReference replaces what no other append changes.
	replaceReference = "UPDATE verifyd.runs SET reference_id = $3::text, restricted_at = $4::timestamptz WHERE tenant_id = $1::uuid AND id = $2::uuid"
	removeKeys       = "DELETE FROM verifyd.search_keys" + ofRun + " AND " + ifAppended
	insertKeys       = `INSERT INTO verifyd.search_keys (tenant_id, run_id, key, started_at)
SELECT r.tenant_id, r.id, k, r.started_at FROM verifyd.runs r, unnest($3::uuid[]) k
WHERE r.tenant_id = $1::uuid AND r.id = $2::uuid AND ` + ifAppended + " ON CONFLICT DO NOTHING"
	removeScreened = "DELETE FROM verifyd.screened_runs" + ofRun
)

// newRewrite returns the append that replaces a history of seq events.
func newRewrite(t verification.TenantID, id verification.RunID, seq int, c store.Commit) (*pendingAppend, error) {
	if seq >= len(c.Events) || c.Work == nil {
		return nil, fmt.Errorf("a rewrite needs work, and more than %d events", seq)
	}
	replaced := make([]string, seq)
	for i := range replaced {
		raw, err := rules.EncodeEvents(c.Events[i : i+1])
		if err != nil {
			return nil, err
		}
		replaced[i] = string(raw[1 : len(raw)-1])
	}
	c.Events = c.Events[seq:]
	p, err := newPendingAppend(t, id, seq, c)
	p.replaced = replaced
	return p, err
}

// queueReplacement queues the statements of a rewrite that follow the insertion of its last events. They
// need a transaction that is rolled back if the rewrite is refused.
func (p *pendingAppend) queueReplacement(b *pgx.Batch, appended map[verification.RunRef]bool) {
	add := func(statement string, args ...any) *pgx.QueuedQuery {
		return b.Queue(statement, append([]any{p.tenant, p.run}, args...)...)
	}
	p.queueNoticeCheck(add, appended)
	add(replaceEvents, p.seq, p.replaced)
	add(replaceReference, p.commit.Summary.ReferenceID, orNull(p.commit.Summary.RestrictedAt))
	add(removeScreened)
}

// queueNoticeCheck locks the run, because an append without events may queue a notice, and refuses a rewrite or
// deletion while there is one.
func (p *pendingAppend) queueNoticeCheck(add func(statement string, args ...any) *pgx.QueuedQuery, appended map[verification.RunRef]bool) {
	add(lockRun)
	add(pendingNotice, string(store.WorkAnnounce)).Exec(func(t pgconn.CommandTag) error {
		if appended[p.ref] && t.RowsAffected() > 0 {
			return store.NoticePending()
		}
		return nil
	})
}

// replacesKeys reports whether an append replaces the search keys of its run on its own: its events are not those
// of a row, by which appendKeys knows what was appended.
func (p *pendingAppend) replacesKeys() bool {
	return p.commit.Rewrite || p.commit.Keys != nil && len(p.commit.Events) == 0
}

// beginner begins a transaction, or a savepoint inside an open one.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// rewrite sends a rewrite or a deletion in a transaction that in begins. One that is refused leaves nothing.
func rewrite(
	ctx context.Context, s *Store, in beginner, q querier, t verification.TenantID, id verification.RunID, seq int, c store.Commit,
) error {
	p, err := newPendingAppend(t, id, seq, c)
	if c.Rewrite && err == nil {
		p, err = newRewrite(t, id, seq, c)
	}
	if err == nil {
		err = pgx.BeginFunc(ctx, in, func(tx pgx.Tx) error {
			q.to = tx
			return s.appendOne(ctx, q, tx, p)
		})
	}
	if isAppendConflict(err) {
		err = store.HistoryChanged()
	}
	return pgerror.Translate("rewrite or delete run "+string(id), err)
}
