// The runs.

package memstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// tenantData has the runs of one tenant.
type tenantData struct {
	mu       sync.RWMutex
	runs     map[verification.RunID]*record
	index    index
	measures measures
	kept     *count

	// A dump that is open: its number, and the runs that changed before it read them; nil
	// for none.
	dump   uint32
	before map[*record]RunState
}

// record is one run. Its ref never changes; the lock of tenantData guards the rest.
type record struct {
	ref      verification.RunRef
	summary  rules.Summary
	claim    rules.Claim // of summary.Review
	keys     []store.SearchKey
	screened []rules.ScreenedList
	history  History
	counted  int    // see Store.count
	dump     uint32 // the last dump that has its state
}

// Runs returns the number of runs of all tenants.
func (s *Store) Runs() (n int) {
	for _, d := range s.tenantsWithRuns() {
		d.mu.RLock()
		n += len(d.runs)
		d.mu.RUnlock()
	}
	return n
}

// Load returns the events after the first `after` ones, or ErrNotFound.
func (s *Store) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
	d, err := s.runs.get(ctx, t, "run")
	if err != nil {
		return nil, err
	}
	history, ok := d.history(id)
	switch {
	case !ok:
		return nil, verification.NotFound("run")
	case after >= history.Len():
		return nil, nil
	}
	events, err := history.Events()
	if err != nil {
		return nil, err
	}
	return events[max(after, 0):], nil
}

// history returns the history of a run, and whether there is one.
func (d *tenantData) history(id verification.RunID) (History, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	r, ok := d.runs[id]
	if !ok {
		return History{}, false
	}
	return r.history, true
}

// Append adds to a run whose history has seq events, all or nothing, or
// returns ErrConflict.
func (s *Store) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	d, err := s.tenant(ctx, t, seq == 0)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := s.append(d, t, id, seq, c); err != nil {
		return err
	}
	if s.ledger.owe(c.Erasure); len(c.Audit) == 0 {
		return nil
	}
	return s.AppendAudit(context.WithoutCancel(ctx), c.Audit)
}

// append is Append without the entries of the audit trail and the ledger of erasures. The caller holds the lock of d.
func (s *Store) append(d *tenantData, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	r, known := d.runs[id]
	if !known && seq != 0 || known && r.history.Len() != seq {
		return store.HistoryChanged()
	}
	if c.WorkflowRevision != 0 && c.WorkflowRevision != s.workflows.revision(t, c.Summary.Workflow) {
		return store.WorkflowChanged()
	}
	switch {
	case c.Delete:
		return s.remove(d, r, seq)
	case !known:
		if err := s.refuse(d.kept, newRuns); err != nil {
			return err
		}
		r = &record{ref: verification.RunRef{Tenant: t, Run: id}, dump: d.dump}
	case c.Rewrite:
		if s.queue.announces(r.ref, seq) {
			return store.NoticePending()
		}
	case len(c.Events) > 0 && c.Events[0].About().CanWait:
		if err := s.refuse(d.kept, answers); err != nil {
			return err
		}
	}
	d.changes(r)
	history := r.history
	if c.Rewrite {
		history = History{}
	}
	if err := history.add(c.Events, c.Summary.Ended != ""); err != nil {
		return err
	}
	r.history = history
	d.runs[id] = r
	defer s.count(d, r)
	s.kept.addTo(d.kept, d.measures.add(c.Summary.Workflow, c.Measures))
	if c.Work == nil && known {
		return nil
	}
	if n := len(c.Events); n > 0 {
		d.index.follow(c.Events[n-1].At)
	}
	c.Summary.ID = id
	if before, after := r.summary.Review, c.Summary.Review; before == nil || after == nil || !before.Since.Equal(after.Since) {
		r.claim = rules.Claim{}
	}
	d.index.put(r, c.Summary)
	if c.Keys != nil || c.Rewrite {
		d.index.putKeys(r, c.Keys)
	}
	if c.Rewrite {
		s.rescreens.remove(r.ref, r.screened)
		r.screened = nil
	}
	r.screen(c.Screened)
	s.queue.enqueue(r.ref, c)
	s.rescreens.add(&s.queue, r.ref, c)
	return nil
}

// remove removes a run, unless it is nil. The caller holds the lock of d.
func (s *Store) remove(d *tenantData, r *record, seq int) error {
	switch {
	case r == nil:
		return store.HistoryChanged()
	case s.queue.announces(r.ref, seq):
		return store.NoticePending()
	}
	d.changes(r)
	d.index.remove(r)
	delete(d.runs, r.ref.Run)
	s.rescreens.remove(r.ref, r.screened)
	s.queue.removeRun(r.ref)
	s.kept.addTo(d.kept, -r.counted)
	return s.removeDeliveries(r.ref, seq)
}

// List returns one page of the runs that match the query at q.Now.
func (s *Store) List(ctx context.Context, t verification.TenantID, q store.RunQuery) (p store.Page[rules.Summary], err error) {
	p.PageQuery = q.PageQuery
	err = s.withTenant(ctx, t, func(d *tenantData) { p = d.index.page(q) })
	return p, err
}

// CountQueues returns how many runs of all tenants need a verdict at a time.
func (s *Store) CountQueues(ctx context.Context, at, dueBefore time.Time) (n int, _ error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	for _, d := range s.tenantsWithRuns() {
		d.mu.Lock()
		n += d.index.page(store.RunQuery{Order: store.OldestFirst, Now: at, DueBefore: dueBefore}).Total
		d.mu.Unlock()
	}
	return n, nil
}

// tenantsWithRuns returns the data of all tenants.
func (s *Store) tenantsWithRuns() map[verification.TenantID]*tenantData {
	s.runs.mu.RLock()
	defer s.runs.mu.RUnlock()
	return maps.Clone(s.runs.rows)
}

// screen notes against which versions of lists the run was screened.
func (r *record) screen(lists []rules.ScreenedList) {
	if len(lists) == 0 {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(r.screened), func(old rules.ScreenedList) bool {
		return slices.ContainsFunc(lists, func(l rules.ScreenedList) bool { return l.List == old.List })
	})
	r.screened = append(kept, lists...)
}

// Claim stores a claim of a run in the review queue, unless another person holds one.
func (s *Store) Claim(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.Claim) (rules.Claim, error) {
	d, err := s.runs.get(ctx, t, "review")
	if err != nil {
		return rules.Claim{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.runs[id]
	if !ok || r.summary.Review == nil {
		return rules.Claim{}, verification.NotFound("review")
	}
	if r.claim.HeldAt(c.At) {
		if r.claim.By != c.By {
			return r.claim, rules.ClaimHeld()
		}
		c.At = r.claim.At
	}
	d.changes(r)
	r.claim = c
	return c, nil
}

// withTenant calls f with the data of a tenant under its lock, if there is any and unless ctx
// has ended.
func (s *Store) withTenant(ctx context.Context, t verification.TenantID, f func(d *tenantData)) error {
	d, err := s.runs.get(ctx, t, "run")
	if err != nil {
		if errors.Is(err, verification.ErrNotFound) {
			return nil
		}
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
	return nil
}

// tenant returns the data of a tenant, which is added if it may be.
func (s *Store) tenant(ctx context.Context, t verification.TenantID, add bool) (*tenantData, error) {
	d, err := s.runs.get(ctx, t, "run")
	if err == nil || !errors.Is(err, verification.ErrNotFound) {
		return d, err
	}
	if !add {
		return nil, store.HistoryChanged()
	}
	err = s.runs.change(ctx, func(rows map[verification.TenantID]*tenantData) error {
		if d = rows[t]; d == nil {
			d = &tenantData{runs: map[verification.RunID]*record{}, index: newIndex(), kept: s.kept.of(t)}
			rows[t] = d
		}
		return nil
	})
	return d, err
}
