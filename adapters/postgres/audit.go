// The audit trail.

package postgres

import (
	"context"
	"slices"
	"strings"
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
	ActorKind verification.ActorKind
	ActorID   string
	ActorName string
	Action    store.AuditAction
	RunID     verification.RunID
	Document  string
	Subject   string
	Detail    string
	Count     int
}

func (r auditRow) entry() store.AuditEntry {
	return store.AuditEntry{
		Tenant: r.TenantID, ID: r.ID, At: r.At.UTC(), Actor: verification.Actor{Kind: r.ActorKind, ID: r.ActorID, Name: r.ActorName},
		Action: r.Action, Run: r.RunID, Document: r.Document, Subject: r.Subject, Detail: r.Detail, Count: r.Count,
	}
}

// newAuditRow returns the row of an entry, or an error when the database cannot store one of its texts.
func newAuditRow(e store.AuditEntry) (auditRow, error) {
	r := auditRow{
		TenantID: e.Tenant, ID: e.ID, At: e.At, ActorKind: e.Actor.Kind, ActorID: e.Actor.ID, ActorName: e.Actor.Name,
		Action: e.Action, RunID: e.Run, Document: e.Document, Subject: e.Subject, Detail: e.Detail, Count: e.Count,
	}
	if !storable(e.ID, string(e.Actor.Kind), e.Actor.ID, e.Actor.Name, string(e.Action), string(e.Run), e.Document, e.Subject, e.Detail) {
		return r, notStorable("audit entry")
	}
	return r, nil
}

// insertAudit inserts entries if $1 is null, or the append to the run $2 of the tenant $1 was not refused.
const insertAudit = `
INSERT INTO verifyd.audit_entries AS a (tenant_id, id, at, actor_kind, actor_id, actor_name, action, run_id, document, subject, detail, count)
SELECT * FROM unnest($3::uuid[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
    $11::text[], $12::text[], $13::text[], $14::bigint[])
WHERE $1::uuid IS NULL OR ` + ifAppended + `
ON CONFLICT (tenant_id, id) DO UPDATE SET count = a.count + excluded.count`

// auditArgs returns the arguments of insertAudit.
func auditArgs(tenant, run pgtype.UUID, entries []store.AuditEntry) ([]any, error) {
	var tenants []pgtype.UUID
	var times []time.Time
	var counts []int64
	var texts [9][]string
	for _, e := range entries {
		if _, err := newAuditRow(e); err != nil {
			return nil, err
		}
		t, err := uuidOf(string(e.Tenant))
		if err != nil {
			return nil, err
		}
		tenants, times, counts = append(tenants, t), append(times, e.At), append(counts, int64(e.Count))
		for i, text := range []string{
			e.ID, string(e.Actor.Kind), e.Actor.ID, e.Actor.Name, string(e.Action), string(e.Run), e.Document, e.Subject, e.Detail,
		} {
			texts[i] = append(texts[i], text)
		}
	}
	args := []any{tenant, run, tenants, texts[0], times}
	for _, column := range texts[1:] {
		args = append(args, column)
	}
	return append(args, counts), nil
}

// queueAudit queues the insertion of the entries of an append that is in a batch before it.
func (p *pendingAppend) queueAudit(b *pgx.Batch) error {
	if len(p.commit.Audit) == 0 {
		return nil
	}
	args, err := auditArgs(p.tenant, p.run, p.commit.Audit)
	if err == nil {
		b.Queue(insertAudit, args...)
	}
	return err
}

// AppendAudit adds entries, or the counts of entries that there are.
func (s *Store) AppendAudit(ctx context.Context, entries []store.AuditEntry) error {
	if len(entries) == 0 {
		return ctx.Err()
	}
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b store.AuditEntry) int { // all hosts lock rows in one order
		return strings.Compare(string(a.Tenant)+a.ID, string(b.Tenant)+b.ID)
	})
	args, err := auditArgs(pgtype.UUID{}, pgtype.UUID{}, sorted)
	if err == nil {
		err = s.querier().exec(ctx, everyTenant, insertAudit, args...)
	}
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
	if !q.From.IsZero() {
		selected = selected.Where("id >= ?", store.AuditID(q.From, ""))
	}
	if !q.Until.IsZero() {
		selected = selected.Where("id < ?", store.AuditID(q.Until, ""))
	}
	var all []store.AuditEntry
	err := s.listing(ctx, t, 0, func(ctx context.Context) (err error) {
		all, err = selectAll(ctx, s.querier(), string(t), selected.String(), auditRow.entry)
		return err
	})
	return all, pgerror.Translate("list the audit trail", err)
}
