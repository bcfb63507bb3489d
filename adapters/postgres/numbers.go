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

// dividedDays selects the rows of the days that have a cut, and what each has before the
// cut and in all. A part is the cuts at one time of consecutive days; the first cut is
// number n. OFFSET makes the planner find the rows of each part in the index; it would else
// compare each row of the workflow with each part.
const dividedDays = `
SELECT m.name, m.key, m.version, p.n, array_agg(m.day - p.first_day) AS days, array_agg(m.before) AS before, array_agg(m.total) AS total
FROM unnest($1::int[], $2::int[], $3::int[], $4::int[]) AS p (first_day, last_day, intervals, n)
CROSS JOIN LATERAL (
    SELECT name, key, version, day, coalesce(counts[p.intervals], 0) AS before, coalesce(counts[96], 0) AS total FROM verifyd.measures
    WHERE tenant_id = $5 AND workflow_id = $6 AND name = ANY ($7) AND ($8 = 0 OR version IN (0, $8))
        AND day BETWEEN p.first_day AND p.last_day OFFSET 0) AS m
GROUP BY m.name, m.key, m.version, p.n`

// wholeMonths selects the rows of months that begin on some days.
const wholeMonths = `
SELECT name, key, version, day, counts FROM verifyd.measure_months
WHERE tenant_id = $1 AND workflow_id = $2 AND name = ANY ($3) AND ($4 = 0 OR version IN (0, $4)) AND day BETWEEN $5 AND $6`

// cut is a cut of a query: the day since 1970, and how many intervals of it are before the
// cut.
type cut struct{ day, intervals int64 }

// measureSums adds up measures between cuts.
type measureSums struct {
	cuts  []cut
	found map[verification.MeasureKey][]int
}

func newMeasureSums(times []time.Time) measureSums {
	s := measureSums{found: map[verification.MeasureKey][]int{}}
	for _, t := range times {
		n := max(0, intervalOf(t)) // nothing was counted before 1970
		s.cuts = append(s.cuts, cut{n / perDay, n % perDay})
	}
	return s
}

// dayParts are the arguments of dividedDays.
type dayParts struct{ first, last, intervals, n []int64 }

// divided returns the cuts within a day.
func (s measureSums) divided() (p dayParts) {
	for i, c := range s.cuts {
		if c.intervals == 0 {
			continue
		}
		if k := len(p.n) - 1; k >= 0 && p.intervals[k] == c.intervals && p.last[k]+1 == c.day && p.n[k]+c.day-p.first[k] == int64(i) {
			p.last[k] = c.day
			continue
		}
		p.first, p.last = append(p.first, c.day), append(p.last, c.day)
		p.intervals, p.n = append(p.intervals, c.intervals), append(p.n, int64(i))
	}
	return p
}

// wholeDays returns the first day that is completely after cut number n, and the first one
// that is not completely before the next cut.
func (s measureSums) wholeDays(n int) (first, end int64) {
	first = s.cuts[n].day
	if s.cuts[n].intervals > 0 {
		first++
	}
	return first, s.cuts[n+1].day
}

// months returns the first days of the first and the last month that have whole days.
func (s measureSums) months() (first, last int64, some bool) {
	for n := range len(s.cuts) - 1 {
		from, end := s.wholeDays(n)
		if from >= end {
			continue
		}
		if !some {
			first, some = from, true
		}
		last = end - 1
	}
	return first - int64(dateOf(first).Day()-1), last, some
}

// add adds to the sum from cut number n to the next.
func (s measureSums) add(k verification.MeasureKey, n int, count int64) {
	if n < 0 || n >= len(s.cuts)-1 || count == 0 {
		return
	}
	if s.found[k] == nil {
		s.found[k] = make([]int, len(s.cuts)-1)
	}
	s.found[k][n] += int(count)
}

// dividedRow is a row of dividedDays.
type dividedRow struct {
	Name                verification.MeasureName
	Key                 string
	Version             int
	N                   int
	Days, Before, Total []int64
}

func (s measureSums) addDivided(r dividedRow) {
	k := verification.MeasureKey{Name: r.Name, Key: r.Key, Version: r.Version}
	for i, day := range r.Days {
		n := r.N + int(day)
		s.add(k, n-1, r.Before[i])
		s.add(k, n, -r.Before[i])
		if n+1 < len(s.cuts) && s.cuts[n+1].day > s.cuts[n].day {
			s.add(k, n, r.Total[i])
		}
	}
}

// monthRow is a row of wholeMonths.
type monthRow struct {
	Name    verification.MeasureName
	Key     string
	Version int
	Day     int64
	Counts  []int64
}

func (s measureSums) addMonth(r monthRow) {
	k := verification.MeasureKey{Name: r.Name, Key: r.Key, Version: r.Version}
	before := func(day int64) int64 { // of the days of the month before a day
		if n := min(day-r.Day, int64(len(r.Counts))); n > 0 {
			return r.Counts[n-1]
		}
		return 0
	}
	for n := range len(s.cuts) - 1 {
		if first, end := s.wholeDays(n); first < end {
			s.add(k, n, before(end)-before(first))
		}
	}
}

// all returns the sums that are not 0 between all cuts, in order.
func (s measureSums) all() (all []verification.MeasureCounts) {
	for k, counts := range s.found {
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
// log of the tenant. Whole days are read by month, and a day with one cut is read once.
func (s *Store) Measures(
	ctx context.Context, t verification.TenantID, q verification.MeasureQuery,
) (all []verification.MeasureCounts, err error) {
	workflow := everyWorkflow
	if q.Workflow != "" {
		workflow = string(q.Workflow)
	}
	if !areUUIDs(string(t), workflow) || len(q.Cuts) < 2 {
		return nil, nil
	}
	err = s.listing(ctx, t, 0, func(ctx context.Context) error {
		if err := s.foldMeasures(ctx, string(t)); err != nil {
			return err
		}
		sums := newMeasureSums(q.Cuts)
		defer func() { all = sums.all() }()
		return s.querier().batch(ctx, string(t), func(b *pgx.Batch) error {
			sums.read(string(t), workflow, q, func(part, statement string, args ...any) {
				add := eachRow(sums.addDivided)
				if part == partMonths {
					add = eachRow(sums.addMonth)
				}
				b.Queue(statement, args...).Query(add)
			})
			return nil
		})
	})
	if err != nil {
		return nil, translate("read measures", err)
	}
	return all, nil
}

// The parts of a query.
const (
	partDays   = "divided days"
	partMonths = "months"
)

// read calls queue with the statement of each part of a query.
func (s measureSums) read(tenant, workflow string, q verification.MeasureQuery, queue func(part, statement string, args ...any)) {
	names := make([]string, len(q.Names))
	for i, name := range q.Names {
		names[i] = string(name)
	}
	if p := s.divided(); len(p.n) > 0 {
		queue(partDays, dividedDays, p.first, p.last, p.intervals, p.n, tenant, workflow, names, q.Version)
	}
	if first, last, some := s.months(); some {
		queue(partMonths, wholeMonths, tenant, workflow, names, q.Version, first, last)
	}
}

// eachRow returns a function that calls add with each row of a statement.
func eachRow[R any](add func(R)) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		all, err := pgx.CollectRows(rows, pgx.RowToStructByName[R])
		for _, r := range all {
			add(r)
		}
		return err
	}
}
