package storetest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

// Short names for what the methods of the ports take and give.
type (
	tenantID = verification.TenantID
	runID    = verification.RunID
	runRef   = verification.RunRef
	summary  = verification.Summary
	event    = verification.Event
	record   = verification.IdempotencyRecord
	work     = verification.Work
)

// broken is a sound store but for the methods that are set.
type broken struct {
	storetest.Store
	load         func(context.Context, tenantID, runID, int) ([]event, error)
	append       func(context.Context, tenantID, runID, int, verification.Commit) error
	list         func(context.Context, tenantID, verification.RunQuery) (verification.Page[summary], error)
	overdue      func(context.Context, time.Time, int) ([]runRef, time.Time, error)
	take         func(context.Context, verification.TakeRequest) ([]work, time.Time, error)
	renew        func(context.Context, []runRef, time.Time) error
	finish       func(context.Context, work) error
	postpone     func(context.Context, work, time.Time) error
	release      func(context.Context, []work, time.Time) error
	workflow     func(context.Context, tenantID, verification.WorkflowID) (verification.Workflow, error)
	workflows    func(context.Context, tenantID, verification.PageQuery) (verification.Page[verification.Workflow], error)
	version      func(context.Context, tenantID, verification.WorkflowID, string) (verification.Version, error)
	versions     func(context.Context, tenantID, verification.WorkflowID, verification.PageQuery) (verification.Page[verification.VersionInfo], error)
	saveWorkflow func(context.Context, tenantID, verification.Workflow, *verification.Version) error
	tenant       func(context.Context, tenantID) (verification.Tenant, error)
	saveTenant   func(context.Context, verification.Tenant) error
	account      func(context.Context, string) (verification.Account, error)
	saveAccount  func(context.Context, verification.Account) error
	record       func(context.Context, tenantID, verification.IdempotencyKey, time.Time) (record, error)
	claimKey     func(context.Context, tenantID, record) (record, error)
	settleKey    func(context.Context, tenantID, record) error
	releaseKey   func(context.Context, tenantID, record) error
	saveDelivery func(context.Context, tenantID, verification.Delivery) error
	delivery     func(context.Context, tenantID, runID) (verification.Delivery, error)
	deliveries   func(context.Context, tenantID, verification.DeliveryState, verification.PageQuery) (verification.Page[verification.Delivery], error)
}

// when breaks a store by setting methods of it.
func when(change func(b *broken, sound storetest.Store)) func(storetest.Store) storetest.Store {
	return func(s storetest.Store) storetest.Store {
		b := &broken{
			Store: s,
			load:  s.Load, append: s.Append, list: s.List, overdue: s.Overdue,
			take: s.Take, renew: s.Renew, finish: s.Finish, postpone: s.Postpone, release: s.Release,
			workflow: s.Workflow, workflows: s.Workflows, version: s.Version, versions: s.Versions, saveWorkflow: s.SaveWorkflow,
			tenant: s.Tenant, saveTenant: s.SaveTenant, account: s.Account, saveAccount: s.SaveAccount,
			record: s.IdempotencyRecord, claimKey: s.ClaimIdempotencyKey,
			settleKey: s.SettleIdempotencyKey, releaseKey: s.ReleaseIdempotencyKey,
			saveDelivery: s.SaveDelivery, delivery: s.Delivery, deliveries: s.Deliveries,
		}
		change(b, s)
		return b
	}
}

func (b *broken) Load(ctx context.Context, t tenantID, id runID, after int) ([]event, error) {
	return b.load(ctx, t, id, after)
}

func (b *broken) Append(ctx context.Context, t tenantID, id runID, seq int, a verification.Commit) error {
	return b.append(ctx, t, id, seq, a)
}

func (b *broken) List(ctx context.Context, t tenantID, q verification.RunQuery) (verification.Page[summary], error) {
	return b.list(ctx, t, q)
}

func (b *broken) Overdue(ctx context.Context, now time.Time, most int) ([]runRef, time.Time, error) {
	return b.overdue(ctx, now, most)
}

func (b *broken) Take(ctx context.Context, r verification.TakeRequest) ([]work, time.Time, error) {
	return b.take(ctx, r)
}

func (b *broken) Renew(ctx context.Context, runs []runRef, until time.Time) error {
	return b.renew(ctx, runs, until)
}

func (b *broken) Finish(ctx context.Context, w work) error { return b.finish(ctx, w) }

func (b *broken) Postpone(ctx context.Context, w work, at time.Time) error {
	return b.postpone(ctx, w, at)
}

func (b *broken) Release(ctx context.Context, released []work, at time.Time) error {
	return b.release(ctx, released, at)
}

func (b *broken) Workflow(ctx context.Context, t tenantID, id verification.WorkflowID) (verification.Workflow, error) {
	return b.workflow(ctx, t, id)
}

func (b *broken) Workflows(ctx context.Context, t tenantID, p verification.PageQuery) (verification.Page[verification.Workflow], error) {
	return b.workflows(ctx, t, p)
}

func (b *broken) Version(ctx context.Context, t tenantID, id verification.WorkflowID, hash string) (verification.Version, error) {
	return b.version(ctx, t, id, hash)
}

func (b *broken) Versions(
	ctx context.Context, t tenantID, id verification.WorkflowID, p verification.PageQuery,
) (verification.Page[verification.VersionInfo], error) {
	return b.versions(ctx, t, id, p)
}

func (b *broken) SaveWorkflow(ctx context.Context, t tenantID, w verification.Workflow, added *verification.Version) error {
	return b.saveWorkflow(ctx, t, w, added)
}

func (b *broken) Tenant(ctx context.Context, id tenantID) (verification.Tenant, error) {
	return b.tenant(ctx, id)
}

func (b *broken) SaveTenant(ctx context.Context, t verification.Tenant) error {
	return b.saveTenant(ctx, t)
}

func (b *broken) Account(ctx context.Context, clientID string) (verification.Account, error) {
	return b.account(ctx, clientID)
}

func (b *broken) SaveAccount(ctx context.Context, a verification.Account) error {
	return b.saveAccount(ctx, a)
}

func (b *broken) IdempotencyRecord(ctx context.Context, t tenantID, k verification.IdempotencyKey, now time.Time) (record, error) {
	return b.record(ctx, t, k, now)
}

func (b *broken) ClaimIdempotencyKey(ctx context.Context, t tenantID, r record) (record, error) {
	return b.claimKey(ctx, t, r)
}

func (b *broken) SettleIdempotencyKey(ctx context.Context, t tenantID, r record) error {
	return b.settleKey(ctx, t, r)
}

func (b *broken) ReleaseIdempotencyKey(ctx context.Context, t tenantID, r record) error {
	return b.releaseKey(ctx, t, r)
}

func (b *broken) SaveDelivery(ctx context.Context, t tenantID, d verification.Delivery) error {
	return b.saveDelivery(ctx, t, d)
}

func (b *broken) Delivery(ctx context.Context, t tenantID, run runID) (verification.Delivery, error) {
	return b.delivery(ctx, t, run)
}

func (b *broken) Deliveries(ctx context.Context, t tenantID, state verification.DeliveryState, p verification.PageQuery) (verification.Page[verification.Delivery], error) {
	return b.deliveries(ctx, t, state, p)
}

// memo is what a broken store remembers beside the sound one.
type memo[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]V
}

func (m *memo[K, V]) get(k K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.of[k]
	return v, ok
}

func (m *memo[K, V]) set(k K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[K]V{}
	}
	m.of[k] = v
}

func (m *memo[K, V]) keys() []K {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []K
	for k := range m.of {
		all = append(all, k)
	}
	return all
}

// requeue changes the advance of a run behind everybody's back; zero removes it.
func requeue(ctx context.Context, s storetest.Store, run runRef, at time.Time) error {
	history, err := s.Load(ctx, run.Tenant, run.Run, 0)
	if errors.Is(err, verification.ErrNotFound) {
		return nil // there is nothing to break
	}
	if err != nil {
		return err
	}
	a := verification.Commit{Summary: verification.Fold(run.Run, history).Summary(), AdvanceAt: at}
	return s.Append(ctx, run.Tenant, run.Run, len(history), a)
}
