// Totals of searches by a prefix of the reference id.

package postgres

import "github.com/uptrace/bun"

// maxPrefixed is how many rows of a search are counted one by one, if that is enough.
const maxPrefixed = 10_000

// prefixTotal selects how many rows have a reference id with a prefix; all selects the
// number of rows. It counts the rows with the prefix if they are few, else those without it
// if these are few, as when all references of a tenant begin alike: no run is without a
// reference. Else it counts the rows with the prefix, however many: no counters know them,
// because every start and end of a run would have to update one for each prefix.
func prefixTotal(tx bun.IDB, prefix string, all *bun.SelectQuery, rows func() *bun.SelectQuery) *bun.SelectQuery {
	const reference = `reference_id COLLATE "C" `
	some := func(s *bun.SelectQuery) *bun.SelectQuery { // the order makes the planner read an index
		return s.ColumnExpr("1").OrderExpr(reference).Limit(maxPrefixed + 1)
	}
	number := func(s *bun.SelectQuery) *bun.SelectQuery {
		return tx.NewSelect().TableExpr("(?) AS r", s).ColumnExpr("count(*) AS n")
	}
	with := func() *bun.SelectQuery { return withPrefix(rows(), "reference_id", prefix) }
	without := some(rows().Where(reference+"< ?", prefix).Where(reference + "<> ''")) // as the index has them
	if next := afterPrefix(prefix); next != "" {
		without = without.UnionAll(some(rows().Where(reference+">= ?", next)))
	}
	const total = `CASE WHEN (SELECT n FROM few) <= ? THEN (SELECT n FROM few)
    WHEN (SELECT n FROM others) <= ? THEN (?) - (SELECT n FROM others) ELSE (?) END`
	return tx.NewSelect().With("few", number(some(with()))).With("others", number(without)).
		ColumnExpr(total, maxPrefixed, maxPrefixed, all, counted(with()))
}
