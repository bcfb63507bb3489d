// The measures of runs: a log that appends add to, and sums by month.

package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
)

const (
	// perDay is the number of intervals of a day.
	perDay = int64(24 * time.Hour / verification.MeasureInterval)
	// maxFold is how many rows of the log are added up in one transaction, for up to
	// foldTimeout, and maxFolds bounds the transactions of one call.
	maxFold, maxFolds = 1000, 100
	foldTimeout       = 3 * time.Second
)

// measureLogEntry is one element of the JSON array in a row of verifyd.measure_log: the
// measures of one workflow in one interval.
type measureLogEntry struct {
	Workflow verification.WorkflowID `json:"w"`
	Interval int64                   `json:"i"` // since 1970
	Counts   map[string]int          `json:"c"` // by "NAME VERSION KEY"
}

// measureLogEntries returns the JSON array of the measures of some appends; empty for none.
func measureLogEntries(part []*pendingAppend) (string, error) {
	type interval struct {
		workflow verification.WorkflowID
		number   int64
	}
	var order []interval
	all := map[interval]map[string]int{}
	for _, p := range part {
		for _, m := range p.commit.Measures {
			at := interval{p.commit.Summary.Workflow, intervalOf(m.At)}
			if all[at] == nil {
				order, all[at] = append(order, at), map[string]int{}
			}
			all[at][string(m.Name)+" "+strconv.Itoa(m.Version)+" "+m.Key] += m.Count
		}
	}
	if len(order) == 0 {
		return "", nil
	}
	rows := make([]measureLogEntry, len(order))
	for i, at := range order {
		rows[i] = measureLogEntry{at.workflow, at.number, all[at]}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(rows)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// intervalOf returns the number of the interval since 1970 that contains a time.
func intervalOf(t time.Time) int64 {
	return t.UTC().Truncate(verification.MeasureInterval).Unix() / int64(verification.MeasureInterval/time.Second)
}

// sumKey is the key of a row of verifyd.measures.
type sumKey struct {
	tenant, workflow string
	month, part      int64
	verification.MeasureKey
}

// compare orders rows, so that two transactions lock them in the same order.
func (k sumKey) compare(l sumKey) int {
	return cmp.Or(cmp.Compare(k.tenant, l.tenant), cmp.Compare(k.workflow, l.workflow), cmp.Compare(k.month, l.month),
		cmp.Compare(k.part, l.part), cmp.Compare(k.Name, l.Name), cmp.Compare(k.Key, l.Key), cmp.Compare(k.Version, l.Version))
}

// everyWorkflow is the workflow of the sums of all workflows.
const everyWorkflow = "00000000-0000-0000-0000-000000000000"

// addUp adds the measures of a row of the log to sums, whose element n is the sum of day
// n+1 of the month.
func addUp(sums map[sumKey][]int64, tenant, measures string) error {
	var rows []measureLogEntry
	if err := json.Unmarshal([]byte(measures), &rows); err != nil {
		return fmt.Errorf("decode measures: %w", err)
	}
	for _, r := range rows {
		if r.Interval < 0 {
			return fmt.Errorf("interval %d is before 1970", r.Interval)
		}
		for text, n := range r.Counts {
			name, rest, _ := strings.Cut(text, " ")
			digits, key, _ := strings.Cut(rest, " ")
			version, err := strconv.Atoi(digits)
			if err != nil {
				return fmt.Errorf("decode measure %q: %w", text, err)
			}
			k := sumKey{tenant: tenant, workflow: string(r.Workflow), MeasureKey: verification.MeasureKey{Name: verification.MeasureName(name), Key: key, Version: version}}
			addTo(sums, k, r.Interval, n)
			if k.Version == 0 {
				k.workflow = everyWorkflow
				addTo(sums, k, r.Interval, n)
			}
		}
	}
	return nil
}

// addTo adds to the sums of the parts of a day that contain an interval.
func addTo(sums map[sumKey][]int64, k sumKey, interval int64, n int) {
	day := interval / perDay
	k.month = monthOf(day)
	for k.part = range partsOf(interval % perDay) {
		if sums[k] == nil {
			sums[k] = make([]int64, maxMonth)
		}
		sums[k][day-firstDay(k.month)] += int64(n)
	}
}

// The parts of a day are the nodes of a Fenwick tree over its intervals, so that the sum of
// the first intervals of a day is that of at most six parts: part p has as many intervals
// as the lowest bit of p, the last of which is number p-1.

// wholeDay is the part that has all intervals of a day.
const wholeDay = 0

// partsOf returns the parts that contain an interval.
func partsOf(interval int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for part := interval + 1; part < perDay; part += part & -part {
			if !yield(part) {
				return
			}
		}
		yield(wholeDay)
	}
}

// partBefore returns the part that ends where a part begins; 0 at the beginning of the day.
func partBefore(part int64) int64 { return part & (part - 1) }

// isPart reports whether the sum of the first n intervals of a day contains a part as a
// whole.
func isPart(part, n int64) bool { return n&^(part&-part-1) == part }

// maxMonth is the number of days of the longest month.
const maxMonth = 31

// monthOf returns the month since January 1970 of a day since 1970.
func monthOf(day int64) int64 {
	t := time.Unix(0, 0).UTC().AddDate(0, 0, int(day))
	return int64(t.Year()-1970)*12 + int64(t.Month()-time.January)
}

// firstDay returns the first day of a month.
func firstDay(month int64) int64 {
	return time.Date(1970, time.January+time.Month(month), 1, 0, 0, 0, 0, time.UTC).Unix() / int64(day/time.Second)
}

// foldMeasures moves rows of the log to the sums: those of a tenant, or of all tenants.
// A row that another transaction is writing is left for later, and a broken one is left
// for good. It returns ErrUnavailable if rows are left after maxFolds transactions.
//
// When a transaction fails or takes too long, the next one has a tenth of its rows. A row
// that fails alone, and not because the database is slow or gone, is broken.
func (s *Store) foldMeasures(ctx context.Context, tenants string) error {
	if some, err := s.hasLog(ctx, tenants); err != nil || !some {
		return translate("add up measures", err)
	}
	limit := maxFold
	for range maxFolds {
		rows, err := s.foldRows(ctx, tenants, limit)
		switch {
		case err == nil && len(rows) < limit:
			return nil
		case err == nil:
			limit = min(2*limit, maxFold)
		case ctx.Err() != nil, len(rows) == 0, limit == 1 && (unavailable(err) || overloaded(err)):
			return translate("add up measures", err)
		case limit > 1:
			limit = max(1, limit/10)
		default:
			if err := s.leaveRow(ctx, rows[0], err); err != nil {
				return translate("leave a row of measures", err)
			}
		}
	}
	return verification.Unavailable("numbers", "they are being added up; try again")
}

// hasLog reports whether the log has rows to add up.
func (s *Store) hasLog(ctx context.Context, tenants string) (some bool, err error) {
	err = s.querier().batch(ctx, tenants, func(b *pgx.Batch) error {
		b.Queue("SELECT EXISTS (SELECT FROM verifyd.measure_log WHERE NOT broken)").QueryRow(func(row pgx.Row) error { return row.Scan(&some) })
		return nil
	})
	return some, err
}

// logRow is a row of verifyd.measure_log.
type logRow struct {
	CTID     string `bun:"ctid"`
	TenantID string
	Measures string
}

// foldRows moves up to limit rows of the log in one transaction, and returns them.
func (s *Store) foldRows(ctx context.Context, tenants string, limit int) (rows []logRow, err error) {
	const (
		lock  = "SELECT pg_advisory_xact_lock(hashtext('verifyd.measures'))"
		taken = `
DELETE FROM verifyd.measure_log l WHERE l.ctid = ANY (ARRAY(SELECT ctid FROM verifyd.measure_log WHERE NOT broken LIMIT ?))
RETURNING l.ctid::text, tenant_id::text, measures`
	)
	ctx, cancel := context.WithTimeout(ctx, foldTimeout)
	defer cancel()
	err = s.transact(ctx, tenants, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, lock); err != nil {
			return err
		}
		rows = nil
		if err := tx.NewRaw(taken, limit).Scan(ctx, &rows); err != nil || len(rows) == 0 {
			return err
		}
		sums := map[sumKey][]int64{}
		for _, r := range rows {
			if err := addUp(sums, r.TenantID, r.Measures); err != nil {
				return err
			}
		}
		return saveSums(ctx, tx, sums)
	})
	return rows, err
}

// leaveRow marks a row of the log as broken, and logs why.
func (s *Store) leaveRow(ctx context.Context, r logRow, cause error) error {
	s.log.ErrorContext(ctx, "measures cannot be added up and are left in measure_log", "tenant_id", r.TenantID, "error", cause)
	const mark = "UPDATE verifyd.measure_log SET broken = true WHERE ctid = $1::tid AND measures = $2"
	return s.querier().exec(ctx, r.TenantID, mark, r.CTID, r.Measures)
}

// sumRow is a row of verifyd.measures.
type sumRow struct {
	bun.BaseModel `bun:"table:verifyd.measures,alias:m"`

	TenantID, WorkflowID string
	Name                 string
	Part, Month          int64
	Key                  string
	Version              int
	Counts               []int64 `bun:",array"`
}

// maxSumRows bounds the rows of one statement.
const maxSumRows = 500

// saveSums adds sums to those of the table.
func saveSums(ctx context.Context, tx bun.Tx, sums map[sumKey][]int64) error {
	for keys := range slices.Chunk(slices.SortedFunc(maps.Keys(sums), sumKey.compare), maxSumRows) {
		rows := make([]sumRow, len(keys))
		for i, k := range keys {
			rows[i] = sumRow{
				TenantID: k.tenant, WorkflowID: k.workflow, Name: string(k.Name), Part: k.part, Month: k.month,
				Key: k.Key, Version: k.Version, Counts: sums[k],
			}
		}
		_, err := tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, workflow_id, name, part, month, md5(key), version) DO UPDATE").
			Set("counts = ARRAY(SELECT a + b FROM unnest(m.counts, excluded.counts) WITH ORDINALITY AS u (a, b, n) ORDER BY n)").Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}
