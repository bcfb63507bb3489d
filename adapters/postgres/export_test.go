package postgres

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Refresh refreshes the stale rows of a tenant.
func (s *Store) Refresh(ctx context.Context, t verification.TenantID, now time.Time) error {
	_, err := s.refresh(ctx, t, now)
	return err
}

// TakeWork is the statement of Take.
const TakeWork = takeWork

// SetTenantHot is the statement before it.
const SetTenantHot = setTenantHot

// ListQueries returns the statements of List by name.
func (s *Store) ListQueries(t verification.TenantID, q store.RunQuery) map[string]string {
	texts := map[string]string{}
	for name, query := range map[string]*bun.SelectQuery{
		"stale":         staleQuery(s.db, t, q),
		"total":         totalQuery(s.db, t, q),
		"seek":          seekQuery(s.db, t, q, 100, true, true),
		"seek from end": seekQuery(s.db, t, q, 100, false, true),
		"page":          pageQuery(s.db, t, q, nil, q.Limit, true),
		"month":         monthAt(s.db, t, q, 10_000),
		"day":           dayAt(s.db, t, q, "2026-01-01", 10_000),
		"page from":     pageQuery(s.db, t, q, &rules.Summary{StartedAt: q.Now, ID: "d0000000-0000-7000-8000-000000000001"}, q.Limit, true),
	} {
		texts[name] = query.String()
	}
	return texts
}

// QueueQueries returns the statements of a list of the review queue by name.
func (s *Store) QueueQueries(t verification.TenantID, q store.RunQuery) map[string]string {
	return map[string]string{
		"total": inQueue(s.db, t, q).ColumnExpr("count(*)").String(), "page": queuePage(s.db, t, q).String(),
	}
}

// CountQueuesQuery returns the statement of CountQueues.
func (s *Store) CountQueuesQuery(at, dueBefore time.Time) string {
	return countQueues(s.db, at, dueBefore).String()
}

// SearchStatements returns the statements of a list by search keys only, by name.
func SearchStatements(t verification.TenantID, q store.RunQuery) map[string]Statement {
	total, page, args := searchTexts(t, q)
	return map[string]Statement{"total": {total, args}, "page": {page, append(args[:len(args):len(args)], q.Limit, q.Offset)}}
}

// SeekFrom is the offset from which counters find the day of a row.
const SeekFrom = seekFrom

// Statement is a statement and its arguments.
type Statement struct {
	Text string
	Args []any
}

// MeasureStatement returns the statement of Measures.
func MeasureStatement(t verification.TenantID, q store.MeasureQuery) Statement {
	return Statement{readMeasures, measureArguments(t, q)}
}

// MaxPrefixed is how many rows of a search are counted one by one.
const MaxPrefixed = maxPrefixed

// DeepOffset is the offset from which a list is deep.
const DeepOffset = deepOffset

// AcquireList returns how a list acquires its slots on a host of so many
// connections. No slot is released.
func AcquireList(conns int) func(context.Context, verification.TenantID, int) error {
	l := newListSlots(conns)
	return func(ctx context.Context, t verification.TenantID, offset int) error {
		_, err := l.acquire(ctx, t, offset)
		return err
	}
}

// Tenanted executes a statement as a tenant.
func (s *Store) Tenanted(ctx context.Context, t verification.TenantID, statement string, args ...any) error {
	return s.write(ctx, t, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw(statement, args...).Exec(ctx)
		return err
	})
}

// SelectAccount is the statement that finds an account.
const SelectAccount = selectAccount

// WorkStatements are the statements that change known pieces of work. Each takes a
// tenant, a run and other arguments.
func WorkStatements() map[string]string {
	return map[string]string{"renew": renewWork, "release": releaseWork, "finish": finishWork, "postpone": postponeWork}
}

// AppendStatements are the prepared statements of appends by name.
func AppendStatements() map[string]string {
	all := statements("")
	for _, other := range []string{stmtTenant, stmtTenantHot, stmtTenantList, stmtLoad, stmtAccount, stmtTake, stmtDueAfter, stmtMeasures} {
		delete(all, other)
	}
	return all
}

// ForgetKeys removes records without the rest of maintenance.
func (s *Store) ForgetKeys(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.forgetKeys(ctx, before, limit)
}

// AppendTogether appends to several runs of a tenant as one group.
func (s *Store) AppendTogether(t verification.TenantID, ids []verification.RunID, seqs []int, commits []store.Commit) (int, error) {
	group := make([]*pendingAppend, len(ids))
	for i := range ids {
		var err error
		if group[i], err = newPendingAppend(t, ids[i], seqs[i], commits[i]); err != nil {
			return 0, err
		}
	}
	appended, err := s.commitTogether(group)
	return len(appended), err
}

// ForgetStatements returns the statements of Forget by the index that each uses.
func ForgetStatements(before time.Time) map[string]Statement {
	day := int(store.DayOf(before, time.UTC))
	return map[string]Statement{
		"deliveries_by_state": {forgetDeliveries, []any{before, 1000}}, "idempotency_keys_claimed_at": {forgetKeys, []any{before, 1000}},
		"measures_by_day": {forgetMeasures, []any{day, 1000}},
	}
}

// StartedStatement returns the statement of StartedRuns.
func StartedStatement(t verification.TenantID, w verification.WorkflowID, after store.StartedPosition, before time.Time) Statement {
	args, err := startedArgs(t, w, after, before, store.MaxLimit)
	if err != nil {
		panic(err)
	}
	return Statement{startedRuns(), args}
}
