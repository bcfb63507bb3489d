// Lists of runs: a page and its total at the cost of the page.

package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
)

// straysMost is how many runs that read differently than they are filed a list
// looks at; more are filed anew first.
const straysMost = 2000

// errPiledUp says that there are more.
var errPiledUp = errors.New("too many runs read differently than they are filed")

// row is a run as it is kept.
type row struct {
	bun.BaseModel `bun:"table:verifyd.runs,alias:r"`

	TenantID    verification.TenantID
	ID          verification.RunID
	WorkflowID  verification.WorkflowID
	ReferenceID string
	StartedAt   time.Time
	ExpiresAt   time.Time `bun:",nullzero"`
	AbandonAt   time.Time `bun:",nullzero"`
	Waiting     verification.ActionType
	Signal      string
	Wait        int
	Ended       verification.Status
	CompletedAt time.Time `bun:",nullzero"`
	Error       string
	Verdict     verification.Decision
	Open        bool
	Status      verification.Status
	Decision    verification.Decision
}

// summary is what the domain knows the run by.
func (r row) summary() (verification.Summary, error) {
	s := verification.Summary{
		ID: r.ID, Workflow: r.WorkflowID, ReferenceID: r.ReferenceID,
		StartedAt: r.StartedAt.UTC(), ExpiresAt: utc(r.ExpiresAt), AbandonAt: utc(r.AbandonAt),
		Waiting: r.Waiting, Signal: r.Signal, Wait: r.Wait,
		Ended: r.Ended, CompletedAt: utc(r.CompletedAt), Verdict: r.Verdict, Open: r.Open,
	}
	if r.Error != "" {
		s.Error = &verification.RunError{}
		if err := json.Unmarshal([]byte(r.Error), s.Error); err != nil {
			return s, err
		}
	}
	return s, nil
}

// utc leaves the zero moment as it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// List returns one page of the runs that match the query at its moment, and
// how many match in all. The total is kept, not counted; what reads differently
// by now than it is filed is looked at one by one.
func (s *Store) List(ctx context.Context, t verification.TenantID, q verification.RunQuery) (verification.Page[verification.Summary], error) {
	for {
		var p verification.Page[verification.Summary]
		err := s.read(ctx, t, func(ctx context.Context, tx bun.Tx) (err error) {
			p, err = list(ctx, tx, t, q)
			return err
		})
		if errors.Is(err, errPiledUp) {
			if _, err = s.refile(ctx, t, q.Now); err == nil {
				continue
			}
		}
		return p, translate("list runs", err)
	}
}

func list(ctx context.Context, tx bun.IDB, t verification.TenantID, q verification.RunQuery) (verification.Page[verification.Summary], error) {
	p := verification.Page[verification.Summary]{PageQuery: q.PageQuery}
	if _, err := uuidOf(string(q.Workflow)); err != nil && q.Workflow != "" {
		return p, nil // there is no such workflow
	}
	strays, err := findStrays(ctx, tx, t, q)
	if err != nil {
		return p, err
	}
	var filed int
	if err := totalQuery(tx, t, q).Scan(ctx, &filed); err != nil {
		return p, err
	}
	filed -= strays.filed
	p.Total = filed + len(strays.matching)
	if q.Limit < 1 || q.Offset >= p.Total {
		return p, nil
	}
	// The strays that match come in between. As many rows more as there are of
	// them, on both sides, hold every row of the page.
	n := len(strays.matching)
	from := max(0, min(q.Offset-n, filed-1))
	var rows []row
	if err := pageQuery(tx, t, q, from, q.Offset+q.Limit-from).Scan(ctx, &rows); err != nil {
		return p, err
	}
	merged := make([]verification.Summary, 0, len(rows)+n)
	for _, r := range rows {
		found, err := r.summary()
		if err != nil {
			return p, err
		}
		merged = append(merged, found)
	}
	before := 0 // strays that stand before the first row
	if from > 0 {
		before, _ = slices.BinarySearchFunc(strays.matching, merged[0], inOrder)
	}
	merged = append(merged, strays.matching[before:]...)
	slices.SortFunc(merged, inOrder)
	skip := q.Offset - from - before
	p.Data = merged[skip:min(skip+q.Limit, len(merged))]
	return p, nil
}

// inOrder is the order of lists.
func inOrder(a, b verification.Summary) int {
	switch {
	case verification.Newer(a, b):
		return -1
	case verification.Newer(b, a):
		return 1
	}
	return 0
}

// strays are the runs that read differently at a moment than they are filed.
type strays struct {
	filed    int                    // those that are filed under the filters
	matching []verification.Summary // those that match, in the order of lists
}

func findStrays(ctx context.Context, tx bun.IDB, t verification.TenantID, q verification.RunQuery) (found strays, err error) {
	var rows []row
	if err := straysQuery(tx, t, q.Now).Scan(ctx, &rows); err != nil {
		return found, err
	}
	if len(rows) > straysMost {
		return found, errPiledUp
	}
	for _, r := range rows {
		if q.Workflow != "" && r.WorkflowID != q.Workflow {
			continue
		}
		if (q.Status == "" || r.Status == q.Status) && (q.Decision == verification.DecisionNone || r.Decision == q.Decision) {
			found.filed++
		}
		s, err := r.summary()
		if err != nil {
			return found, err
		}
		if q.Matches(s) {
			found.matching = append(found.matching, s)
		}
	}
	slices.SortFunc(found.matching, inOrder)
	return found, nil
}

// straysQuery finds the runs that are not filed as they read at a moment.
func straysQuery(tx bun.IDB, t verification.TenantID, now time.Time) *bun.SelectQuery {
	early := tx.NewSelect().Model((*row)(nil)).
		Where("tenant_id = ?", t).Where("filed_until < ?", now).Limit(straysMost + 1)
	late := tx.NewSelect().Model((*row)(nil)).
		Where("tenant_id = ?", t).Where("filed_since >= ?", now).Where("filed_until IS NULL OR filed_until >= ?", now).Limit(straysMost + 1)
	return early.UnionAll(late)
}

// totalQuery adds up the counts of the runs that are filed under the filters.
func totalQuery(tx bun.IDB, t verification.TenantID, q verification.RunQuery) *bun.SelectQuery {
	return filtered(tx.NewSelect().TableExpr("verifyd.run_counts").ColumnExpr("coalesce(sum(runs), 0)::bigint"), t, q)
}

// pageQuery reads the runs that are filed under the filters, strays left out.
// Without a status it merges the runs of each: every index has the status before
// the moment.
func pageQuery(tx bun.IDB, t verification.TenantID, q verification.RunQuery, offset, limit int) *bun.SelectQuery {
	one := func(q verification.RunQuery) *bun.SelectQuery {
		return filtered(tx.NewSelect().Model((*row)(nil)), t, q).
			Where("filed_until IS NULL OR filed_until >= ?", q.Now).
			Where("filed_since IS NULL OR filed_since < ?", q.Now).
			OrderExpr("started_at DESC, id DESC")
	}
	if q.Status != "" {
		return one(q).Offset(int64(offset)).Limit(int64(limit))
	}
	var all *bun.SelectQuery
	for _, q.Status = range verification.Statuses() {
		part := one(q).Limit(int64(offset + limit))
		if all == nil {
			all = part
			continue
		}
		all = all.UnionAll(part)
	}
	return tx.NewSelect().TableExpr("(?) AS r", all).OrderExpr("started_at DESC, id DESC").
		Offset(int64(offset)).Limit(int64(limit))
}

func filtered(s *bun.SelectQuery, t verification.TenantID, q verification.RunQuery) *bun.SelectQuery {
	s = s.Where("tenant_id = ?", t)
	if q.Workflow != "" {
		s = s.Where("workflow_id = ?", q.Workflow)
	}
	if q.Status != "" {
		s = s.Where("status = ?", q.Status)
	}
	if q.Decision != verification.DecisionNone {
		s = s.Where("decision = ?", q.Decision)
	}
	return s
}
