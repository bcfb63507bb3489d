// The review queue, which is a list of runs, and its claims.

package postgres

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// shownReview is the JSON of the column "review".
type shownReview struct {
	WorkflowName string              `json:"workflow_name"`
	Subject      string              `json:"subject,omitempty"`
	Differing    []rules.Differing   `json:"differing,omitempty"`
	Concerns     []rules.Concern     `json:"concerns"`
	MoreConcerns int                 `json:"more_concerns,omitempty"`
	Proposed     rules.Decision      `json:"proposed,omitempty"`
	ProposedBy   verification.Person `json:"proposed_by,omitzero"`
	Assignment   rules.Assignment    `json:"assignment,omitzero"`
	Before       rules.Rejections    `json:"rejected_before,omitzero"`
	Round        int                 `json:"round,omitzero"`
	CountedFrom  time.Time           `json:"counted_from,omitzero"`
}

// reviewArgs are the columns of the review of a run; null and empty if it has none.
type reviewArgs struct {
	since, due, until pgtype.Timestamptz
	causes, shown     string // causes are separated by commas
	assignee          string // its Key
}

func newReviewArgs(s rules.Summary) (r reviewArgs, err error) {
	v := s.Review
	if v == nil {
		return r, nil
	}
	r = reviewArgs{since: orNull(v.Since), due: orInfinity(v.DueAt), until: orNull(s.ReviewUntil()), assignee: v.Assignment.To.Key()}
	causes := make([]string, len(v.Causes))
	for i, c := range v.Causes {
		causes[i] = string(c)
	}
	r.causes = strings.Join(causes, ",")
	raw, err := json.Marshal(shownReview{v.WorkflowName, v.Subject, v.Differing, v.Concerns, v.MoreConcerns, v.Proposed, v.ProposedBy, v.Assignment, v.Rejections, v.Round, v.CountedFrom})
	r.shown = string(raw)
	return r, err
}

// orInfinity returns infinity for the zero time.
func orInfinity(t time.Time) pgtype.Timestamptz {
	if t.IsZero() {
		return pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	}
	return orNull(t)
}

// queueRow is a row of verifyd.runs with its review and its claim, each null if there is none.
type queueRow struct {
	runRow
	ReviewSince pgtype.Timestamptz
	ReviewDue   pgtype.Timestamptz
	Causes      []rules.Cause
	Review      string
	ClaimedBy   pgtype.Text
	Name        pgtype.Text
	ClaimedAt   pgtype.Timestamptz
	Until       pgtype.Timestamptz
}

// summary returns the summary of the row.
func (r queueRow) summary() (rules.Summary, error) {
	s, err := r.runRow.summary()
	if err != nil || !r.ReviewSince.Valid {
		return s, err
	}
	var shown shownReview
	if err := json.Unmarshal([]byte(r.Review), &shown); err != nil {
		return s, err
	}
	v := rules.Review{
		WorkflowName: shown.WorkflowName, Subject: shown.Subject, Differing: shown.Differing, Since: r.ReviewSince.Time.UTC(), DueAt: utc(r.ReviewDue.Time),
		Concerns: shown.Concerns, MoreConcerns: shown.MoreConcerns, Causes: r.Causes, Proposed: shown.Proposed, ProposedBy: shown.ProposedBy,
		Assignment: shown.Assignment, Rejections: shown.Before, Round: shown.Round, CountedFrom: shown.CountedFrom,
	}
	if r.ClaimedBy.Valid {
		v.Claim = rules.Claim{By: r.ClaimedBy.String, Name: r.Name.String, At: r.ClaimedAt.Time.UTC(), Until: r.Until.Time.UTC()}
	}
	s.Review = &v
	return s, nil
}

// CountQueues returns how many runs of all tenants need a verdict at a time, in a partial index.
func (s *Store) CountQueues(ctx context.Context, at, dueBefore time.Time) (n int, err error) {
	count := countQueues(s.db, at, dueBefore)
	err = s.listing(ctx, "", 0, func(ctx context.Context) error {
		return s.querier().batch(ctx, everyTenant, func(b *pgx.Batch) error {
			b.Queue(count.String()).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
			return nil
		})
	})
	return n, pgerror.Translate("count the review queues", err)
}

// queue returns one page of a list of the review queue as of q.Now. Its total is counted in a
// partial index.
func (s *Store) queue(ctx context.Context, t verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error) {
	p := store.Page[rules.Summary]{PageQuery: q.PageQuery}
	none := q.Decision != rules.DecisionNone && q.Decision != rules.DecisionReview
	if none || !areUUIDs(t) || q.Run != "" && !areUUIDs(q.Run) || !storable(q.ClaimedBy) || !storable(q.AssignedTo...) {
		return p, nil
	}
	err := s.listing(ctx, t, q.Offset, func(ctx context.Context) error {
		return s.querier().batch(ctx, string(t), func(b *pgx.Batch) error {
			b.Queue(inQueue(s.db, t, q).ColumnExpr("count(*)").String()).QueryRow(func(row pgx.Row) error { return row.Scan(&p.Total) })
			if q.Limit < 1 {
				return nil
			}
			b.Queue(queuePage(s.db, t, q).String()).Query(func(rows pgx.Rows) (err error) {
				p.Data, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (rules.Summary, error) {
					r, err := pgx.RowToStructByNameLax[queueRow](row)
					if err != nil {
						return rules.Summary{}, err
					}
					return r.summary()
				})
				return err
			})
			return nil
		})
	})
	return p, pgerror.Translate("list the review queue", err)
}

// queuePage selects the rows of a page.
func queuePage(db *bun.DB, t verification.TenantID, q store.RunQuery) *bun.SelectQuery {
	s := inQueue(db, t, q).ColumnExpr(runColumns + ", r.review_since, r.review_due, r.causes, r.review").
		ColumnExpr("c.claimed_by, c.name, c.claimed_at, c.until")
	if q.ClaimedBy == "" && !q.Unclaimed {
		s = withClaims(s, "LEFT", q)
	}
	switch q.Order {
	case store.NewestFirst:
		s = s.OrderExpr("r.started_at DESC, r.id DESC")
	case store.OldestFirst:
		s = s.OrderExpr("r.review_since, r.id")
		if a := q.After; a != nil {
			s = s.Where("(r.review_since, r.id) > (?, ?)", a.Since, a.Run)
		}
	case store.DueFirst:
		s = s.OrderExpr("r.review_due, r.review_since, r.id")
		if a := q.After; a != nil {
			due := any("infinity")
			if !a.DueAt.IsZero() {
				due = a.DueAt
			}
			s = s.Where("(r.review_due, r.review_since, r.id) > (?, ?, ?)", due, a.Since, a.Run)
		}
	}
	return s.Offset(int64(q.Offset)).Limit(int64(q.Limit))
}

// withClaims joins the claims that are held.
func withClaims(s *bun.SelectQuery, join string, q store.RunQuery) *bun.SelectQuery {
	return s.Join(join+" JOIN verifyd.claims AS c ON c.tenant_id = r.tenant_id AND c.run_id = r.id AND c.since = r.review_since AND c.until > ?", q.Now)
}

func countQueues(db *bun.DB, at, dueBefore time.Time) *bun.SelectQuery {
	s := inReview(db, at).ColumnExpr("count(*)")
	if !dueBefore.IsZero() {
		s = s.Where("r.review_due < ?", dueBefore)
	}
	return s
}

// inReview selects the runs of all tenants that need a verdict at a time.
func inReview(db *bun.DB, at time.Time) *bun.SelectQuery {
	return db.NewSelect().Model((*runRow)(nil)).
		Where("r.review_since IS NOT NULL").Where("r.review_until IS NULL OR r.review_until >= ?", at)
}

// inQueue selects the runs in the review queue of a tenant that match the query.
func inQueue(db *bun.DB, t verification.TenantID, q store.RunQuery) *bun.SelectQuery {
	s := inReview(db, q.Now).Where("r.tenant_id = ?", t)
	rest := q
	rest.Status, rest.Decision = "", rules.DecisionNone
	s = withKeys(matching(s, rest), t, q.Keys)
	if q.Status == rules.StatusInProgress { // no live run in the queue has another status
		s = s.Where("r.ended = ''")
	} else if q.Status != "" {
		s = s.Where("r.ended = ?", q.Status)
	}
	if q.Run != "" {
		s = s.Where("r.id = ?", q.Run)
	}
	if q.Cause != "" {
		s = s.Where("? = ANY (r.causes)", q.Cause)
	}
	if !q.SinceBefore.IsZero() {
		s = s.Where("r.review_since <= ?", q.SinceBefore)
	}
	if !q.DueBefore.IsZero() {
		s = s.Where("r.review_due < ?", q.DueBefore)
	}
	if q.AssignedTo != nil {
		s = s.Where("r.assignee = ANY (?)", pgdialect.Array(q.AssignedTo))
	}
	switch {
	case q.ClaimedBy != "":
		s = withClaims(s, "", q).Where("c.claimed_by = ?", q.ClaimedBy)
		if q.Unclaimed {
			s = s.Where("false")
		}
	case q.Unclaimed:
		s = withClaims(s, "LEFT", q).Where("c.run_id IS NULL")
	}
	return s
}

// saveClaim stores a claim of the review that a run has, unless another person holds one.
// readClaim selects whether the run has a review, and its claim.
const (
	saveClaim = `
INSERT INTO verifyd.claims AS c (tenant_id, run_id, since, claimed_by, name, claimed_at, until)
SELECT r.tenant_id, r.id, r.review_since, $3, $4, $5, $6 FROM verifyd.runs r
WHERE r.tenant_id = $1 AND r.id = $2 AND r.review_since IS NOT NULL
ON CONFLICT (tenant_id, run_id) DO UPDATE SET since = excluded.since, claimed_by = excluded.claimed_by, name = excluded.name,
    claimed_at = CASE WHEN c.since = excluded.since AND c.until > excluded.claimed_at THEN c.claimed_at ELSE excluded.claimed_at END,
    until = excluded.until
WHERE c.since <> excluded.since OR c.claimed_by = excluded.claimed_by OR c.until <= excluded.claimed_at`

	readClaim = `
SELECT c.claimed_by, c.name, c.claimed_at, c.until FROM verifyd.runs r
LEFT JOIN verifyd.claims c ON c.tenant_id = r.tenant_id AND c.run_id = r.id AND c.since = r.review_since
WHERE r.tenant_id = $1 AND r.id = $2 AND r.review_since IS NOT NULL`
)

// Claim stores a claim of a run in the review queue, unless another person holds one.
func (s *Store) Claim(
	ctx context.Context, t verification.TenantID, id verification.RunID, c rules.Claim,
) (rules.Claim, error) {
	tenant, run, err := keyOf(verification.RunRef{Tenant: t, Run: id})
	if err != nil {
		return rules.Claim{}, verification.NotFound("review")
	}
	if !storable(c.By, c.Name) {
		return rules.Claim{}, notStorable("claim")
	}
	var by, name pgtype.Text
	var at, until pgtype.Timestamptz
	stored := false
	err = s.querier().batch(ctx, string(t), func(b *pgx.Batch) error {
		b.Queue(saveClaim, tenant, run, c.By, c.Name, c.At, c.Until).Exec(func(done pgconn.CommandTag) error {
			stored = done.RowsAffected() > 0
			return nil
		})
		b.Queue(readClaim, tenant, run).QueryRow(func(row pgx.Row) error { return row.Scan(&by, &name, &at, &until) })
		return nil
	})
	held := rules.Claim{By: by.String, Name: name.String, At: utc(at.Time), Until: utc(until.Time)}
	switch {
	case isMissing(err):
		return rules.Claim{}, verification.NotFound("review")
	case err == nil && !stored:
		return held, rules.ClaimHeld()
	}
	return held, pgerror.Translate("claim run "+string(id), err)
}
