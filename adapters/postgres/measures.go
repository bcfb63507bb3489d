// The measures of runs: a log that appends add to, and sums by day.

package postgres

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // as the statements of copysaves.go; no secret depends on it
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	// maxFold is how many rows of the log are added up in one transaction, for up to
	// foldTimeout, and maxFolds bounds the transactions of one call.
	maxFold, maxFolds = 1000, 100
	foldTimeout       = 3 * time.Second
)

// measureLogEntry is one element of the JSON array in a row of verifyd.measure_log: the
// measures of one workflow on one day.
type measureLogEntry struct {
	Workflow verification.WorkflowID `json:"w"`
	Day      store.Day               `json:"d"`
	Counts   map[string]int          `json:"c"` // by "NAME VERSION KEY"
}

// measureLogEntries returns the JSON array of the measures of some appends; empty for none.
func measureLogEntries(part []*pendingAppend) (string, error) {
	type workflowDay struct {
		workflow verification.WorkflowID
		day      store.Day
	}
	var order []workflowDay
	all := map[workflowDay]map[string]int{}
	for _, p := range part {
		for _, m := range p.commit.Measures {
			at := workflowDay{p.commit.Summary.Workflow, m.Day}
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
		rows[i] = measureLogEntry{at.workflow, at.day, all[at]}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(rows)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// sumKey is the key of a row of verifyd.measures.
type sumKey struct {
	tenant, workflow string
	day              store.Day
	store.MeasureKey
}

// compare orders rows, so that two transactions lock them in the same order.
func (k sumKey) compare(l sumKey) int {
	return cmp.Or(cmp.Compare(k.tenant, l.tenant), cmp.Compare(k.workflow, l.workflow), cmp.Compare(k.day, l.day),
		cmp.Compare(k.Name, l.Name), cmp.Compare(k.Key, l.Key), cmp.Compare(k.Version, l.Version))
}

// everyWorkflow is the workflow of the sums of all workflows.
const everyWorkflow = "00000000-0000-0000-0000-000000000000"

// addUp adds the measures of a row of the log to sums.
func addUp(sums map[sumKey]int, tenant, measures string) error {
	var rows []measureLogEntry
	if err := json.Unmarshal([]byte(measures), &rows); err != nil {
		return fmt.Errorf("decode measures: %w", err)
	}
	for _, r := range rows {
		for text, n := range r.Counts {
			name, rest, _ := strings.Cut(text, " ")
			digits, key, _ := strings.Cut(rest, " ")
			version, err := strconv.Atoi(digits)
			if err != nil {
				return fmt.Errorf("decode a measure %q: %w", name, err) // the key may name a person
			}
			k := sumKey{
				tenant: tenant, workflow: string(r.Workflow), day: r.Day,
				MeasureKey: store.MeasureKey{Name: store.MeasureName(name), Key: key, Version: version},
			}
			if sums[k] += n; version == 0 {
				k.workflow = everyWorkflow
				sums[k] += n
			}
		}
	}
	return nil
}

// foldMeasures moves the rows of a tenant, or of all tenants, from the log to the sums.
// A row that another transaction is writing is left for later, and a broken one is left
// for good. It returns ErrUnavailable if rows are left after maxFolds transactions.
//
// When a transaction fails or takes too long, the next one has a tenth of its rows. A row
// that fails alone, and not because the database is slow or gone, is broken.
func (s *Store) foldMeasures(ctx context.Context, tenants string) error {
	if some, err := s.hasLog(ctx, tenants); err != nil || !some {
		return pgerror.Translate("add up measures", err)
	}
	limit := maxFold
	for range maxFolds {
		rows, err := s.foldRows(ctx, tenants, limit)
		switch {
		case err == nil && len(rows) < limit:
			return nil
		case err == nil:
			limit = min(2*limit, maxFold)
		case ctx.Err() != nil, len(rows) == 0, limit == 1 && (pgerror.IsUnavailable(err) || pgerror.IsOverloaded(err)):
			return pgerror.Translate("add up measures", err)
		case limit > 1:
			limit = max(1, limit/10)
		default:
			if err := s.leaveRow(ctx, rows[0], err); err != nil {
				return pgerror.Translate("leave a row of measures", err)
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
	ID       string
	TenantID string
	Measures string
}

// foldRows moves up to limit rows of the log in one transaction, and returns them.
func (s *Store) foldRows(ctx context.Context, tenants string, limit int) (rows []logRow, err error) {
	const (
		lock  = "SELECT pg_advisory_xact_lock(hashtext('verifyd.measures'))"
		taken = `
DELETE FROM verifyd.measure_log l WHERE l.ctid = ANY (ARRAY(SELECT ctid FROM verifyd.measure_log WHERE NOT broken LIMIT ?))
RETURNING id::text, tenant_id::text, measures`
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
		sums := map[sumKey]int{}
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
	return s.querier().exec(ctx, r.TenantID, "UPDATE verifyd.measure_log SET broken = true WHERE id = $1::uuid", r.ID)
}

// sumRow is a row of verifyd.measures.
type sumRow struct {
	bun.BaseModel `bun:"table:verifyd.measures,alias:m"`

	TenantID, WorkflowID string
	Name                 string
	Day                  store.Day
	Key                  string
	Version              int
	Count                int
	KeyHash              string
}

// maxSumRows bounds the rows of one statement.
const maxSumRows = 500

// saveSums adds sums to the table.
func saveSums(ctx context.Context, tx bun.Tx, sums map[sumKey]int) error {
	for keys := range slices.Chunk(slices.SortedFunc(maps.Keys(sums), sumKey.compare), maxSumRows) {
		rows := make([]sumRow, len(keys))
		for i, k := range keys {
			rows[i] = sumRow{
				TenantID: k.tenant, WorkflowID: k.workflow, Name: string(k.Name), Day: k.day, Key: k.Key, Version: k.Version, Count: sums[k],
				KeyHash: fmt.Sprintf("%x", md5.Sum([]byte(k.Key))), //nolint:gosec // see its import
			}
		}
		_, err := tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, workflow_id, name, day, key_hash, version) DO UPDATE").
			Set("count = m.count + excluded.count").Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// readMeasures adds up the rows of some names on some days: each day of the names $3, and
// all days of the totals $4.
const readMeasures = `
SELECT name, key, version, CASE WHEN name = ANY ($3::text[]) THEN day - $5 ELSE 0 END AS i, sum(count)::bigint
FROM verifyd.measures
WHERE tenant_id = $1 AND workflow_id = $2 AND name = ANY ($3::text[] || $4::text[]) AND day BETWEEN $5 AND $6
    AND ($7 = 0 OR version IN (0, $7))
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3`

// Measures returns the sums of the measures that a query selects. It first adds up the
// log of the tenant, and then reads all sums in one statement.
func (s *Store) Measures(ctx context.Context, t verification.TenantID, q store.MeasureQuery) (all []store.MeasureCounts, err error) {
	if q.Workflow != "" && !areUUIDs(q.Workflow) || !areUUIDs(t) || q.Last < q.First {
		return nil, nil
	}
	err = s.listing(ctx, t, 0, func(ctx context.Context) error {
		if err := s.foldMeasures(ctx, string(t)); err != nil {
			return err
		}
		return s.querier().batch(ctx, string(t), func(b *pgx.Batch) error {
			b.Queue(stmtMeasures, measureArguments(t, q)...).Query(func(rows pgx.Rows) error {
				var k store.MeasureKey
				var i, n int
				_, err := pgx.ForEachRow(rows, []any{&k.Name, &k.Key, &k.Version, &i, &n}, func() error {
					if len(all) == 0 || all[len(all)-1].MeasureKey != k {
						days := int(q.Last-q.First) + 1
						if !slices.Contains(q.Names, k.Name) {
							days = 1
						}
						all = append(all, store.MeasureCounts{MeasureKey: k, Counts: make([]int, days)})
					}
					all[len(all)-1].Counts[i] = n
					return nil
				})
				return err
			})
			return nil
		})
	})
	if err != nil {
		return nil, pgerror.Translate("read measures", err)
	}
	return all, nil
}

// measureArguments returns the arguments of readMeasures.
func measureArguments(t verification.TenantID, q store.MeasureQuery) []any {
	texts := func(names []store.MeasureName) []string {
		all := make([]string, len(names)) // nil would be NULL
		for i, name := range names {
			all[i] = string(name)
		}
		return all
	}
	return []any{
		string(t), cmp.Or(string(q.Workflow), everyWorkflow), texts(q.Names), texts(q.Totals), int32(q.First), int32(q.Last), int32(q.Version),
	}
}
