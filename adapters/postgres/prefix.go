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

// withPrefix selects the texts of a column with the collation C that begin with a
// prefix.
func withPrefix(s *bun.SelectQuery, column, prefix string) *bun.SelectQuery {
	s = s.Where("? COLLATE \"C\" >= ?", bun.Ident(column), prefix)
	if next := afterPrefix(prefix); next != "" {
		s = s.Where("? COLLATE \"C\" < ?", bun.Ident(column), next)
	}
	return s
}

// afterPrefix returns the first text in the order of code points that comes after all
// texts with a prefix; empty if there is none.
func afterPrefix(prefix string) string {
	runes := []rune(prefix)
	for len(runes) > 0 {
		last := &runes[len(runes)-1]
		switch *last {
		case '\U0010FFFF':
			runes = runes[:len(runes)-1]
			continue
		case 0xD7FF:
			*last = 0xE000 // there is no text with a surrogate
		default:
			*last++
		}
		return string(runes)
	}
	return ""
}

// counted selects the number of rows.
func counted(s *bun.SelectQuery) *bun.SelectQuery { return s.ColumnExpr("count(*)") }
