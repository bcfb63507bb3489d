// Package storereads notes what the calls of a store name, and reads all of it, so that tests
// can compare two stores.
package storereads

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Names has what the calls of a store named, so that all of it can be read.
type Names struct {
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
	marked    map[workflowOf]bool
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
		ref    rules.NoticeRef
	}
)

// NewNames returns Names of nothing.
func NewNames() *Names {
	return &Names{
		tenants: map[verification.TenantID]bool{}, runs: map[verification.RunRef]bool{}, pieces: map[piece]bool{},
		renewed: map[verification.RunRef]bool{},
		keys:    map[store.SearchKey]bool{}, requests: map[request]bool{}, workflows: map[workflowOf]map[string]bool{},
		accounts: map[string]bool{}, notices: map[noticeOf]bool{}, marked: map[workflowOf]bool{},
	}
}

// Noted is a store that notes names, but not those of records.
type Noted struct {
	store.Store
	store.CopyStore // may be nil
	*Names
}

func (n Noted) note(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// Append notes what it is given.
func (n Noted) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	n.note(func() {
		ref := verification.RunRef{Tenant: t, Run: id}
		n.tenants[t], n.runs[ref] = true, true
		for key := range c.Work {
			n.pieces[piece{ref, key}] = true
		}
		for _, l := range c.Screened {
			n.pieces[piece{ref, store.WorkKey{Kind: store.WorkRescreen, List: l.List}}] = true
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

// Renew notes what it is given.
func (n Noted) Renew(ctx context.Context, runs []verification.RunRef, until time.Time, alone bool) error {
	n.note(func() {
		for _, ref := range runs {
			n.renewed[ref] = true
		}
	})
	return n.Store.Renew(ctx, runs, until, alone)
}

// SaveWorkflow notes what it is given.
func (n Noted) SaveWorkflow(ctx context.Context, t verification.TenantID, w workflow.Workflow, v *workflow.Version) error {
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

// SaveSetup notes what it is given, unless it is refused.
func (n Noted) SaveSetup(ctx context.Context, s store.Setup) error {
	err := n.Store.SaveSetup(ctx, s)
	if err != nil {
		return err
	}
	n.note(func() {
		for _, t := range s.Tenants {
			n.tenants[t.ID] = true
		}
		for _, a := range s.Accounts {
			n.tenants[a.Tenant], n.accounts[a.ClientID] = true, true
		}
		for _, c := range s.Workflows {
			of := workflowOf{c.Tenant, c.Workflow.ID}
			if n.workflows[of] == nil {
				n.workflows[of] = map[string]bool{}
			}
			if c.Added != nil {
				n.workflows[of][c.Added.Hash] = true
			}
		}
	})
	return nil
}

// Change notes what it is given, but no tenant of a change that is refused.
func (n Noted) Change(ctx context.Context, rows []store.Record) error {
	err := n.Store.Change(ctx, rows)
	n.note(func() {
		for _, row := range rows {
			switch r := row.(type) {
			case store.TenantRecord:
				if err == nil {
					n.tenants[r.Tenant.ID] = true
				}
			case store.AccountRecord:
				n.tenants[r.Account.Tenant], n.accounts[r.Account.ClientID] = true, true
			case store.RetentionMarkRecord:
				n.marked[workflowOf{r.Mark.Tenant, r.Mark.Workflow}] = true
			case store.DeliveryRecord:
				n.tenants[r.Tenant], n.notices[noticeOf{r.Tenant, r.Delivery.Ref()}] = true, true
			case store.IdempotencyKeyRecord:
				n.requests[request{r.Tenant, r.Request.IdempotencyKey}] = true
				if r.Request.At.After(n.latest) {
					n.latest = r.Request.At
				}
			}
		}
	})
	return err
}

// AppendAudit notes what it is given.
func (n Noted) AppendAudit(ctx context.Context, entries []store.AuditEntry) error {
	n.note(func() {
		for _, e := range entries {
			n.tenants[e.Tenant] = true
		}
	})
	return n.Store.AppendAudit(ctx, entries)
}

// EndLeases notes that no lease is valid any more.
func (n *Names) EndLeases() { clear(n.renewed) }

// Pieces returns the state of a piece of work.
type Pieces func(run verification.RunRef, key store.WorkKey) Piece

// Piece is the state of a piece of work, as stores in memory keep it.
type Piece struct {
	Run                  verification.RunRef
	Key                  store.WorkKey
	Due                  time.Time
	Attempt, Lost, Alone int
	LeftAt               time.Time
	Taken                bool
}

// Read returns the result of every read of the named, by a text that describes the read, and
// the state of all work if pieces is not nil.
func (n *Names) Read(ctx context.Context, s store.Store, pieces Pieces) (map[string]any, error) {
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
	page, tables := store.PageQuery{Limit: store.MaxLimit}, store.Tables{RowStore: s}
	for ref := range n.runs {
		events, err := s.Load(ctx, ref.Tenant, ref.Run, 0)
		add(events, err, "Load(%s, %s)", ref.Tenant, ref.Run)
	}
	for t := range n.tenants {
		n.readLists(ctx, s, t, add)
		found, err := tables.Tenant(ctx, t)
		add(found, err, "Tenant(%s)", t)
		logo, err := tables.Logo(ctx, t)
		add(logo, err, "Logo(%s)", t)
		accounts, err := tables.Accounts(ctx, t)
		add(accounts, err, "Accounts(%s)", t)
		workflows, err := s.Workflows(ctx, t, page)
		add(workflows, err, "Workflows(%s)", t)
		audit, err := s.AuditEntries(ctx, t, store.AuditQuery{Limit: store.MaxAuditLimit})
		add(audit, err, "AuditEntries(%s)", t)
		for _, state := range []rules.DeliveryState{"", rules.DeliveryPending, rules.DeliveryDelivered, rules.DeliveryFailed} {
			deliveries, err := tables.Deliveries(ctx, t, state, page)
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
		started, err := s.StartedRuns(ctx, w.tenant, w.id, store.StartedPosition{}, n.latest, store.MaxLimit)
		add(started, err, "StartedRuns(%s, %s)", w.tenant, w.id)
	}
	for w := range n.marked {
		mark, err := tables.RetentionMark(ctx, w.tenant, w.id)
		add(mark, err, "RetentionMark(%s, %s)", w.tenant, w.id)
	}
	for id := range n.accounts {
		account, err := tables.Account(ctx, id)
		add(account, err, "Account(%s)", id)
	}
	for r := range n.requests {
		record, err := tables.IdempotencyRecord(ctx, r.tenant, r.key, n.latest)
		add(record, err, "IdempotencyRecord(%s, %+v)", r.tenant, r.key)
	}
	for d := range n.notices {
		delivery, err := tables.Delivery(ctx, d.tenant, d.ref)
		add(delivery, err, "Delivery(%s, %+v)", d.tenant, d.ref)
	}
	tenants, err := tables.Tenants(ctx)
	add(tenants, err, "Tenants()")
	passes, err := tables.RescreenPasses(ctx)
	for i := range passes {
		passes[i].HeldUntil = time.Time{} // extensions are not kept
	}
	add(passes, err, "RescreenPasses()")
	if pieces == nil {
		return all, errors.Join(failed...)
	}
	for p := range n.pieces {
		state := pieces(p.run, p.key)
		if !state.Taken && n.renewed[p.run] && p.key.Kind == store.WorkAdvance {
			state.Due = time.Time{} // the end of the lease
		}
		add(state, nil, "Piece(%+v)", p)
	}
	return all, errors.Join(failed...)
}

// Difference returns how the results of reads differ; empty if they do not.
func Difference(before, after map[string]any) string {
	if reflect.DeepEqual(before, after) { // much faster
		return ""
	}
	return cmp.Diff(before, after, cmpopts.EquateEmpty())
}

// readLists reads the lists of a tenant: of runs, of the review queue, and of measures.
func (n *Names) readLists(ctx context.Context, s store.Store, t verification.TenantID, add func(any, error, string, ...any)) {
	queries := []store.RunQuery{{}, {Order: store.OldestFirst}, {Order: store.DueFirst}}
	for k := range n.keys {
		queries = append(queries, store.RunQuery{Keys: [][]store.SearchKey{{k}}})
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
	counts := store.MeasureQuery{
		Names: []store.MeasureName{
			store.MeasureStarted, store.MeasureEnded, store.MeasureDecided, store.MeasureVerdict, store.MeasureVerdictTime, store.MeasureVerdictReason,
			store.MeasureVerdictBy, store.MeasureChecked, store.MeasureHits, store.MeasureRunHits, store.MeasureDispatchFailed, store.MeasureDispatchTime,
		},
		Totals: []store.MeasureName{store.MeasureTransition, store.MeasureStopped},
		First:  store.DayOf(n.latest, time.UTC) - 40, Last: store.DayOf(n.latest, time.UTC) + 40,
	}
	found, err := s.Measures(ctx, t, counts)
	add(found, err, "Measures(%s)", t)
	for w := range n.workflows {
		counts.Workflow = w.id
		found, err := s.Measures(ctx, t, counts)
		add(found, err, "Measures(%s, %s)", t, w.id)
	}
}

// kinds returns a key of each kind of work that calls queue.
func kinds() []store.WorkKey {
	return []store.WorkKey{
		{Kind: store.WorkAdvance}, {Kind: store.WorkAnnounce}, {Kind: store.WorkExpire}, {Kind: store.WorkRescreen, List: "sanctions"},
	}
}

// Queue takes all work, kind by kind, and returns it in the order of due times, each with its
// time. It ends with the leases of all of it.
func Queue(ctx context.Context, s store.WorkQueue) (all []string, err error) {
	const year = 365 * 24 * time.Hour
	for _, key := range kinds() {
		r := store.TakeRequest{Kind: key.Kind, List: key.List, Now: Start().Add(-year), Lease: 200 * year, Max: 100, MaxPerTenant: 100}
		for !r.Now.IsZero() {
			work, next, err := s.Take(ctx, r)
			if err != nil {
				return nil, err
			}
			var texts []string
			for _, w := range work {
				w.Lease = ""
				texts = append(texts, fmt.Sprintf("%s: %+v", r.Now, w))
			}
			slices.Sort(texts)
			all = append(all, texts...)
			if next.After(Start().Add(100 * year)) { // the end of the first of these leases
				next = time.Time{}
			}
			r.Now = next
		}
	}
	return all, nil
}
