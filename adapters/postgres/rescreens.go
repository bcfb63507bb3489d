// The runs that are screened again, and the passes over lists.

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification/store"
)

// passRow is a row of verifyd.rescreen_passes.
type passRow struct {
	bun.BaseModel `bun:"table:verifyd.rescreen_passes,alias:p"`

	List      string `bun:",pk"`
	Version   string
	Holder    string
	HeldUntil time.Time
	StartedAt time.Time
	EndedAt   pgtype.Timestamptz
	Runs      int
	Queued    bool // the work of the pass is in the queue
}

func (r passRow) record() store.Record { return store.PassRecord{Pass: r.pass()} }

func (r passRow) pass() store.RescreenPass {
	return store.RescreenPass{
		List: r.List, Version: r.Version, Holder: r.Holder, HeldUntil: r.HeldUntil.UTC(),
		StartedAt: r.StartedAt.UTC(), EndedAt: utc(r.EndedAt.Time), Runs: r.Runs,
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
	rescreen := store.WorkKey{Kind: store.WorkRescreen}.KindText() // the list follows
	return []any{tenants, runs, lists, versions, completed, rescreen}
}

// A pass begins in two transactions. The first saves its version, after which each append
// queues the work of its run. The second queues the work of the runs that were appended
// before that. Neither is repeated for the same version once the work is queued.
const (
	holdPass = `
INSERT INTO verifyd.rescreen_passes AS p (list, version, holder, held_until, started_at)
VALUES (?list, ?version, ?holder, ?until, ?now)
ON CONFLICT (list) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until, version = excluded.version,
    queued = p.queued AND p.version = excluded.version,
    started_at = CASE WHEN p.version = excluded.version THEN p.started_at ELSE excluded.started_at END,
    runs = CASE WHEN p.version = excluded.version THEN p.runs ELSE 0 END,
    ended_at = CASE WHEN p.version <> excluded.version OR NOT p.queued THEN NULL
        WHEN p.ended_at IS NOT NULL THEN p.ended_at
        WHEN NOT EXISTS (SELECT FROM verifyd.work w WHERE w.kind = ?kind) THEN ?now::timestamptz END
WHERE p.holder = excluded.holder OR p.held_until <= ?now
RETURNING *`

	queuePass = `
INSERT INTO verifyd.work AS w (tenant_id, run_id, workflow_id, kind, due_at)
SELECT s.tenant_id, s.run_id, r.workflow_id, ?kind, ?started FROM verifyd.screened_runs s
JOIN verifyd.runs r ON r.tenant_id = s.tenant_id AND r.id = s.run_id
WHERE s.list = ?list AND s.version <> ?version ORDER BY s.tenant_id, s.run_id
ON CONFLICT (tenant_id, run_id, kind, seq) DO UPDATE SET
    due_at = excluded.due_at, attempt = 0, lease_id = NULL, leased = false, lost_leases = 0, alone = 0, left_at = NULL`

	passQueued = `
UPDATE verifyd.rescreen_passes SET queued = true, runs = ?runs,
    ended_at = CASE WHEN NOT EXISTS (SELECT FROM verifyd.work w WHERE w.kind = ?kind) THEN ?started::timestamptz END
WHERE list = ?list AND version = ?version AND started_at = ?started RETURNING *`
)

// queueTimeout bounds the time in which the work of a pass is queued.
const queueTimeout = 10 * time.Minute

// passArguments are the named arguments of the statements of a pass.
type passArguments struct {
	List, Version, Holder string
	Until, Now, Started   time.Time
	Kind                  string
	Runs                  int64
}

// HoldPass makes a host the only one that begins passes over a list, and begins a pass if
// the version has changed. It returns ErrConflict if another host holds the list.
func (s *Store) HoldPass(ctx context.Context, p store.RescreenPass, now time.Time) (store.RescreenPass, error) {
	if !storable(p.List, p.Version, p.Holder) {
		return store.RescreenPass{}, notStorable("list")
	}
	args := passArguments{
		List: p.List, Version: p.Version, Holder: p.Holder, Until: p.HeldUntil, Now: now, Kind: store.WorkKey{Kind: store.WorkRescreen, List: p.List}.KindText(),
	}
	r, err := selectRow[passRow](ctx, s.querier(), everyTenant, s.db.NewRaw(holdPass, args).String())
	if err == nil && !r.Queued {
		args.Started = r.StartedAt
		r, err = s.queuePass(ctx, args)
	}
	if isMissing(err) {
		err = store.ListHeld()
	}
	if err != nil {
		return store.RescreenPass{}, pgerror.Translate("hold the list "+p.List, err)
	}
	return r.pass(), nil
}

// queuePass queues the work of a pass that has begun.
func (s *Store) queuePass(ctx context.Context, args passArguments) (r passRow, err error) {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	if err := s.awaitAppends(ctx, appending); err != nil {
		return r, err
	}
	err = s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, "SELECT set_config('verifyd.tenant', ?, true)", everyTenant); err != nil {
			return err
		}
		queued, err := tx.NewRaw(queuePass, args).Exec(ctx)
		if err != nil {
			return err
		}
		if args.Runs, err = queued.RowsAffected(); err != nil {
			return err
		}
		return tx.NewRaw(passQueued, args).Scan(ctx, &r)
	})
	return r, err
}

// passSave returns the statement that saves a pass whose work is in the queue.
func (s *Store) passSave(p store.RescreenPass) (string, error) {
	if !storable(p.List, p.Version, p.Holder) {
		return "", notStorable("list")
	}
	row := &passRow{
		List: p.List, Version: p.Version, Holder: p.Holder, HeldUntil: p.HeldUntil, StartedAt: p.StartedAt,
		EndedAt: orNull(p.EndedAt), Runs: p.Runs, Queued: true,
	}
	return s.db.NewInsert().Model(row).On("CONFLICT (list) DO UPDATE").String(), nil
}
