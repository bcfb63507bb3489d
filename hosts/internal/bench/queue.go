// Writing the review queue and the measures of generated runs.

package bench

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// reviewValues returns the columns of the review of a run: see the table "runs".
func reviewValues(s rules.Summary) ([]any, error) {
	v := s.Review
	if v == nil {
		return []any{nil, nil, nil, []string{}, "", ""}, nil
	}
	shown, err := json.Marshal(map[string]any{"workflow_name": v.WorkflowName, "concerns": v.Concerns, "more_concerns": v.MoreConcerns})
	due := pgtype.Timestamptz{Time: v.DueAt, Valid: true}
	if v.DueAt.IsZero() {
		due = pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	}
	var causes []string
	for _, c := range v.Causes {
		causes = append(causes, string(c))
	}
	return []any{v.Since, due, orNull(s.ReviewUntil()), causes, string(shown), v.Assignment.To.Key()}, err
}

// writeClaims inserts the claims of runs.
func (b rows) writeClaims(ctx context.Context, tx pgx.Tx) error {
	var values [][]any
	for _, r := range b.runs {
		if v := r.summary.Review; v != nil && v.Claim.By != "" {
			values = append(values, []any{r.tenant, r.id, v.Since, v.Claim.By, v.Claim.Name, v.Claim.At, v.Claim.Until})
		}
	}
	columns := []string{"tenant_id", "run_id", "since", "claimed_by", "name", "claimed_at", "until"}
	return copyThrough(ctx, tx, "incoming_claims", columns, values, "INSERT INTO verifyd.claims SELECT * FROM incoming_claims")
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

// sums are the rows of the table "measures", which see.
type sums map[sumKey]int64

type sumKey struct {
	workflow verification.WorkflowID // empty for the sum of all
	day      store.Day
	store.MeasureKey
}

// add adds the measures of a run.
func (s sums) add(w verification.WorkflowID, measures []store.Measure) {
	for _, m := range measures {
		s[sumKey{w, m.Day, m.MeasureKey}] += int64(m.Count)
		if m.Version == 0 {
			s[sumKey{"", m.Day, m.MeasureKey}] += int64(m.Count)
		}
	}
}

// write adds the sums to those of the tenant.
func (s sums) write(ctx context.Context, tx pgx.Tx, tenant [16]byte) error {
	const take = `
INSERT INTO verifyd.measures AS m
SELECT tenant_id, workflow_id, name, day, key, version, count, md5(key)::uuid FROM incoming_measures
ON CONFLICT (tenant_id, workflow_id, name, day, key_hash, version) DO UPDATE SET count = m.count + excluded.count`
	var values [][]any
	flush := func() error {
		err := copyThrough(ctx, tx, "incoming_measures", []string{"tenant_id", "workflow_id", "name", "day", "key", "version", "count"}, values, take)
		values = values[:0]
		return err
	}
	for k, count := range s {
		var workflow uuid.UUID // zero for the sum of all
		if k.workflow != "" {
			workflow = uuid.MustParse(string(k.workflow))
		}
		values = append(values, []any{tenant, [16]byte(workflow), string(k.Name), int32(k.day), k.Key, int32(k.Version), count})
		if len(values) == batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
