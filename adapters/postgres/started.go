// Totals of lists that are filtered by start time.

package postgres

import (
	"time"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

const day = 24 * time.Hour

// startedQuery selects the number of runs that started after q.StartedAfter and before
// q.StartedBefore. Counters have the number for whole days. The runs between a time and
// the nearer midnight are counted in an index and added or subtracted, so that the two
// times together cost at most as much as the runs of one day.
func startedQuery(tx bun.IDB, t verification.TenantID, q store.RunQuery) *bun.SelectQuery {
	from, to := q.StartedAfter, q.StartedBefore
	q.StartedAfter, q.StartedBefore = time.Time{}, time.Time{}
	if !from.IsZero() {
		from = from.Truncate(time.Microsecond).Add(time.Microsecond) // the first time that is selected
	}
	if !from.IsZero() && !to.IsZero() && to.Sub(from) <= day {
		return startedBetween(tx, t, q, from, to)
	}
	total, terms := "(?) + (?)", []any(nil)
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	if !from.IsZero() {
		first = from.Round(day)
	}
	if !to.IsZero() {
		last = to.Round(day)
	}
	terms = append(terms, countedDays(tx, t, q, first, last), countedMonths(tx, t, q, first, last))
	edge := func(sign string, from, to time.Time) {
		if from.Before(to) {
			total, terms = total+sign+"(?)", append(terms, startedBetween(tx, t, q, from, to))
		}
	}
	if !from.IsZero() {
		edge(" + ", from, first)
		edge(" - ", first, from)
	}
	if !to.IsZero() {
		edge(" + ", last, to)
		edge(" - ", to, last)
	}
	return tx.NewSelect().ColumnExpr("("+total+")::bigint", terms...)
}

// startedBetween selects the number of runs that started at a time or later and before
// another one, from an index.
func startedBetween(tx bun.IDB, t verification.TenantID, q store.RunQuery, from, to time.Time) *bun.SelectQuery {
	runs := ofEachStatus(q, func(q store.RunQuery) *bun.SelectQuery {
		return filtered(tx.NewSelect().Model((*runRow)(nil)).Column("started_at"), t, q).
			Where("started_at >= ?", from).Where("started_at < ?", to)
	})
	return tx.NewSelect().TableExpr("(?) AS r", runs).ColumnExpr("count(*)")
}

// countedDays selects the number of runs from first to before end, two midnights, as far
// as run_months does not have them yet.
func countedDays(tx bun.IDB, t verification.TenantID, q store.RunQuery, first, end time.Time) *bun.SelectQuery {
	return filtered(tx.NewSelect().TableExpr("verifyd.run_counts").ColumnExpr("coalesce(sum(runs), 0)"), t, q).
		Where("slot <> 0").Where("day >= ?::date", first).Where("day < ?::date", end)
}

// countedMonths selects the number of runs from first to before end that run_months has.
func countedMonths(tx bun.IDB, t verification.TenantID, q store.RunQuery, first, end time.Time) *bun.SelectQuery {
	const days = "coalesce(sum(runs[least(?::date - month, 31)] - coalesce(runs[?::date - month], 0)), 0)"
	return filtered(tx.NewSelect().TableExpr("verifyd.run_months").ColumnExpr(days, end, first), t, q).
		Where("month >= date_trunc('month', ?::date)::date", first).Where("month < ?::date", end)
}
