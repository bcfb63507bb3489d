// Lists of runs in one round trip.

package postgres

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// listShape says which filters a list has: lists of one shape have the same statements. The
// decision stands in them, because the indexes of decisions are partial: with an argument in
// its place, a plan could not use them.
type listShape struct {
	workflow, status bool
	decision         rules.Decision
}

// listTexts are the statements of a shape.
type listTexts struct{ total, page string }

// textsOf builds the statements of every shape.
func textsOf(db *bun.DB) map[listShape]listTexts {
	all := map[listShape]listTexts{}
	for _, w := range []bool{false, true} {
		for _, s := range []bool{false, true} {
			for _, d := range []rules.Decision{
				rules.DecisionNone, rules.DecisionReview, rules.DecisionApprove, rules.DecisionReject,
			} {
				shape := listShape{w, s, d}
				all[shape] = listTexts{shape.total(db).String(), shape.page(db)}
			}
		}
	}
	return all
}

// where adds the filters of the shape, whose arguments are numbered from first.
func (l listShape) where(s *bun.SelectQuery, first int) *bun.SelectQuery {
	for _, f := range []struct {
		set    bool
		column string
	}{{l.workflow, "workflow_id"}, {l.status, "status"}} {
		if f.set {
			s = s.Where(fmt.Sprintf("%s = $%d", f.column, first))
			first++
		}
	}
	if l.decision != rules.DecisionNone {
		s = s.Where("decision = ?", l.decision)
	}
	return s
}

// args are the arguments of where.
func (l listShape) args(q store.RunQuery) (all []any) {
	if l.workflow {
		all = append(all, string(q.Workflow))
	}
	if l.status {
		all = append(all, string(q.Status))
	}
	return all
}

// total selects the number of runs of the tenant $1.
func (l listShape) total(db *bun.DB) *bun.SelectQuery {
	return l.where(db.NewSelect().TableExpr("verifyd.run_counts").ColumnExpr("coalesce(sum(runs), 0)::bigint").Where("tenant_id = $1"), 2)
}

// page selects $3 rows of the tenant $1 from row number $4, without the rows that are stale at
// $2. Like merged, it merges one query for each status.
func (l listShape) page(db *bun.DB) string {
	const order, rest = "started_at DESC, id DESC", " LIMIT $3 OFFSET $4"
	part := func() *bun.SelectQuery {
		return l.where(db.NewSelect().TableExpr("verifyd.runs AS r").ColumnExpr(runColumns).Where("tenant_id = $1").
			Where("status_until IS NULL OR status_until >= $2").Where("status_from IS NULL OR status_from < $2"), 5).OrderExpr(order)
	}
	if l.status {
		return part().String() + rest
	}
	var all []string
	for _, status := range rules.Statuses() {
		all = append(all, "("+part().Where("status = ?", status).String()+" LIMIT $3::bigint + $4::bigint)")
	}
	return "SELECT * FROM (" + strings.Join(all, " UNION ALL ") + ") AS r ORDER BY " + order + rest
}

// stale selects the rows of the tenant $1 that are stale at $2: see staleQuery.
func stale(db *bun.DB) string {
	rows := func() *bun.SelectQuery {
		return db.NewSelect().TableExpr("verifyd.runs AS r").ColumnExpr(runColumns).Where("tenant_id = $1").Limit(maxStale + 1)
	}
	return rows().Where("status_until < $2").UnionAll(
		rows().Where("status_from >= $2").Where("status_until IS NULL OR status_until >= $2")).String()
}

// scanRuns returns the rows of runColumns.
func scanRuns(rows pgx.Rows) (all []runRow, err error) {
	var r runRow
	_, err = pgx.ForEachRow(rows, []any{
		&r.TenantID, &r.ID, &r.WorkflowID, &r.ReferenceID, &r.StartedAt, &r.ExpiresAt, &r.AbandonAt,
		&r.Waiting, &r.Signal, &r.Wait, &r.Ended, &r.CompletedAt, &r.Outcome, &r.EndData, &r.Error, &r.Verdict, &r.Flagged, &r.Status, &r.Decision, &r.RedactedAt,
		&r.RestrictedAt,
	}, func() error {
		all = append(all, r)
		return nil
	})
	return all, err
}

// listAtOnce lists runs in one round trip. done is false for the lists that need another one:
// those with a filter by reference or start time, with a large offset, or from another
// row because stale rows match.
func (s *Store) listAtOnce(
	ctx context.Context, t verification.TenantID, q store.RunQuery,
) (p store.Page[rules.Summary], done bool, err error) {
	plain := store.RunQuery{PageQuery: q.PageQuery, Now: q.Now, Workflow: q.Workflow, Status: q.Status, Decision: q.Decision}
	shape := listShape{q.Workflow != "", q.Status != "", q.Decision}
	texts, known := s.listTexts[shape]
	if !known || !reflect.DeepEqual(q, plain) || q.Limit < 1 || q.Offset < 0 || q.Offset >= seekFrom {
		return p, false, nil
	}
	p.PageQuery = q.PageQuery
	args := shape.args(q)
	var rows, changed []runRow
	err = s.readBatch(ctx, t,
		listStatement{texts.total, append([]any{string(t)}, args...), func(rows pgx.Rows) (err error) {
			p.Total, err = pgx.CollectOneRow(rows, pgx.RowTo[int])
			return err
		}},
		listStatement{s.stale, []any{string(t), q.Now}, func(read pgx.Rows) (err error) {
			changed, err = scanRuns(read)
			return err
		}},
		listStatement{texts.page, append([]any{string(t), q.Now, q.Limit, q.Offset}, args...), func(read pgx.Rows) (err error) {
			rows, err = scanRuns(read)
			return err
		}})
	if err != nil {
		return p, false, err
	}
	stale, err := staleOf(changed, q)
	if errors.Is(err, errTooManyStale) || len(stale.matching) > 0 && q.Offset > 0 {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	found := stale.matching
	for _, r := range rows {
		run, err := r.summary()
		if err != nil {
			return p, false, err
		}
		found = append(found, run)
	}
	slices.SortFunc(found, inOrder)
	p.Data = found[:min(q.Limit, len(found))]
	// Wrong counters, which CheckCounts finds, must not hide a row that was read.
	p.Total = max(0, p.Total-len(stale.indexed)+len(stale.matching))
	if len(p.Data) > 0 {
		p.Total = max(p.Total, q.Offset+len(p.Data))
	}
	return p, true, nil
}
