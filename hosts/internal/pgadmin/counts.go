// The check of the counters of runs.

package pgadmin

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
)

// compareCounts selects the keys (%[1]s) whose counter differs from the number of runs.
// %[2]s selects the counters.
const compareCounts = `
SELECT %[1]s, coalesce(k.runs, 0)::bigint AS counter, coalesce(c.runs, 0)::bigint AS counted
FROM (SELECT %[1]s, sum(runs) AS runs FROM (%[2]s) AS all_counters GROUP BY %[1]s) AS k
FULL JOIN (
    SELECT %[1]s, count(*) AS runs FROM (
        SELECT tenant_id, workflow_id, status, decision, (started_at AT TIME ZONE 'UTC')::date AS day FROM verifyd.runs
    ) AS all_runs GROUP BY %[1]s
) AS c USING (%[1]s)
WHERE coalesce(k.runs, 0) <> coalesce(c.runs, 0) ORDER BY %[1]s`

const (
	totals = "SELECT tenant_id, workflow_id, status, decision, runs FROM verifyd.run_counts"

	// days selects the counters of days, and what each day adds to the sum of its month.
	days = `SELECT tenant_id, workflow_id, status, decision, day, runs FROM verifyd.run_counts WHERE slot <> 0
UNION ALL SELECT tenant_id, workflow_id, status, decision, month + n - 1 AS day, runs[n] - coalesce(runs[n - 1], 0) AS runs
FROM verifyd.run_months, generate_series(1, 31) AS n WHERE runs[n] <> coalesce(runs[n - 1], 0)`
)

// CheckCounts counts all runs and returns one line of text for each counter that is wrong.
// It reads every row, however long that takes.
func (d Database) CheckCounts(ctx context.Context) ([]string, error) {
	const key = "tenant_id, workflow_id, status, decision"
	type row struct {
		TenantID, WorkflowID, Status, Decision string
		Day                                    time.Time // zero for all days
		Counter, Counted                       int64
	}
	var wrong []row
	err := d.transact(ctx, everyTenant, snapshot(), func(ctx context.Context, tx pgx.Tx) error {
		for _, query := range []string{fmt.Sprintf(compareCounts, key, totals), fmt.Sprintf(compareCounts, key+", day", days)} {
			found, err := collect[row](ctx, tx, query)
			if err != nil {
				return err
			}
			wrong = append(wrong, found...)
		}
		return nil
	})
	if err != nil {
		return nil, pgerror.Translate("count runs", err)
	}
	var lines []string
	for _, r := range wrong {
		when := ""
		if !r.Day.IsZero() {
			when = r.Day.Format(", started on 2006-01-02")
		}
		lines = append(lines, fmt.Sprintf("tenant %s, workflow %s, status %q, decision %q%s: the counter is %d, but there are %d runs",
			r.TenantID, r.WorkflowID, r.Status, r.Decision, when, r.Counter, r.Counted))
	}
	return lines, nil
}
