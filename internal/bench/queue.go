// Writing the review queue and the measures of generated runs.

package bench

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/verification"
)

// writeReviews inserts the entries of runs in the review queue: see the table "reviews".
func writeReviews(ctx context.Context, tx pgx.Tx, tenant [16]byte, entries []verification.QueueEntry) error {
	var values [][]any
	for _, e := range entries {
		shown, err := json.Marshal(map[string]any{
			"workflow_name": e.WorkflowName, "flags": e.Flags, "more_flags": e.MoreFlags, "causes": e.Causes,
		})
		if err != nil {
			return err
		}
		due := pgtype.Timestamptz{Time: e.DueAt, Valid: true}
		if e.DueAt.IsZero() {
			due = pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
		}
		for _, cause := range append([]verification.Cause{""}, e.Causes...) {
			values = append(values, []any{
				tenant, [16]byte(uuid.MustParse(string(e.Run))), string(cause), [16]byte(uuid.MustParse(string(e.Workflow))), e.ReferenceID,
				e.Since, due, orNull(e.Until), string(shown), e.Claim.By, e.Claim.Name, orNull(e.Claim.At), orNull(e.Claim.Until),
			})
		}
	}
	columns := []string{
		"tenant_id", "run_id", "cause", "workflow_id", "reference_id", "since", "due_at", "until", "shown",
		"claimed_by", "claimed_name", "claimed_at", "claim_until",
	}
	return copyThrough(ctx, tx, "incoming_reviews", columns, values, "INSERT INTO verifyd.reviews SELECT * FROM incoming_reviews")
}

// copyThrough copies rows to a table of makeIncoming and takes them from there.
func copyThrough(ctx context.Context, tx pgx.Tx, table string, columns []string, values [][]any, take ...string) error {
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(values)); err != nil {
		return err
	}
	for _, statement := range append(take, "TRUNCATE "+table) {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

const (
	wholeDay = 24 * time.Hour
	perDay   = int(wholeDay / verification.MeasureInterval)
)

// sums are counts by quarter hour of a day: see the tables "measures" and "measure_months".
type sums map[sumKey]*[perDay]int32

type sumKey struct {
	workflow verification.WorkflowID // empty for the sum of all
	day      int64                   // since 1970
	verification.MeasureKey
}

// add adds the measures of a run.
func (s sums) add(w verification.WorkflowID, measures []verification.Measure) {
	for _, m := range measures {
		interval := m.At.Unix() / int64(verification.MeasureInterval/time.Second)
		k := sumKey{w, interval / int64(perDay), m.MeasureKey}
		s.at(k)[interval%int64(perDay)] += int32(m.Count)
		if k.Version == 0 {
			k.workflow = ""
			s.at(k)[interval%int64(perDay)] += int32(m.Count)
		}
	}
}

func (s sums) at(k sumKey) *[perDay]int32 {
	if s[k] == nil {
		s[k] = new([perDay]int32)
	}
	return s[k]
}

// write adds the sums to those of the tenant.
func (s sums) write(ctx context.Context, tx pgx.Tx, tenant [16]byte) error {
	const (
		added = `
ON CONFLICT (tenant_id, workflow_id, day, name, md5(key), version) DO UPDATE
SET counts = ARRAY(SELECT a + b FROM unnest(m.counts, excluded.counts) WITH ORDINALITY AS u (a, b, n) ORDER BY n)`
		takeDays   = "INSERT INTO verifyd.measures AS m SELECT * FROM incoming_measures" + added
		takeMonths = `
INSERT INTO verifyd.measure_months AS m
SELECT tenant_id, workflow_id, month, name, key, version, array_agg(count ORDER BY upto) FROM (
    SELECT tenant_id, workflow_id, day - (number - 1) AS month, name, key, version, upto,
        coalesce(sum(counts[96]) FILTER (WHERE number <= upto), 0)::bigint AS count
    FROM (SELECT *, extract(day FROM date '1970-01-01' + day)::int AS number FROM incoming_measures) AS days
    CROSS JOIN generate_series(1, 31) AS upto GROUP BY 1, 2, 3, 4, 5, 6, 7) AS sums
GROUP BY 1, 2, 3, 4, 5, 6` + added
	)
	var values [][]any
	flush := func() error {
		err := copyThrough(ctx, tx, "incoming_measures", []string{"tenant_id", "workflow_id", "day", "name", "key", "version", "counts"}, values, takeDays, takeMonths)
		values = values[:0]
		return err
	}
	for k, counts := range s {
		running, sum := make([]int64, perDay), int64(0)
		for i, n := range counts {
			sum += int64(n)
			running[i] = sum
		}
		var workflow uuid.UUID // zero for the sum of all
		if k.workflow != "" {
			workflow = uuid.MustParse(string(k.workflow))
		}
		values = append(values, []any{tenant, [16]byte(workflow), int32(k.day), string(k.Name), k.Key, int32(k.Version), running})
		if len(values) == batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
