// Reads of measures: their sums between the cuts of a query.

package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/verification"
)

// readMeasures selects the rows of some ranges. It is prepared because an unprepared statement
// returns arrays as texts, which are slow to decode. OFFSET makes the planner find the rows of
// each range in the index; it would else compare each row of the workflow with each range.
const readMeasures = `
SELECT m.name, m.key, m.version, m.month, m.part, m.counts
FROM unnest($1::text[], $2::int[], $3::int[], $4::int[]) AS r (name, part, first_month, last_month)
CROSS JOIN LATERAL (
    SELECT name, key, version, month, part, counts FROM verifyd.measures
    WHERE tenant_id = $5 AND workflow_id = $6 AND name = r.name AND part = r.part
        AND month BETWEEN r.first_month AND r.last_month AND ($7 = 0 OR version IN (0, $7)) OFFSET 0) AS m`

// cut is a cut of a query: the day since 1970, and how many intervals of it are before the
// cut.
type cut struct{ day, intervals int64 }

func cutsAt(times ...time.Time) (all []cut) {
	for _, t := range times {
		n := max(0, intervalOf(t)) // nothing was counted before 1970
		all = append(all, cut{n / perDay, n % perDay})
	}
	return all
}

// sumRanges are the arguments of readMeasures: rows of one name and part.
type sumRanges struct {
	names                []string
	parts, firsts, lasts []int64 // months
}

// add adds a range for the rows that the sums of a measure between cuts need.
func (r *sumRanges) add(name verification.MeasureName, cuts []cut) {
	span := func(part, first, last int64) {
		for i := len(r.names) - 1; i >= 0 && r.names[i] == string(name); i-- {
			if r.parts[i] == part && r.lasts[i]+1 >= first {
				r.lasts[i] = max(r.lasts[i], last)
				return
			}
		}
		r.names, r.parts = append(r.names, string(name)), append(r.parts, part)
		r.firsts, r.lasts = append(r.firsts, first), append(r.lasts, last)
	}
	if first, end := cuts[0].day, cuts[len(cuts)-1].day; first < end {
		span(wholeDay, monthOf(first), monthOf(end-1))
	}
	for _, c := range cuts {
		for part := c.intervals; part > 0; part = partBefore(part) {
			span(part, monthOf(c.day), monthOf(c.day))
		}
	}
}

// sumReader adds up measures between cuts.
type sumReader struct {
	ranges sumRanges
	cuts   map[verification.MeasureName][]cut
	found  map[verification.MeasureKey][]int
}

func newSumReader(q verification.MeasureQuery) sumReader {
	r := sumReader{cuts: map[verification.MeasureName][]cut{}, found: map[verification.MeasureKey][]int{}}
	add := func(names []verification.MeasureName, cuts []cut) {
		for _, name := range names {
			if r.cuts[name] == nil {
				r.ranges.add(name, cuts)
			}
			r.cuts[name] = cuts
		}
	}
	add(q.Names, cutsAt(q.Cuts...))
	add(q.Totals, cutsAt(q.Cuts[0], q.Cuts[len(q.Cuts)-1]))
	return r
}

// add adds a row to the sums. Whole days count for the cut that they follow, also the day
// of a cut. The part of that day before the cut is then moved to the sum that ends there.
func (r sumReader) add(row monthRow) {
	k := verification.MeasureKey{Name: row.Name, Key: row.Key, Version: row.Version}
	cuts, first := r.cuts[row.Name], firstDay(row.Month)
	end := first + int64(len(row.Counts))
	sums := r.found[k]
	if sums == nil {
		sums = make([]int, len(cuts)-1)
		r.found[k] = sums
	}
	n, _ := slices.BinarySearchFunc(cuts, first, func(c cut, day int64) int { return cmp.Compare(c.day, day) })
	if row.Part == wholeDay {
		for n = max(0, n-1); n < len(sums) && cuts[n].day < end; n++ {
			for day := max(first, cuts[n].day); day < min(end, cuts[n+1].day); day++ {
				sums[n] += int(row.Counts[day-first])
			}
		}
		return
	}
	for ; n < len(cuts) && cuts[n].day < end; n++ {
		if !isPart(row.Part, cuts[n].intervals) {
			continue
		}
		count := int(row.Counts[cuts[n].day-first])
		if n > 0 {
			sums[n-1] += count
		}
		if n < len(sums) {
			sums[n] -= count
		}
	}
}

// monthRow is a row of readMeasures.
type monthRow struct {
	Name        verification.MeasureName
	Key         string
	Version     int
	Month, Part int64
	Counts      []int64
}

// all returns the sums that are not 0 between all cuts, in order.
func (r sumReader) all() (all []verification.MeasureCounts) {
	for k, counts := range r.found {
		if slices.ContainsFunc(counts, func(n int) bool { return n != 0 }) {
			all = append(all, verification.MeasureCounts{MeasureKey: k, Counts: counts})
		}
	}
	slices.SortFunc(all, func(a, b verification.MeasureCounts) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// Measures returns the sums of the measures that a query selects. It first adds up the
// log of the tenant, and then reads all sums in one statement.
func (s *Store) Measures(
	ctx context.Context, t verification.TenantID, q verification.MeasureQuery,
) (all []verification.MeasureCounts, err error) {
	if q.Workflow != "" && !areUUIDs(q.Workflow) || !areUUIDs(t) || len(q.Cuts) < 2 {
		return nil, nil
	}
	err = s.listing(ctx, t, 0, func(ctx context.Context) error {
		if err := s.foldMeasures(ctx, string(t)); err != nil {
			return err
		}
		reader := newSumReader(q)
		defer func() { all = reader.all() }()
		return s.querier().batch(ctx, string(t), func(b *pgx.Batch) error {
			b.Queue(stmtMeasures, reader.args(t, q)...).Query(func(rows pgx.Rows) error {
				var row monthRow
				_, err := pgx.ForEachRow(rows, []any{&row.Name, &row.Key, &row.Version, &row.Month, &row.Part, &row.Counts}, func() error {
					reader.add(row)
					return nil
				})
				return err
			})
			return nil
		})
	})
	if err != nil {
		return nil, translate("read measures", err)
	}
	return all, nil
}

// args are the arguments of readMeasures.
func (r sumReader) args(t verification.TenantID, q verification.MeasureQuery) []any {
	of := r.ranges
	return []any{of.names, of.parts, of.firsts, of.lasts, string(t), cmp.Or(string(q.Workflow), everyWorkflow), q.Version}
}
