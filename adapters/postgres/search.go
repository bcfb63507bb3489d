// Search keys: the keyed hashes by which runs are found.

package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// appendKeys replaces the search keys of the runs of a group, see keysArgs. It follows their
// appends in the transaction. It ignores those that failed: the row at their position is not
// there, or has other events.
const appendKeys = `
WITH appended AS MATERIALIZED (
    SELECT i.tenant_id, i.run_id, r.started_at
    FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::bytea[]) AS i (tenant_id, run_id, seq, sum)
    JOIN verifyd.run_events e ON e.tenant_id = i.tenant_id AND e.run_id = i.run_id AND e.seq = i.seq
        AND sha256(convert_to(e.events, 'UTF8')) = i.sum
    JOIN verifyd.runs r ON r.tenant_id = i.tenant_id AND r.id = i.run_id
), given AS MATERIALIZED (
    SELECT k.tenant_id, k.run_id, k.key, a.started_at
    FROM unnest($5::uuid[], $6::uuid[], $7::uuid[]) AS k (tenant_id, run_id, key) JOIN appended a USING (tenant_id, run_id)
), removed AS (
    DELETE FROM verifyd.search_keys s USING appended a WHERE s.tenant_id = a.tenant_id AND s.run_id = a.run_id
        AND NOT EXISTS (SELECT 1 FROM given g WHERE g.tenant_id = s.tenant_id AND g.run_id = s.run_id AND g.key = s.key)
)
INSERT INTO verifyd.search_keys (tenant_id, run_id, key, started_at)
SELECT tenant_id, run_id, key, started_at FROM given ON CONFLICT DO NOTHING`

// keysArgs returns the arguments of appendKeys: the appends with search keys, and one element
// for each key. It returns nil if no append has any.
func keysArgs(group []*pendingAppend) []any {
	var tenants, runs, of, has, keys []pgtype.UUID
	var seqs []int32
	var sums [][]byte
	for _, p := range group {
		if p.commit.Keys == nil || p.replacesKeys() {
			continue
		}
		sum := sha256.Sum256([]byte(p.events))
		tenants, runs, seqs, sums = append(tenants, p.tenant), append(runs, p.run), append(seqs, p.seq), append(sums, sum[:])
		for _, k := range keyIDs(p.commit.Keys) {
			of, has, keys = append(of, p.tenant), append(has, p.run), append(keys, k)
		}
	}
	if tenants == nil {
		return nil
	}
	return []any{tenants, runs, seqs, sums, of, has, keys}
}

// keyIDs returns search keys as the database has them.
func keyIDs(keys []store.SearchKey) (all []pgtype.UUID) {
	for _, k := range keys {
		all = append(all, pgtype.UUID{Bytes: k, Valid: true})
	}
	return all
}

// withKeys selects the runs of a tenant that have search keys. It reads the runs of each key in
// an index once, whatever the planner expects of how many there are.
func withKeys(s *bun.SelectQuery, t verification.TenantID, keys [][]store.SearchKey) *bun.SelectQuery {
	for _, choice := range keys {
		ids := make([]uuid.UUID, len(choice))
		for i, k := range choice {
			ids[i] = uuid.UUID(k)
		}
		runs := s.DB().NewSelect().TableExpr("verifyd.search_keys AS k").Column("k.run_id").Where("k.key IN (?)", bun.List(ids))
		if t != "" {
			runs = runs.Where("k.tenant_id = ?", t)
		}
		s = s.Where("r.id = ANY (ARRAY (?))", runs)
	}
	return s
}

// isSearch reports whether a query has no filters besides search keys, or selects the rejected runs with a reference
// id. No status matters to it, so no row is stale.
func isSearch(q store.RunQuery) bool {
	plain := store.RunQuery{PageQuery: q.PageQuery, Now: q.Now, Keys: q.Keys}
	if q.Rejected && q.ReferenceID != "" {
		plain = store.RunQuery{PageQuery: q.PageQuery, Now: q.Now, ReferenceID: q.ReferenceID, Rejected: true}
	}
	return (plain.Rejected || len(q.Keys) > 0) && reflect.DeepEqual(q, plain)
}

// search lists the runs that isSearch selects, in one round trip. However many there are, it
// reads only the runs of the page.
func (s *Store) search(ctx context.Context, t verification.TenantID, q store.RunQuery) (p store.Page[rules.Summary], err error) {
	p.PageQuery = q.PageQuery
	total, page, args := searchTexts(t, q)
	statements := []listStatement{{total, args, func(rows pgx.Rows) (err error) {
		p.Total, err = pgx.CollectOneRow(rows, pgx.RowTo[int])
		return err
	}}}
	if q.Limit > 0 {
		statements = append(statements, listStatement{page, append(args[:len(args):len(args)], q.Limit, q.Offset), func(rows pgx.Rows) error {
			found, err := scanRuns(rows)
			for _, r := range found {
				summary, bad := r.summary()
				p.Data, err = append(p.Data, summary), errors.Join(err, bad)
			}
			return err
		}})
	}
	if q.Rejected && q.Offset == 0 && q.Limit > 0 { // nearly always, the page is not full
		if err := s.readBatch(ctx, t, statements[1]); err != nil || len(p.Data) < q.Limit {
			p.Total = len(p.Data)
			return p, err
		}
		p.Data = nil
	}
	err = s.readBatch(ctx, t, statements...)
	return p, err
}

// searchTexts returns the statements of search. The limit and the offset of a page follow the
// arguments.
func searchTexts(t verification.TenantID, q store.RunQuery) (total, page string, args []any) {
	from := ""
	args = []any{string(t)}
	if q.Rejected {
		from = ` FROM verifyd.runs r WHERE r.tenant_id = $1 AND r.reference_id COLLATE "C" = $2 AND r.verdict = 'reject'`
		page = "SELECT " + runColumns + from + " ORDER BY r.started_at DESC, r.id DESC LIMIT $3 OFFSET $4"
		return "SELECT count(*)" + from, page, append(args, q.ReferenceID)
	}
	for _, choice := range q.Keys {
		is := fmt.Sprintf(" = $%d", len(args)+1)
		if len(choice) > 1 {
			is = fmt.Sprintf(" IN ($%d, $%d)", len(args)+1, len(args)+2)
		}
		for _, k := range choice {
			args = append(args, pgtype.UUID{Bytes: k, Valid: true})
		}
		switch {
		case from == "" && len(choice) > 1: // a run may have both
			from = ` FROM (SELECT DISTINCT run_id, started_at FROM verifyd.search_keys WHERE tenant_id = $1 AND key` + is + `) k WHERE true`
			continue
		case from == "":
			from = " FROM verifyd.search_keys k WHERE k.tenant_id = $1 AND k.key" + is
			continue
		}
		from += ` AND EXISTS (SELECT 1 FROM verifyd.search_keys o
    WHERE o.tenant_id = $1 AND o.key` + is + ` AND o.started_at = k.started_at AND o.run_id = k.run_id)`
	}
	n := len(args)
	return "SELECT count(*)" + from, fmt.Sprintf(`SELECT %s FROM (
    SELECT k.run_id%s ORDER BY k.started_at DESC, k.run_id DESC LIMIT $%d OFFSET $%d
) AS f JOIN verifyd.runs r ON r.tenant_id = $1 AND r.id = f.run_id ORDER BY r.started_at DESC, r.id DESC`, runColumns, from, n+1, n+2), args
}
