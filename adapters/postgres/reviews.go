// The review queue and its claims.

package postgres

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/verifyd/verifyd/verification"
)

// reviewRow is a row of verifyd.reviews, as it is read.
type reviewRow struct {
	bun.BaseModel `bun:"table:verifyd.reviews,alias:v"`

	RunID       verification.RunID
	WorkflowID  verification.WorkflowID
	ReferenceID string
	Since       time.Time
	DueAt       pgtype.Timestamptz // infinity for none
	Until       pgtype.Timestamptz
	Shown       string
	ClaimedBy   string
	ClaimedName string
	ClaimedAt   pgtype.Timestamptz
	ClaimUntil  pgtype.Timestamptz
}

// shownReview is the JSON of the column "shown".
type shownReview struct {
	WorkflowName string                `json:"workflow_name"`
	Flags        []verification.Flag   `json:"flags"`
	MoreFlags    int                   `json:"more_flags,omitempty"`
	Causes       []verification.Cause  `json:"causes"`
	Proposed     verification.Decision `json:"proposed,omitempty"`
	ProposedBy   verification.Person   `json:"proposed_by,omitzero"`
}

// reviewArgs are the columns of the rows of an entry.
type reviewArgs struct {
	causes            []string // one row for each
	workflow          pgtype.UUID
	reference, shown  string
	since, due, until pgtype.Timestamptz
}

func newReviewArgs(v verification.Review) (r reviewArgs, err error) {
	r = reviewArgs{reference: v.ReferenceID, since: orNull(v.Since), due: orNull(v.DueAt), until: orNull(v.Until)}
	for _, c := range v.Causes {
		r.causes = append(r.causes, string(c))
	}
	if len(r.causes) == 0 {
		r.causes = []string{""}
	}
	if r.workflow, err = uuidOf(string(v.Workflow)); err != nil {
		return r, err
	}
	if v.DueAt.IsZero() {
		r.due = pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	}
	raw, err := json.Marshal(shownReview{v.WorkflowName, v.Flags, v.MoreFlags, v.Causes, v.Proposed, v.ProposedBy})
	r.shown = string(raw)
	return r, err
}

// entry returns the entry of the row as of a time.
func (r reviewRow) entry(now time.Time) (verification.QueueEntry, error) {
	var shown shownReview
	if err := json.Unmarshal([]byte(r.Shown), &shown); err != nil {
		return verification.QueueEntry{}, err
	}
	e := verification.QueueEntry{Review: verification.Review{
		Run: r.RunID, Workflow: r.WorkflowID, WorkflowName: shown.WorkflowName, ReferenceID: r.ReferenceID,
		Since: r.Since.UTC(), DueAt: utc(r.DueAt.Time), Until: utc(r.Until.Time),
		Flags: shown.Flags, MoreFlags: shown.MoreFlags, Causes: shown.Causes, Proposed: shown.Proposed, ProposedBy: shown.ProposedBy,
	}}
	if c := r.claim(); c.HeldAt(now) {
		e.Claim = c
	}
	return e, nil
}

func (r reviewRow) claim() verification.Claim {
	if r.ClaimedBy == "" {
		return verification.Claim{}
	}
	return verification.Claim{By: r.ClaimedBy, Name: r.ClaimedName, At: utc(r.ClaimedAt.Time), Until: utc(r.ClaimUntil.Time)}
}

// Queue returns one page of the review queue as of q.Now. The total is the sum of
// counters, unless the query has a filter on the reference id or on one person's claims.
func (s *Store) Queue(ctx context.Context, t verification.TenantID, q verification.QueueQuery) (verification.Page[verification.QueueEntry], error) {
	p := verification.Page[verification.QueueEntry]{PageQuery: q.PageQuery}
	if !areUUIDs(string(t)) || q.Workflow != "" && !areUUIDs(q.Workflow) || q.Run != "" && !areUUIDs(q.Run) ||
		!storable(q.ReferencePrefix, q.ClaimedBy) {
		return p, nil
	}
	err := s.listing(ctx, t, q.Offset, func(ctx context.Context) error {
		return s.readList(ctx, t, func(ctx context.Context, tx bun.Tx) error {
			p.Data = nil
			if err := queueTotal(tx, t, q).Scan(ctx, &p.Total); err != nil || q.Limit < 1 || q.Offset >= p.Total {
				return err
			}
			page := q
			if seeksReview(q) {
				var err error
				page, err = seekReview(ctx, tx, t, q)
				if isMissing(err) { // there are fewer rows than counters say
					return nil
				}
				if err != nil {
					return err
				}
			}
			rows, err := queuePage(ctx, tx, t, page)
			if err != nil {
				return err
			}
			for _, r := range rows {
				e, err := r.entry(q.Now)
				if err != nil {
					return err
				}
				p.Data = append(p.Data, e)
			}
			return nil
		})
	})
	return p, translate("read the review queue", err)
}

// reviewsOf selects a row for each run of a workflow and a cause, of every tenant if t is
// empty.
func reviewsOf(tx bun.IDB, t verification.TenantID, q verification.QueueQuery) *bun.SelectQuery {
	s := ofQueue(tx.NewSelect().Model((*reviewRow)(nil)), t, q, "n = 1")
	if !q.SinceBefore.IsZero() {
		s = s.Where("since <= ?", q.SinceBefore)
	}
	return s
}

// ofQueue selects the rows of a tenant, or of all if t is empty, of a workflow and of a
// cause. Without a cause, the rows that match first count each run once.
func ofQueue(s *bun.SelectQuery, t verification.TenantID, q verification.QueueQuery, first string) *bun.SelectQuery {
	if q.Cause == "" {
		s = s.Where(first)
	} else {
		s = s.Where("cause = ?", q.Cause)
	}
	if t != "" {
		s = s.Where("tenant_id = ?", t)
	}
	if q.Workflow != "" {
		s = s.Where("workflow_id = ?", q.Workflow)
	}
	return s
}

// matching selects the rows that match the query.
func matching(tx bun.IDB, t verification.TenantID, q verification.QueueQuery) *bun.SelectQuery {
	s := unended(reviewsOf(tx, t, q), q.Now)
	if q.Run != "" {
		s = s.Where("run_id = ?", q.Run)
	}
	if q.ReferencePrefix != "" {
		s = withPrefix(s, "reference_id", q.ReferencePrefix)
	}
	if q.ClaimedBy != "" {
		s = s.Where("claimed_by = ?", q.ClaimedBy).Where("claimed_by <> ''").Where("claim_until > ?", q.Now)
	}
	if q.Unclaimed {
		s = s.Where("claimed_by = '' OR claim_until <= ?", q.Now)
	}
	return s
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

// unended selects the reviews whose run has not expired.
func unended(s *bun.SelectQuery, now time.Time) *bun.SelectQuery {
	return s.Where("until IS NULL OR until >= ?", now)
}

// queuePage reads the rows of a page. Reviews without a due time come last in the order of
// due times; the indexes of due times do not have them.
func queuePage(ctx context.Context, tx bun.IDB, t verification.TenantID, q verification.QueueQuery) (rows []reviewRow, err error) {
	if q.Order != verification.DueFirst {
		return rows, queueRows(matching(tx, t, q), q).Scan(ctx, &rows)
	}
	if q.After == nil || !q.After.DueAt.IsZero() {
		if err = queueRows(withDueTime(matching(tx, t, q)), q).Scan(ctx, &rows); err != nil || len(rows) == q.Limit {
			return rows, err
		}
		skipped := q.Offset
		if len(rows) == 0 && q.Offset > 0 {
			if err = counted(afterPosition(withDueTime(matching(tx, t, q)), q)).Scan(ctx, &skipped); err != nil {
				return nil, err
			}
		}
		q.After, q.Offset, q.Limit = nil, q.Offset-skipped, q.Limit-len(rows)
	}
	var others []reviewRow
	err = queueRows(withoutDueTime(matching(tx, t, q)), q).Scan(ctx, &others)
	return append(rows, others...), err
}

func withDueTime(s *bun.SelectQuery) *bun.SelectQuery { return s.Where("due_at < 'infinity'") }

func withoutDueTime(s *bun.SelectQuery) *bun.SelectQuery { return s.Where("due_at = 'infinity'") }

// queueRows selects the page of some rows.
func queueRows(s *bun.SelectQuery, q verification.QueueQuery) *bun.SelectQuery {
	return afterPosition(s, q).OrderExpr(queueOrder(q)).Offset(int64(q.Offset)).Limit(int64(q.Limit))
}

// afterPosition selects the rows after q.After.
func afterPosition(s *bun.SelectQuery, q verification.QueueQuery) *bun.SelectQuery {
	switch a := q.After; {
	case a == nil:
		return s
	case q.Order == verification.DueFirst:
		return s.Where("(due_at, since, run_id) > (?, ?, ?)", orInfinity(a.DueAt), a.Since, a.Run)
	default:
		return s.Where("(since, run_id) > (?, ?)", a.Since, a.Run)
	}
}

// queueOrder returns the columns of the order of a query.
func queueOrder(q verification.QueueQuery) string {
	if q.Order == verification.DueFirst {
		return "due_at, since, run_id"
	}
	return "since, run_id"
}

// orInfinity returns a time for SQL; zero is infinity.
func orInfinity(t time.Time) any {
	if t.IsZero() {
		return "infinity"
	}
	return t
}

// queueTotal selects the number of rows that match the query. If its filters have
// counters, it counts only the reviews of one day, those that have ended by time, and
// those that are claimed; see prefixTotal for a prefix of the reference id.
func queueTotal(tx bun.IDB, t verification.TenantID, q verification.QueueQuery) *bun.SelectQuery {
	if !countable(q) && (q.ReferencePrefix == "" || q.Run != "" || q.ClaimedBy != "" || q.Unclaimed) {
		return counted(matching(tx, t, q))
	}
	if q.ReferencePrefix != "" {
		prefixed := func() *bun.SelectQuery { return withPrefix(reviewsOf(tx, t, q), "reference_id", q.ReferencePrefix) }
		if !q.SinceBefore.IsZero() || q.Workflow != "" {
			return unendedTotal(tx, q.Now, prefixed)
		}
		total := prefixTotal(tx, q.ReferencePrefix, summed(countersOf(tx, t, q)), func() *bun.SelectQuery { return reviewsOf(tx, t, q) })
		return tx.NewSelect().ColumnExpr("greatest(0, (?) - (?))", total, counted(prefixed().Where("until < ?", q.Now)))
	}
	return queueSum(tx, t, q, summed(countersOf(tx, t, q)))
}

// queueSum selects the number of rows that match a countable query from the sum of its
// counters.
func queueSum(tx bun.IDB, t verification.TenantID, q verification.QueueQuery, counters *bun.SelectQuery) *bun.SelectQuery {
	total, terms := "(?)", []any{counters}
	if !q.SinceBefore.IsZero() {
		day := q.SinceBefore.UTC().Truncate(24 * time.Hour)
		total, terms = total+" + (?)", append(terms, counted(reviewsOf(tx, t, q).Where("since >= ?", day)))
	}
	for _, rows := range unmatchedOf(tx, t, q) {
		total, terms = total+" - (?)", append(terms, counted(rows))
	}
	return tx.NewSelect().ColumnExpr("greatest(0, "+total+")", terms...)
}

// countable reports whether the filters of a query have counters.
func countable(q verification.QueueQuery) bool {
	return q.Run == "" && q.ClaimedBy == "" && q.ReferencePrefix == ""
}

// unmatchedOf selects the rows that counters have and that do not match a countable query,
// each row once.
func unmatchedOf(tx bun.IDB, t verification.TenantID, q verification.QueueQuery) []*bun.SelectQuery {
	all := []*bun.SelectQuery{reviewsOf(tx, t, q).Where("until < ?", q.Now)}
	if q.Unclaimed {
		all = append(all, unended(reviewsOf(tx, t, q), q.Now).Where("claimed_by <> ''").Where("claim_until > ?", q.Now))
	}
	return all
}

// overdueTotal selects the number of reviews whose due time has passed. Whole days have
// counters. A time within a day is counted in an index, from the nearer midnight.
func overdueTotal(tx bun.IDB, t verification.TenantID, q verification.QueueQuery) *bun.SelectQuery {
	midnight, sign, from, to := q.Now.UTC().Round(day), " + ", q.Now.UTC().Round(day), q.Now
	if midnight.After(q.Now) {
		sign, from, to = " - ", q.Now, midnight
	}
	return tx.NewSelect().ColumnExpr("(?)"+sign+"(?) - (?)",
		summed(countersOf(tx, t, q).Where("due_day < ?", midnight.Format(time.DateOnly))),
		counted(reviewsOf(tx, t, q).Where("due_at >= ?", from).Where("due_at < ?", to)),
		counted(reviewsOf(tx, t, q).Where("due_at < ?", q.Now).Where("until < ?", q.Now)))
}

// unendedTotal selects the number of rows that have not ended by time. It counts all in an
// index that does not have the end, and subtracts the few that have ended.
func unendedTotal(tx bun.IDB, now time.Time, rows func() *bun.SelectQuery) *bun.SelectQuery {
	return tx.NewSelect().ColumnExpr("(?) - (?)", counted(rows()), counted(rows().Where("until < ?", now)))
}

// counted selects the number of rows.
func counted(s *bun.SelectQuery) *bun.SelectQuery { return s.ColumnExpr("count(*)") }

// summed selects the sum of counters.
func summed(s *bun.SelectQuery) *bun.SelectQuery {
	return s.ColumnExpr("coalesce(sum(reviews), 0)::bigint")
}

// countersOf selects the counters of a workflow and a cause, before the day of
// q.SinceBefore.
func countersOf(tx bun.IDB, t verification.TenantID, q verification.QueueQuery) *bun.SelectQuery {
	s := ofQueue(tx.NewSelect().TableExpr("verifyd.review_counts"), t, q, "is_first")
	if !q.SinceBefore.IsZero() {
		s = s.Where("day < ?", q.SinceBefore.UTC().Format(time.DateOnly))
	}
	return s
}

// statsQuery selects the statistics of a queue but for the oldest entry. The counters of
// each day are added up once.
func statsQuery(tx bun.IDB, t verification.TenantID, q verification.QueueQuery, since []time.Time) *bun.SelectQuery {
	days := countersOf(tx, t, q).Column("day").ColumnExpr("sum(reviews) AS reviews").Group("day")
	s := tx.NewSelect().WithQuery(bun.NewWithQuery("days", days).Materialized()).
		ColumnExpr("(?) AS open", queueSum(tx, t, q, summed(tx.NewSelect().TableExpr("days")))).
		ColumnExpr("greatest(0, (?)) AS overdue", overdueTotal(tx, t, q))
	var counts []string
	var terms []any // nil without counts: bun warns of arguments without placeholders
	for _, at := range since {
		q.SinceBefore = at
		before := tx.NewSelect().TableExpr("days").Where("day < ?", q.SinceBefore.UTC().Format(time.DateOnly))
		counts, terms = append(counts, "(?)"), append(terms, queueSum(tx, t, q, summed(before)))
	}
	return s.ColumnExpr("ARRAY["+strings.Join(counts, ", ")+"]::bigint[] AS since", terms...)
}

// QueueStats returns the statistics of the queue of a tenant, or of all tenants.
func (s *Store) QueueStats(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, now time.Time, since ...time.Time,
) (f verification.QueueStats, err error) {
	f.SinceCounts = make([]int, len(since))
	tenants := string(t)
	if t == "" {
		tenants = everyTenant
	} else if !areUUIDs(t) {
		return f, nil
	}
	if w != "" && !areUUIDs(w) {
		return f, nil
	}
	q := verification.QueueQuery{Now: now, Workflow: w}
	var oldest pgtype.Timestamptz
	err = s.transact(ctx, tenants, snapshot(), func(ctx context.Context, tx bun.Tx) error {
		err := statsQuery(tx, t, q, since).Scan(ctx, &f.Open, &f.Overdue, pgdialect.Array(&f.SinceCounts))
		if err != nil || t == "" {
			return err
		}
		return unended(reviewsOf(tx, t, q), now).ColumnExpr("min(since)").Scan(ctx, &oldest)
	})
	f.Oldest = utc(oldest.Time)
	return f, translate("read the statistics of the review queue", err)
}

// SaveClaim stores a claim of a run in the review queue.
func (s *Store) SaveClaim(
	ctx context.Context, t verification.TenantID, run verification.RunID, c verification.Claim, takeOver bool,
) (verification.Claim, error) {
	if !areUUIDs(string(t), string(run)) {
		return verification.Claim{}, verification.NotFound("review")
	}
	if !storable(c.By, c.Name) {
		return verification.Claim{}, notStorable("claim")
	}
	// All rows of the run follow the first.
	entry := s.db.NewSelect().Model((*reviewRow)(nil)).Column("claimed_by", "claimed_name", "claimed_at", "claim_until").
		Where("tenant_id = ?", t).Where("run_id = ?", run).Where("n = 1")
	stored := s.db.NewUpdate().Model((*reviewRow)(nil)).TableExpr("entry AS e").
		Set("claimed_at = CASE WHEN e.claimed_by = ? AND e.claim_until > ? THEN e.claimed_at ELSE ? END", c.By, c.At, c.At).
		Set("claimed_by = ?", c.By).Set("claimed_name = ?", c.Name).Set("claim_until = ?", c.Until).
		Where("v.tenant_id = ?", t).Where("v.run_id = ?", run).
		Where("? OR e.claimed_by IN ('', ?) OR e.claim_until <= ?", takeOver, c.By, c.At).
		Returning("v.n, v.claimed_by, v.claimed_name, v.claimed_at, v.claim_until")
	type claimed struct {
		reviewRow
		Stored bool
	}
	save := s.db.NewSelect().With("entry", entry).With("stored", stored).
		TableExpr("entry AS e").Join("LEFT JOIN stored AS s ON s.n = 1").ColumnExpr("s.claimed_by IS NOT NULL AS stored").
		ColumnExpr("coalesce(s.claimed_by, e.claimed_by) AS claimed_by").ColumnExpr("coalesce(s.claimed_name, e.claimed_name) AS claimed_name").
		ColumnExpr("coalesce(s.claimed_at, e.claimed_at) AS claimed_at").ColumnExpr("coalesce(s.claim_until, e.claim_until) AS claim_until").String()
	var found claimed
	err := s.lockedReview(ctx, t, run, func(b *pgx.Batch) {
		b.Queue(save).Query(func(rows pgx.Rows) (err error) {
			found, err = pgx.CollectOneRow(rows, pgx.RowToStructByNameLax[claimed])
			return err
		})
	})
	switch {
	case isMissing(err):
		return verification.Claim{}, verification.NotFound("review")
	case err != nil:
		return verification.Claim{}, translate("claim run "+string(run), err)
	case !found.Stored:
		return found.claim(), verification.ClaimHeld()
	}
	return found.claim(), nil
}

// ReleaseClaim removes the claim of a person.
func (s *Store) ReleaseClaim(ctx context.Context, t verification.TenantID, run verification.RunID, by string) error {
	if !areUUIDs(string(t), string(run)) || !storable(by) {
		return nil
	}
	release := s.db.NewUpdate().Model((*reviewRow)(nil)).Set("claimed_by = ''").Set("claim_until = NULL").
		Where("tenant_id = ?", t).Where("run_id = ?", run).Where("claimed_by <> ''").Where("claimed_by = ?", by)
	err := s.lockedReview(ctx, t, run, func(b *pgx.Batch) { b.Queue(release.String()) })
	return translate("release the claim of run "+string(run), err)
}

// lockedReview sends statements that change the claim of a run, after the lock of its
// entry: see deleteReview. They are separate statements, so that they see what another
// transaction changed before it released the lock.
func (s *Store) lockedReview(ctx context.Context, t verification.TenantID, run verification.RunID, queue func(*pgx.Batch)) error {
	const lock = "SELECT FROM verifyd.reviews WHERE tenant_id = $1 AND run_id = $2 AND n = 1 FOR UPDATE"
	return s.querier().batch(ctx, string(t), func(b *pgx.Batch) error {
		b.Queue(lock, string(t), string(run))
		queue(b)
		return nil
	})
}
