// The runs that are screened again, and the passes over lists.

package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
)

// passRow is a row of verifyd.rescreen_passes.
type passRow struct {
	bun.BaseModel `bun:"table:verifyd.rescreen_passes,alias:p"`

	List       string `bun:",pk"`
	Version    string
	Number     int
	Holder     string
	HeldUntil  time.Time
	StartedAt  pgtype.Timestamptz
	ScreenedAt pgtype.Timestamptz
	EndedAt    pgtype.Timestamptz
	Runs       int
	Flagged    int
	Failed     int
}

func (r passRow) pass() verification.RescreenPass {
	return verification.RescreenPass{
		List: r.List, Version: r.Version, Number: r.Number, Holder: r.Holder, HeldUntil: r.HeldUntil.UTC(),
		StartedAt: utc(r.StartedAt.Time), ScreenedAt: utc(r.ScreenedAt.Time), EndedAt: utc(r.EndedAt.Time),
		Runs: r.Runs, Flagged: r.Flagged, Failed: r.Failed,
	}
}

// screenedArgs returns the arguments of appendScreened; nil if no run of the group is
// screened again.
func screenedArgs(group []*pendingAppend) []any {
	var tenants, runs []pgtype.UUID
	var lists, versions []string
	var completed []pgtype.Timestamptz
	for _, p := range group {
		for _, l := range p.commit.Screened {
			tenants, runs = append(tenants, p.tenant), append(runs, p.run)
			lists, versions = append(lists, l.List), append(versions, l.Version)
			completed = append(completed, orNull(p.commit.Summary.CompletedAt))
		}
	}
	if len(lists) == 0 {
		return nil
	}
	return []any{tenants, runs, lists, versions, completed}
}

// HoldList makes a host the only one that works on a list until the given time, and returns
// the last pass over it, or ErrConflict if another host holds it.
func (s *Store) HoldList(ctx context.Context, list, holder string, now, until time.Time) (verification.RescreenPass, error) {
	if !storable(list, holder) {
		return verification.RescreenPass{}, notStorable("list")
	}
	r, err := selectRow[passRow](ctx, s.querier(), noTenant, s.db.NewInsert().Model(&passRow{List: list, Holder: holder, HeldUntil: until}).
		Column("list", "holder", "held_until").On("CONFLICT (list) DO UPDATE").
		Set("holder = excluded.holder").Set("held_until = excluded.held_until").
		Where("p.holder = excluded.holder OR p.held_until <= ?", now).Returning("*").String())
	if isMissing(err) {
		err = verification.ListHeld()
	}
	if err != nil {
		return verification.RescreenPass{}, translate("hold the list "+list, err)
	}
	return r.pass(), nil
}

// SavePass replaces the last pass over a list, and records that runs were screened in it. It
// returns ErrConflict if another host was the last to hold the list.
func (s *Store) SavePass(ctx context.Context, p verification.RescreenPass, runs []verification.RunRef) error {
	if !storable(p.List, p.Version, p.Holder) {
		return notStorable("pass")
	}
	err := s.transact(ctx, everyTenant, nil, func(ctx context.Context, tx bun.Tx) error {
		saved, err := tx.NewUpdate().Model(&passRow{
			List: p.List, Version: p.Version, Number: p.Number, Holder: p.Holder, HeldUntil: p.HeldUntil,
			StartedAt: orNull(p.StartedAt), ScreenedAt: orNull(p.ScreenedAt), EndedAt: orNull(p.EndedAt),
			Runs: p.Runs, Flagged: p.Flagged, Failed: p.Failed,
		}).WherePK().Where("holder = ?", p.Holder).Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := saved.RowsAffected(); err != nil || n == 0 {
			return cmp.Or(err, verification.ListHeld())
		}
		return saveScreened(ctx, tx, p, runs)
	})
	return translate("save the pass over the list "+p.List, err)
}

// screenedRow is a row of verifyd.screened_runs.
type screenedRow struct {
	bun.BaseModel `bun:"table:verifyd.screened_runs,alias:s"`

	TenantID verification.TenantID `bun:",pk,type:uuid"`
	RunID    verification.RunID    `bun:",pk,type:uuid"`
}

// saveScreened records that runs were screened in a pass. It ignores those that are not
// screened again.
func saveScreened(ctx context.Context, tx bun.Tx, p verification.RescreenPass, runs []verification.RunRef) error {
	var rows []screenedRow
	for _, r := range runs {
		if areUUIDs(string(r.Tenant), string(r.Run)) {
			rows = append(rows, screenedRow{TenantID: r.Tenant, RunID: r.Run})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.NewUpdate().With("i", tx.NewValues(&rows)).Model((*screenedRow)(nil)).TableExpr("i").
		Set("pass = ?", p.Number).Where("s.list = ?", p.List).
		Where("s.tenant_id = i.tenant_id").Where("s.run_id = i.run_id").Exec(ctx)
	return err
}

// outdatedRuns finds the first runs of each tenant by steps along an index, so that its
// cost grows with the number of tenants that have runs in the table, not with the runs.
const outdatedRuns = `
WITH RECURSIVE tenants AS (
    (SELECT s.tenant_id FROM verifyd.screened_runs s ORDER BY s.tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT s.tenant_id FROM verifyd.screened_runs s WHERE s.tenant_id > t.tenant_id ORDER BY s.tenant_id LIMIT 1)
    FROM tenants t WHERE t.tenant_id IS NOT NULL
)
SELECT o.tenant_id::text, o.run_id::text FROM tenants t CROSS JOIN LATERAL (
    SELECT d.tenant_id, d.run_id, row_number() OVER (ORDER BY d.pass, d.run_id) AS turn FROM (
        SELECT s.tenant_id, s.run_id, s.pass FROM verifyd.screened_runs s
        WHERE s.tenant_id = t.tenant_id AND s.list = ?list AND s.pass < ?pass
        ORDER BY s.tenant_id, s.list, s.pass, s.run_id LIMIT ?limit) AS d
) AS o
ORDER BY o.turn, o.tenant_id <= ?after, o.tenant_id LIMIT ?limit`

// OutdatedRuns returns runs that were last screened before a pass. It uses indexes
// whatever the statistics are.
func (s *Store) OutdatedRuns(ctx context.Context, q verification.OutdatedQuery) (runs []verification.RunRef, err error) {
	if !storable(q.List) {
		return nil, nil
	}
	query, err := s.outdatedQuery(q)
	if err != nil {
		return nil, err
	}
	err = s.querier().hotBatch(ctx, everyTenant, func(b *pgx.Batch) error {
		b.Queue(query).Query(func(rows pgx.Rows) (err error) {
			runs, err = pgx.CollectRows(rows, pgx.RowToStructByPos[verification.RunRef])
			return err
		})
		return nil
	})
	return runs, translate("find runs to screen again", err)
}

func (s *Store) outdatedQuery(q verification.OutdatedQuery) (string, error) {
	after := uuid.Nil // below every tenant
	if q.After != "" {
		id, err := uuidOf(string(q.After))
		if err != nil {
			return "", err
		}
		after = id.Bytes
	}
	type arguments struct {
		List        string
		Pass, Limit int
		After       uuid.UUID
	}
	return s.db.NewRaw(outdatedRuns, arguments{q.List, q.Pass, q.Limit, after}).String(), nil
}

// RescreenPasses returns the last pass over each list.
func (s *Store) RescreenPasses(ctx context.Context) ([]verification.RescreenPass, error) {
	all, err := selectAll(ctx, s.querier(), noTenant, s.db.NewSelect().Model((*passRow)(nil)).Order("list").String(), passRow.pass)
	return all, translate("list the passes of re-screening", err)
}
