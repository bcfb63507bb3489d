// Deep offsets: the day that has the row at an offset is found by counters, so that only
// rows of that day are skipped.

package postgres

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// seekFrom is the number of rows from which counters find the day. Skipping fewer in an
// index costs less.
const seekFrom = 1000

// span is a day or a month that contains a row, as a text, with the number of its rows and
// of those before it.
type span struct {
	First        string
	Before, Rows int
}

// spanAt selects the span that contains row number n. The counters have columns first
// and rows.
func spanAt(tx bun.IDB, counters *bun.SelectQuery, n int) *bun.SelectQuery {
	spans := tx.NewSelect().TableExpr("(?) AS c", counters).Column("first").ColumnExpr("sum(rows)::bigint AS rows").
		ColumnExpr("(sum(sum(rows)) OVER (ORDER BY first DESC) - sum(rows))::bigint AS before").Group("first")
	return tx.NewSelect().TableExpr("(?) AS s", spans).ColumnExpr("first::text").Column("before", "rows").
		Where("before <= ?", n).Where("? < before + rows", n)
}

// seekDay returns what seek does, for filters that have counters.
func seekDay(ctx context.Context, tx bun.IDB, t verification.TenantID, q store.RunQuery, n int) (*rules.Summary, error) {
	if end := q.StartedBefore; !end.IsZero() {
		later, number := q, 0
		later.StartedAfter, later.StartedBefore = end.Add(-time.Microsecond), time.Time{}
		if err := totalQuery(tx, t, later).Scan(ctx, &number); err != nil {
			return nil, err
		}
		n += number
	}
	q.StartedAfter, q.StartedBefore = time.Time{}, time.Time{}
	var month, in span
	if err := monthAt(tx, t, q, n).Scan(ctx, &month); err != nil {
		return nil, err
	}
	if err := dayAt(tx, t, q, month.First, n-month.Before).Scan(ctx, &in); err != nil {
		return nil, err
	}
	begin, err := time.Parse(time.DateOnly, in.First)
	if err != nil {
		return nil, err
	}
	q.StartedAfter, q.StartedBefore = begin.Add(-time.Microsecond), begin.Add(day)
	n -= month.Before + in.Before
	newestFirst := n <= in.Rows/2
	if !newestFirst {
		n = in.Rows - 1 - n
	}
	var r runRow
	err = seekQuery(tx, t, q, n, newestFirst, false).Scan(ctx, &r)
	return &rules.Summary{StartedAt: r.StartedAt.UTC(), ID: r.ID}, err
}

// monthAt selects the month in which row number n started, the newest first.
func monthAt(tx bun.IDB, t verification.TenantID, q store.RunQuery, n int) *bun.SelectQuery {
	folded := filtered(tx.NewSelect().TableExpr("verifyd.run_months").ColumnExpr("month AS first, runs[31] AS rows"), t, q)
	recent := filtered(tx.NewSelect().TableExpr("verifyd.run_counts").ColumnExpr("date_trunc('month', day)::date, runs"), t, q).Where("slot <> 0")
	return spanAt(tx, folded.UnionAll(recent), n)
}

// dayAt selects the day on which row number n of a month started.
func dayAt(tx bun.IDB, t verification.TenantID, q store.RunQuery, month string, n int) *bun.SelectQuery {
	folded := filtered(tx.NewSelect().TableExpr("verifyd.run_months").TableExpr("generate_series(1, 31) AS d").
		ColumnExpr("month + d - 1 AS first, runs[d] - coalesce(runs[d - 1], 0) AS rows"), t, q).Where("month = ?", month)
	recent := filtered(tx.NewSelect().TableExpr("verifyd.run_counts").ColumnExpr("day, runs"), t, q).
		Where("slot <> 0").Where("day >= ?", month).Where("day < ?::date + interval '1 month'", month)
	return spanAt(tx, folded.UnionAll(recent), n)
}
