package journal_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/view"
)

func openIn(t testing.TB, dir string, o journal.Options) *journal.Store {
	t.Helper()
	s, err := journal.Open(context.WithoutCancel(t.Context()), dir, o) // also in a cleanup
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // most tests have closed it
	return s
}

func closed(t testing.TB, s *journal.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// names has what the calls of a store named, so that all of it can be read.
type names struct {
	mu        sync.Mutex
	tenants   map[verification.TenantID]bool
	runs      map[verification.RunRef]bool
	pieces    map[piece]bool
	renewed   map[verification.RunRef]bool
	keys      map[store.SearchKey]bool
	requests  map[request]bool
	workflows map[workflowOf]map[string]bool // the hashes of their versions
	accounts  map[string]bool
	notices   map[noticeOf]bool
	latest    time.Time
}

type (
	request struct {
		tenant verification.TenantID
		key    store.IdempotencyKey
	}
	workflowOf struct {
		tenant verification.TenantID
		id     verification.WorkflowID
	}
	piece struct {
		run verification.RunRef
		key store.WorkKey
	}
	noticeOf struct {
		tenant verification.TenantID
		ref    verification.NoticeRef
	}
)

func newNames() *names {
	return &names{
		tenants: map[verification.TenantID]bool{}, runs: map[verification.RunRef]bool{}, pieces: map[piece]bool{},
		renewed: map[verification.RunRef]bool{},
		keys:    map[store.SearchKey]bool{}, requests: map[request]bool{}, workflows: map[workflowOf]map[string]bool{},
		accounts: map[string]bool{}, notices: map[noticeOf]bool{},
	}
}

// noted is a store that notes names.
type noted struct {
	store.Store
	*names
}

func (n noted) note(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

func (n noted) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	n.note(func() {
		ref := verification.RunRef{Tenant: t, Run: id}
		n.tenants[t], n.runs[ref] = true, true
		for key := range c.Work {
			n.pieces[piece{ref, key}] = true
		}
		for _, l := range c.Screened {
			n.pieces[piece{ref, store.WorkKey{Kind: store.RescreenWork(l.List)}}] = true
		}
		for _, k := range c.Keys {
			n.keys[k] = true
		}
		for _, e := range c.Events {
			if e.At.After(n.latest) {
				n.latest = e.At
			}
		}
	})
	return n.Store.Append(ctx, t, id, seq, c)
}

func (n noted) Renew(ctx context.Context, runs []verification.RunRef, until time.Time) error {
	n.note(func() {
		for _, ref := range runs {
			n.renewed[ref] = true
		}
	})
	return n.Store.Renew(ctx, runs, until)
}

func (n noted) SaveWorkflow(ctx context.Context, t verification.TenantID, w verification.Workflow, v *verification.Version) error {
	n.note(func() {
		of := workflowOf{t, w.ID}
		n.tenants[t] = true
		if n.workflows[of] == nil {
			n.workflows[of] = map[string]bool{}
		}
		if v != nil {
			n.workflows[of][v.Hash] = true
		}
	})
	return n.Store.SaveWorkflow(ctx, t, w, v)
}

func (n noted) SaveTenant(ctx context.Context, t verification.Tenant) error {
	n.note(func() { n.tenants[t.ID] = true })
	return n.Store.SaveTenant(ctx, t)
}

func (n noted) SaveAccount(ctx context.Context, a verification.Account) error {
	n.note(func() { n.tenants[a.Tenant], n.accounts[a.ClientID] = true, true })
	return n.Store.SaveAccount(ctx, a)
}

func (n noted) ClaimIdempotencyKey(ctx context.Context, t verification.TenantID, r store.IdempotencyRecord) (store.IdempotencyRecord, error) {
	n.note(func() {
		n.requests[request{t, r.IdempotencyKey}] = true
		if r.At.After(n.latest) {
			n.latest = r.At
		}
	})
	return n.Store.ClaimIdempotencyKey(ctx, t, r)
}

func (n noted) SaveDelivery(ctx context.Context, t verification.TenantID, d verification.Delivery) error {
	n.note(func() { n.tenants[t], n.notices[noticeOf{t, d.Ref()}] = true, true })
	return n.Store.SaveDelivery(ctx, t, d)
}

// read returns the result of every read of the named, by a text that describes the read, and
// the state of all work in m.
func (n *names) read(ctx context.Context, s store.Store, m *memory.Store) (map[string]any, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all, failed := map[string]any{}, []error(nil)
	add := func(result any, err error, format string, args ...any) {
		call := fmt.Sprintf(format, args...)
		if errors.Is(err, verification.ErrNotFound) {
			result, err = "not found", nil
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", call, err))
		}
		all[call] = result
	}
	page := store.PageQuery{Limit: store.MaxLimit}
	for ref := range n.runs {
		events, err := s.Load(ctx, ref.Tenant, ref.Run, 0)
		add(events, err, "Load(%s, %s)", ref.Tenant, ref.Run)
	}
	for t := range n.tenants {
		n.readLists(ctx, s, t, add)
		found, err := s.Tenant(ctx, t)
		add(found, err, "Tenant(%s)", t)
		logo, err := s.Logo(ctx, t)
		add(logo, err, "Logo(%s)", t)
		accounts, err := s.Accounts(ctx, t)
		add(accounts, err, "Accounts(%s)", t)
		workflows, err := s.Workflows(ctx, t, page)
		add(workflows, err, "Workflows(%s)", t)
		for _, state := range []verification.DeliveryState{"", verification.DeliveryPending, verification.DeliveryDelivered, verification.DeliveryFailed} {
			deliveries, err := s.Deliveries(ctx, t, state, page)
			add(deliveries, err, "Deliveries(%s, %s)", t, state)
		}
	}
	for w, hashes := range n.workflows {
		found, err := s.Workflow(ctx, w.tenant, w.id)
		add(found, err, "Workflow(%s, %s)", w.tenant, w.id)
		versions, err := s.Versions(ctx, w.tenant, w.id, page)
		add(versions, err, "Versions(%s, %s)", w.tenant, w.id)
		for hash := range hashes {
			version, err := s.Version(ctx, w.tenant, w.id, hash)
			add(version, err, "Version(%s, %s, %s)", w.tenant, w.id, hash)
		}
	}
	for id := range n.accounts {
		account, err := s.Account(ctx, id)
		add(account, err, "Account(%s)", id)
	}
	for r := range n.requests {
		record, err := s.IdempotencyRecord(ctx, r.tenant, r.key, n.latest)
		add(record, err, "IdempotencyRecord(%s, %+v)", r.tenant, r.key)
	}
	for d := range n.notices {
		delivery, err := s.Delivery(ctx, d.tenant, d.ref)
		add(delivery, err, "Delivery(%s, %+v)", d.tenant, d.ref)
	}
	tenants, err := s.Tenants(ctx)
	add(tenants, err, "Tenants()")
	passes, err := s.RescreenPasses(ctx)
	for i := range passes {
		passes[i].HeldUntil = time.Time{} // extensions are not kept
	}
	add(passes, err, "RescreenPasses()")
	for p := range n.pieces {
		state := m.Piece(p.run, p.key)
		if !state.Taken && n.renewed[p.run] && p.key.Kind == store.WorkAdvance {
			state.Due = time.Time{} // the end of the lease
		}
		add(state, nil, "Piece(%+v)", p)
	}
	return all, errors.Join(failed...)
}

// readLists reads the lists of a tenant: of runs, of the review queue, and of measures.
func (n *names) readLists(ctx context.Context, s store.Store, t verification.TenantID, add func(any, error, string, ...any)) {
	queries := []store.RunQuery{{}, {Order: store.OldestFirst}, {Order: store.DueFirst}}
	for k := range n.keys {
		queries = append(queries, store.RunQuery{Keys: []store.SearchKey{k}})
	}
	for _, q := range queries {
		for _, now := range []time.Time{n.latest, n.latest.Add(10 * time.Minute), n.latest.Add(1000 * time.Hour)} {
			q.Now = now
			for q.Limit, q.Offset = store.MaxLimit, 0; ; q.Offset += q.Limit {
				p, err := s.List(ctx, t, q)
				add(p, err, "List(%s, %+v)", t, q)
				if err != nil || q.Offset+q.Limit >= p.Total {
					break
				}
			}
		}
	}
	counts := view.MeasureQuery{
		Names: []view.MeasureName{
			view.MeasureStarted, view.MeasureEnded, view.MeasureDecided, view.MeasureVerdict, view.MeasureVerdictTime, view.MeasureVerdictReason,
			view.MeasureVerdictBy, view.MeasureChecked, view.MeasureHits, view.MeasureRunHits, view.MeasureDispatchFailed, view.MeasureDispatchTime,
		},
		Totals: []view.MeasureName{view.MeasureTransition, view.MeasureStopped},
		First:  view.DayOf(n.latest, time.UTC) - 40, Last: view.DayOf(n.latest, time.UTC) + 40,
	}
	found, err := s.Measures(ctx, t, counts)
	add(found, err, "Measures(%s)", t)
	for w := range n.workflows {
		counts.Workflow = w.id
		found, err := s.Measures(ctx, t, counts)
		add(found, err, "Measures(%s, %s)", t, w.id)
	}
}
