// Deep offsets: the day that has the row at an offset is found by counters, so that only
// rows of that day are skipped.

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
)

// seekFrom is the number of rows from which counters find the day. Skipping fewer in an
// index costs less.
const seekFrom = 1000

// span is a day or a month that contains a row, as a text, with the number of its rows and
// of those before it.
type span struct {
	First, Due   string
	Before, Rows int
}

// spanAt selects the span that contains row number n. The counters have columns first, due
// and rows; order is that of the spans.
func spanAt(tx bun.IDB, counters *bun.SelectQuery, order string, n int) *bun.SelectQuery {
	spans := tx.NewSelect().TableExpr("(?) AS c", counters).Column("first", "due").ColumnExpr("sum(rows)::bigint AS rows").
		ColumnExpr("(sum(sum(rows)) OVER (ORDER BY "+order+") - sum(rows))::bigint AS before").Group("first", "due")
	return tx.NewSelect().TableExpr("(?) AS s", spans).ColumnExpr("first::text").ColumnExpr("due::text").Column("before", "rows").
		Where("before <= ?", n).Where("? < before + rows", n)
}

// seekDay returns what seek does, for filters that have counters.
func seekDay(ctx context.Context, tx bun.IDB, t verification.TenantID, q verification.RunQuery, n int) (*verification.Summary, error) {
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
	return &verification.Summary{StartedAt: r.StartedAt.UTC(), ID: r.ID}, err
}

// monthAt selects the month in which row number n started, the newest first.
func monthAt(tx bun.IDB, t verification.TenantID, q verification.RunQuery, n int) *bun.SelectQuery {
	folded := filtered(tx.NewSelect().TableExpr("verifyd.run_months").ColumnExpr("month AS first, '' AS due, runs[31] AS rows"), t, q)
	recent := filtered(tx.NewSelect().TableExpr("verifyd.run_counts").ColumnExpr("date_trunc('month', day)::date, '', runs"), t, q).Where("slot <> 0")
	return spanAt(tx, folded.UnionAll(recent), "first DESC", n)
}

// dayAt selects the day on which row number n of a month started.
func dayAt(tx bun.IDB, t verification.TenantID, q verification.RunQuery, month string, n int) *bun.SelectQuery {
	folded := filtered(tx.NewSelect().TableExpr("verifyd.run_months").TableExpr("generate_series(1, 31) AS d").
		ColumnExpr("month + d - 1 AS first, '' AS due, runs[d] - coalesce(runs[d - 1], 0) AS rows"), t, q).Where("month = ?", month)
	recent := filtered(tx.NewSelect().TableExpr("verifyd.run_counts").ColumnExpr("day, '', runs"), t, q).
		Where("slot <> 0").Where("day >= ?", month).Where("day < ?::date + interval '1 month'", month)
	return spanAt(tx, folded.UnionAll(recent), "first DESC", n)
}

// seekReview returns a query for the same page as q, which begins after row number
// q.Offset-1 of those that have counters. Its offset is the number of rows up to there that
// do not match the query.
func seekReview(ctx context.Context, tx bun.IDB, t verification.TenantID, q verification.QueueQuery) (verification.QueueQuery, error) {
	var in span
	if err := reviewDayAt(tx, t, q).Scan(ctx, &in); err != nil {
		return q, err
	}
	var at struct {
		DueAt     pgtype.Timestamptz
		Since     time.Time
		RunID     verification.RunID
		Unmatched int64
	}
	if err := reviewAt(tx, t, q, in).Scan(ctx, &at); err != nil {
		return q, err
	}
	q.After = &verification.QueuePosition{Since: at.Since.UTC(), DueAt: utc(at.DueAt.Time), Run: at.RunID}
	q.Offset = int(at.Unmatched)
	return q, nil
}

// seeksReview reports whether counters can find the page of a query.
func seeksReview(q verification.QueueQuery) bool {
	return q.Offset >= seekFrom && q.After == nil && countable(q) && (q.Order != verification.DueFirst || q.SinceBefore.IsZero())
}

// reviewDayAt selects the day of row number q.Offset-1. In the order of due times, those
// without one come last, by the time since when they need the verdict.
func reviewDayAt(tx bun.IDB, t verification.TenantID, q verification.QueueQuery) *bun.SelectQuery {
	n := q.Offset - 1
	q.SinceBefore = time.Time{} // only later rows
	columns := "day AS first, '-infinity'::date AS due"
	if q.Order == verification.DueFirst {
		columns = "CASE WHEN due_day = 'infinity' THEN day ELSE '-infinity' END AS first, due_day AS due"
	}
	return spanAt(tx, countersOf(tx, t, q).ColumnExpr(columns).ColumnExpr("reviews AS rows"), "due, first", n)
}

// reviewAt selects the position of row number q.Offset-1, which is in a span, and how many
// of the rows up to there do not match.
func reviewAt(tx bun.IDB, t verification.TenantID, q verification.QueueQuery, in span) *bun.SelectQuery {
	order := queueOrder(q)
	at := reviewsOf(tx, t, q).ColumnExpr(order).OrderExpr(order).Offset(int64(q.Offset - 1 - in.Before)).Limit(1)
	switch {
	case q.Order != verification.DueFirst:
		at = at.Where("since >= ?::timestamptz", in.First)
	case in.Due == "infinity":
		at = withoutDueTime(at).Where("since >= ?::timestamptz", in.First)
	default:
		at = withDueTime(at).Where("due_at >= ?::timestamptz", in.Due)
	}
	unmatched, terms := "0", []any(nil)
	for _, rows := range unmatchedOf(tx, t, q) { // NOT keeps the planner from reading all rows up to there in an index
		unmatched, terms = unmatched+" + (?)", append(terms, counted(rows.Where("NOT ("+order+") > (SELECT "+order+" FROM at)")))
	}
	return tx.NewSelect().With("at", at).TableExpr("at").ColumnExpr("at.*").ColumnExpr("("+unmatched+")::bigint AS unmatched", terms...)
}
