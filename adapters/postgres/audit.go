// The audit trail.

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// auditRow is a row of verifyd.audit_entries.
type auditRow struct {
	bun.BaseModel `bun:"table:verifyd.audit_entries,alias:a"`

	TenantID  verification.TenantID `bun:",pk"`
	ID        string                `bun:",pk"`
	At        time.Time
	LastAt    pgtype.Timestamptz
	ActorKind verification.ActorKind
	ActorID   string
	ActorName string
	ActorRole verification.Role
	Action    store.AuditAction
	RunID     verification.RunID
	Document  string
	Subject   string
	Detail    string
	Count     int
}

func (r auditRow) entry() store.AuditEntry {
	return store.AuditEntry{
		Tenant: r.TenantID, ID: r.ID, At: r.At.UTC(), LastAt: utc(r.LastAt.Time), Actor: verification.Actor{Kind: r.ActorKind, ID: r.ActorID, Name: r.ActorName, Role: r.ActorRole},
		Action: r.Action, Run: r.RunID, Document: r.Document, Subject: r.Subject, Detail: r.Detail, Count: r.Count,
	}
}

// newAuditRow returns the row of an entry, or an error when the database cannot store one of its texts.
func newAuditRow(e store.AuditEntry) (auditRow, error) {
	r := auditRow{
		TenantID: e.Tenant, ID: e.ID, At: e.At, LastAt: orNull(e.LastAt), ActorKind: e.Actor.Kind, ActorID: e.Actor.ID, ActorName: e.Actor.Name, ActorRole: e.Actor.Role,
		Action: e.Action, RunID: e.Run, Document: e.Document, Subject: e.Subject, Detail: e.Detail, Count: e.Count,
	}
	if !storable(e.ID, string(e.Actor.Kind), e.Actor.ID, e.Actor.Name, string(e.Actor.Role), string(e.Action), string(e.Run), e.Document, e.Subject, e.Detail) {
		return r, notStorable("audit entry")
	}
	return r, nil
}

const (
	auditColumns = "tenant_id, id, at, actor_kind, actor_id, actor_name, actor_role, action, run_id, document, subject, detail, count, last_at"

	// insertAudit inserts entries, see auditArgs, or adds to the counts of those that there are. %s holds for the
	// entry of an append that was not refused.
	insertAudit = `
INSERT INTO verifyd.audit_entries AS a (` + auditColumns + `)
SELECT ` + auditColumns + `
FROM unnest($1::uuid[], $2::int[], $3::uuid[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
    $11::text[], $12::text[], $13::text[], $14::text[], $15::bigint[], $16::timestamptz[]) AS i (of_run, seq, ` + auditColumns + `)
WHERE %s
ON CONFLICT (tenant_id, id) DO UPDATE SET count = a.count + excluded.count, at = least(a.at, excluded.at),
    last_at = greatest(a.last_at, excluded.last_at)` // neither minds a null

	// ofOneAppend holds for entries of no append, too. ofGroup holds if this transaction has inserted the row at the
	// position of the append.
	ofOneAppend = "i.of_run IS NULL OR current_setting('verifyd.appended') = i.tenant_id::text || i.of_run::text"
	ofGroup     = `i.seq = (SELECT e.seq FROM verifyd.run_events e
    WHERE e.tenant_id = i.tenant_id AND e.run_id = i.of_run AND e.seq = i.seq AND e.xmin = pg_current_xact_id()::xid)`
)

// auditArgs returns the arguments of insertAudit: one element for each entry of some appends. It returns nil if there
// are none.
func auditArgs(group ...*pendingAppend) ([]any, error) {
	var runs, tenants []pgtype.UUID
	var seqs []int32
	var times []time.Time
	var last []pgtype.Timestamptz
	var counts []int64
	var texts [10][]string
	for _, p := range group {
		for _, e := range p.commit.Audit {
			if _, err := newAuditRow(e); err != nil {
				return nil, err
			}
			t, err := uuidOf(string(e.Tenant))
			if err != nil {
				return nil, err
			}
			runs, seqs, tenants = append(runs, p.run), append(seqs, p.seq), append(tenants, t)
			times, last, counts = append(times, e.At), append(last, orNull(e.LastAt)), append(counts, int64(e.Count))
			for i, text := range []string{
				e.ID, string(e.Actor.Kind), e.Actor.ID, e.Actor.Name, string(e.Actor.Role), string(e.Action), string(e.Run), e.Document, e.Subject, e.Detail,
			} {
				texts[i] = append(texts[i], text)
			}
		}
	}
	if tenants == nil {
		return nil, nil
	}
	args := []any{runs, seqs, tenants, texts[0], times}
	for _, column := range texts[1:] {
		args = append(args, column)
	}
	return append(args, counts, last), nil
}

// AppendAudit adds entries, or the counts of entries that there are.
func (s *Store) AppendAudit(ctx context.Context, entries []store.AuditEntry) error {
	if len(entries) == 0 {
		return ctx.Err()
	}
	err := s.querier().batch(ctx, everyTenant, func(b *pgx.Batch) error { return queueAudit(b, entries) })
	return pgerror.Translate("add to the audit trail", err)
}

// AuditEntries returns the entries that the query selects, newest first.
func (s *Store) AuditEntries(ctx context.Context, t verification.TenantID, q store.AuditQuery) ([]store.AuditEntry, error) {
	if !areUUIDs(t) || q.Limit < 1 || !storable(q.Actor, string(q.Action), string(q.Run), q.Before) {
		return nil, ctx.Err()
	}
	selected := s.db.NewSelect().Model((*auditRow)(nil)).Where("tenant_id = ?", t).OrderExpr("id DESC").Limit(int64(q.Limit))
	for _, f := range []struct{ condition, value string }{
		{"id < ?", q.Before}, {"actor_id = ?", q.Actor}, {"action = ?", string(q.Action)}, {"run_id = ?", string(q.Run)},
	} {
		if f.value != "" {
			selected = selected.Where(f.condition, f.value)
		}
	}
	if q.Run != "" {
		selected = selected.Where("run_id <> ''")
	}
	if q.Changes {
		selected = selected.Where("action NOT IN (?)", bun.List(store.AuditReads())) // as the index says
	}
	if !q.From.IsZero() {
		selected = selected.Where("(id >= ? AND last_at IS NULL OR last_at >= ?)", store.AuditID(q.From, ""), q.From)
	}
	if !q.Until.IsZero() {
		selected = selected.Where("id < ? AND at < ?", store.AuditID(q.Until, ""), q.Until)
	}
	var all []store.AuditEntry
	err := s.listing(ctx, t, 0, func(ctx context.Context) (err error) {
		all, err = selectAll(ctx, s.querier(), string(t), selected.String(), auditRow.entry)
		return err
	})
	return all, pgerror.Translate("list the audit trail", err)
}
