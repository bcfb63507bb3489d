// Lists of runs: a page and its total at the cost of the page.

package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	// maxStale is the maximum number of stale rows that a list checks one by one: their
	// status interval does not contain the time of the query. If there are more, the list
	// refreshes them and starts again.
	maxStale = 2000
	// maxListRefreshes is the maximum number of refreshes before a list fails.
	maxListRefreshes = 3
)

// errTooManyStale is returned if there are more than maxStale stale rows.
var errTooManyStale = pgerror.Unavailable("list", "too many runs have just changed their status", nil)

// runRow is a row of verifyd.runs.
type runRow struct {
	bun.BaseModel `bun:"table:verifyd.runs,alias:r"`

	TenantID     verification.TenantID
	ID           verification.RunID
	WorkflowID   verification.WorkflowID
	ReferenceID  string
	StartedAt    time.Time
	ExpiresAt    pgtype.Timestamptz
	AbandonAt    pgtype.Timestamptz
	Waiting      rules.ActionType
	Signal       string
	Wait         int
	Ended        rules.Status
	CompletedAt  pgtype.Timestamptz
	Outcome      string
	EndData      string
	Error        string
	Verdict      rules.Decision
	Flagged      bool
	Status       rules.Status
	Decision     rules.Decision
	RedactedAt   pgtype.Timestamptz
	RestrictedAt pgtype.Timestamptz
}

// runColumns are the columns of a runRow.
const runColumns = `r.tenant_id, r.id, r.workflow_id, r.reference_id, r.started_at, r.expires_at, r.abandon_at,
    r.waiting, r.signal, r.wait, r.ended, r.completed_at, r.outcome, r.end_data, r.error, r.verdict, r.flagged, r.status, r.decision, r.redacted_at,
    r.restricted_at`

// summary returns the summary of the row.
func (r runRow) summary() (rules.Summary, error) {
	s := rules.Summary{
		ID: r.ID, Workflow: r.WorkflowID, ReferenceID: r.ReferenceID,
		StartedAt: r.StartedAt.UTC(), ExpiresAt: utc(r.ExpiresAt.Time), AbandonAt: utc(r.AbandonAt.Time),
		Waiting: r.Waiting, Signal: r.Signal, WaitNumber: r.Wait,
		Ended: r.Ended, CompletedAt: utc(r.CompletedAt.Time), Outcome: r.Outcome, Data: r.EndData, Verdict: r.Verdict, Flagged: r.Flagged,
		RedactedAt: utc(r.RedactedAt.Time), RestrictedAt: utc(r.RestrictedAt.Time),
	}
	if r.Error != "" {
		s.Error = &rules.RunError{}
		if err := json.Unmarshal([]byte(r.Error), s.Error); err != nil {
			return s, err
		}
	}
	return s, nil
}

// utc returns t in UTC, and the zero time as it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// List returns one page of the runs that match the query at q.Now, and the number of all
// matches, which is a sum of counters. An offset below 1,000 is skipped in an index, from
// the nearer end. For a larger one, counters find the day of the page, and only rows of
// that day are skipped.
func (s *Store) List(ctx context.Context, t verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error) {
	p := store.Page[rules.Summary]{PageQuery: q.PageQuery}
	if q.Workflow != "" && !areUUIDs(q.Workflow) || !storable(q.ReferenceID, q.ReferencePrefix) {
		return p, nil
	}
	if q.OfQueue() {
		return s.queue(ctx, t, q)
	}
	err := s.listing(ctx, t, q.Offset, func(ctx context.Context) (err error) {
		if isSearch(q) {
			p, err = s.search(ctx, t, q)
			return err
		}
		var done bool
		if p, done, err = s.listAtOnce(ctx, t, q); done || err != nil {
			return err
		}
		for refreshes := 0; ; refreshes++ { // at most maxListRefreshes times
			err := s.readList(ctx, t, func(ctx context.Context, tx bun.Tx) (err error) {
				p, err = list(ctx, tx, t, q)
				return err
			})
			if !errors.Is(err, errTooManyStale) || refreshes == maxListRefreshes {
				return err
			}
			if _, err := s.refresh(ctx, t, q.Now); err != nil {
				return err
			}
		}
	})
	return p, pgerror.Translate("list runs", err)
}

func list(ctx context.Context, tx bun.IDB, t verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error) {
	p := store.Page[rules.Summary]{PageQuery: q.PageQuery}
	stale, err := findStale(ctx, tx, t, q)
	if err != nil {
		return p, err
	}
	var indexed int // rows, stale ones included
	if err := totalQuery(tx, t, q).Scan(ctx, &indexed); err != nil {
		return p, err
	}
	p.Total = max(0, indexed-len(stale.indexed)+len(stale.matching))
	if q.Limit < 1 || q.Offset >= p.Total {
		return p, nil
	}
	few := indexed <= maxPrefixed
	// The matching stale rows are merged into the page, so it may start that many rows
	// earlier in the index.
	var at *rules.Summary
	skip, matching := q.Offset, stale.matching
	if from := q.Offset - len(matching); from > 0 {
		at, err = seek(ctx, tx, t, q, from, indexed)
		if isMissing(err) { // there are fewer rows than counters say
			return p, nil
		}
		if err != nil {
			return p, err
		}
		before, _ := slices.BinarySearchFunc(stale.indexed, *at, inOrder)
		between, _ := slices.BinarySearchFunc(matching, *at, inOrder)
		skip -= from - before + between
		matching = matching[between:]
	}
	var rows []runRow
	if err := pageQuery(tx, t, q, at, skip+q.Limit, few).Scan(ctx, &rows); err != nil {
		return p, err
	}
	found := slices.Clone(matching)
	for _, r := range rows {
		s, err := r.summary()
		if err != nil {
			return p, err
		}
		found = append(found, s)
	}
	slices.SortFunc(found, inOrder)
	// Wrong counters, which CheckCounts finds, must not hide a row that was read.
	p.Data = found[min(skip, len(found)):min(skip+q.Limit, len(found))]
	p.Total = max(p.Total, q.Offset+len(p.Data))
	return p, nil
}

// inOrder compares two runs by the order of lists.
func inOrder(a, b rules.Summary) int {
	switch {
	case store.Newer(a, b):
		return -1
	case store.Newer(b, a):
		return 1
	}
	return 0
}

// staleRows are the rows whose status interval does not contain the time of a
// query, in the order of lists.
type staleRows struct {
	indexed  []rules.Summary // those whose stored status and decision match the filters
	matching []rules.Summary // those that match the filters now
}

func findStale(ctx context.Context, tx bun.IDB, t verification.TenantID, q store.RunQuery) (found staleRows, err error) {
	var rows []runRow
	if err := staleQuery(tx, t, q).Scan(ctx, &rows); err != nil {
		return found, err
	}
	return staleOf(rows, q)
}

// staleOf sorts out stale rows.
func staleOf(rows []runRow, q store.RunQuery) (found staleRows, err error) {
	if len(rows) > maxStale {
		return found, errTooManyStale
	}
	for _, r := range rows {
		if q.Workflow != "" && r.WorkflowID != q.Workflow {
			continue
		}
		s, err := r.summary()
		if err != nil {
			return found, err
		}
		plain := q
		plain.Status, plain.Decision = "", rules.DecisionNone
		if plain.Matches(s) && (q.Status == "" || r.Status == q.Status) && (q.Decision == rules.DecisionNone || r.Decision == q.Decision) {
			found.indexed = append(found.indexed, s)
		}
		if q.Matches(s) {
			found.matching = append(found.matching, s)
		}
	}
	slices.SortFunc(found.indexed, inOrder)
	slices.SortFunc(found.matching, inOrder)
	return found, nil
}

// seek returns row number n (from 0) of those whose stored status and decision match the
// filters, stale rows included, or an error that isMissing reports.
func seek(ctx context.Context, tx bun.IDB, t verification.TenantID, q store.RunQuery, n, indexed int) (*rules.Summary, error) {
	if n >= seekFrom && q.ReferenceID == "" && q.ReferencePrefix == "" && len(q.Keys) == 0 && !q.Rejected {
		return seekDay(ctx, tx, t, q, n)
	}
	newestFirst := n <= indexed/2
	if !newestFirst {
		n = max(0, indexed-1-n)
	}
	var r runRow
	err := seekQuery(tx, t, q, n, newestFirst, indexed <= maxPrefixed).Scan(ctx, &r)
	return &rules.Summary{StartedAt: r.StartedAt.UTC(), ID: r.ID}, err
}

// staleQuery selects the rows with the search keys of a query whose status interval does not
// contain its time.
func staleQuery(tx bun.IDB, t verification.TenantID, q store.RunQuery) *bun.SelectQuery {
	rows := func() *bun.SelectQuery {
		return withKeys(tx.NewSelect().Model((*runRow)(nil)).Where("tenant_id = ?", t), t, q.Keys).Limit(maxStale + 1)
	}
	return rows().Where("status_until < ?", q.Now).UnionAll(
		rows().Where("status_from >= ?", q.Now).Where("status_until IS NULL OR status_until >= ?", q.Now))
}

// totalQuery selects the number of runs whose stored status and decision match the filters.
// Totals are sums of counters, except in a search. Runs with one reference id, or with a
// prefix and another filter, are counted in an index: prefixTotal would have to read many
// references to find the few that also match the other filter.
func totalQuery(tx bun.IDB, t verification.TenantID, q store.RunQuery) *bun.SelectQuery {
	switch {
	case len(q.Keys) > 0:
		return counted(filtered(tx.NewSelect().Model((*runRow)(nil)), t, q))
	case q.ReferencePrefix != "" && reflect.DeepEqual(q, store.RunQuery{ReferencePrefix: q.ReferencePrefix, PageQuery: q.PageQuery, Now: q.Now}):
		all := store.RunQuery{PageQuery: q.PageQuery, Now: q.Now}
		return prefixTotal(tx, q.ReferencePrefix, totalQuery(tx, t, all), func() *bun.SelectQuery {
			return filtered(tx.NewSelect().Model((*runRow)(nil)), t, all)
		})
	case q.ReferenceID != "", q.ReferencePrefix != "", q.Rejected:
		return counted(filtered(tx.NewSelect().Model((*runRow)(nil)), t, q))
	case q.StartedAfter.IsZero() && q.StartedBefore.IsZero():
		return filtered(tx.NewSelect().TableExpr("verifyd.run_counts").ColumnExpr("coalesce(sum(runs), 0)::bigint"), t, q)
	}
	return startedQuery(tx, t, q)
}

// seekQuery selects the start and the id of row number n of those whose stored status and
// decision match the filters. It reads only an index, except in a search. few reports
// whether there are at most maxPrefixed matches.
func seekQuery(tx bun.IDB, t verification.TenantID, q store.RunQuery, n int, newestFirst, few bool) *bun.SelectQuery {
	order := "started_at DESC, id DESC"
	if !newestFirst {
		order = "started_at, id"
	}
	return merged(tx, q, few, order, n, 1, func(q store.RunQuery) *bun.SelectQuery {
		return filtered(tx.NewSelect().Model((*runRow)(nil)).Column("started_at", "id"), t, q)
	})
}

// pageQuery selects the first rows that match the filters, starting at from unless it is
// nil, without stale rows. few is as for seekQuery.
func pageQuery(
	tx bun.IDB, t verification.TenantID, q store.RunQuery, from *rules.Summary, limit int, few bool,
) *bun.SelectQuery {
	return merged(tx, q, few, "started_at DESC, id DESC", 0, limit, func(q store.RunQuery) *bun.SelectQuery {
		s := filtered(tx.NewSelect().Model((*runRow)(nil)), t, q).
			Where("status_until IS NULL OR status_until >= ?", q.Now).
			Where("status_from IS NULL OR status_from < ?", q.Now)
		if from != nil {
			s = s.Where("(started_at, id) <= (?, ?)", from.StartedAt, from.ID)
		}
		return s
	})
}

// merged selects the rows that part selects for q, in order. The indexes have the
// status before the time, so without a status filter it merges one query for each status. The few
// matches of a search are read once and sorted.
func merged(
	tx bun.IDB, q store.RunQuery, few bool, order string, offset, limit int, part func(store.RunQuery) *bun.SelectQuery,
) *bun.SelectQuery {
	if q.Status != "" || len(q.Keys) > 0 || few && (q.ReferenceID != "" || q.ReferencePrefix != "") {
		return part(q).OrderExpr(order).Offset(int64(offset)).Limit(int64(limit))
	}
	all := ofEachStatus(q, func(q store.RunQuery) *bun.SelectQuery {
		return part(q).OrderExpr(order).Limit(int64(offset + limit))
	})
	return tx.NewSelect().TableExpr("(?) AS r", all).OrderExpr(order).Offset(int64(offset)).Limit(int64(limit))
}

// ofEachStatus selects what part selects for the status of a query, or for every status.
func ofEachStatus(q store.RunQuery, part func(store.RunQuery) *bun.SelectQuery) (all *bun.SelectQuery) {
	if q.Status != "" {
		return part(q)
	}
	for _, q.Status = range rules.Statuses() {
		if all == nil {
			all = part(q)
			continue
		}
		all = all.UnionAll(part(q))
	}
	return all
}

func filtered(s *bun.SelectQuery, t verification.TenantID, q store.RunQuery) *bun.SelectQuery {
	return withKeys(matching(s.Where("tenant_id = ?", t), q), t, q.Keys)
}

// matching selects the rows that match the filters that are not of the review queue.
func matching(s *bun.SelectQuery, q store.RunQuery) *bun.SelectQuery {
	if q.Workflow != "" {
		s = s.Where("workflow_id = ?", q.Workflow)
	}
	if q.Status != "" {
		s = s.Where("status = ?", q.Status)
	}
	if q.Decision != rules.DecisionNone {
		s = s.Where("decision = ?", q.Decision)
	}
	if q.ReferenceID != "" {
		s = s.Where(`reference_id COLLATE "C" = ?`, q.ReferenceID)
	}
	if q.Rejected {
		s = s.Where("verdict = ?", rules.DecisionReject)
	}
	if q.Restricted {
		s = s.Where("restricted_at IS NOT NULL")
	}
	if q.ReferencePrefix != "" {
		s = withPrefix(s, "reference_id", q.ReferencePrefix)
	}
	if !q.StartedAfter.IsZero() {
		s = s.Where("started_at > ?", q.StartedAfter)
	}
	if !q.StartedBefore.IsZero() {
		s = s.Where("started_at < ?", q.StartedBefore)
	}
	return s
}
