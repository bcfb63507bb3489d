// Dumps: everything that a store has at one time.

package memory

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/view"
)

// Dump is everything that a store had when Store.Dump was called, whatever has changed since
// then. Restoring all of it into an empty store makes an equal one; tenants, accounts and
// deliveries are saved as always, and idempotency keys are claimed.
type Dump struct {
	Tenants   []verification.Tenant // with the content of their logos
	Accounts  []verification.Account
	Workflows []WorkflowState
	Passes    []store.RescreenPass
	Measures  []MeasureState
	Requests  []RequestState // the oldest first
	Source    string         // of an unfinished copy, see store.CopyStore; empty for none
	Pieces    []Piece        // those of one kind and tenant in the order in which they are taken

	deliveries []deliveriesOf
	runs       []runsOf
	close      func()
}

// RunState is a run with what its appends have left.
type RunState struct {
	Ref      verification.RunRef
	Summary  verification.Summary
	Claim    verification.Claim // of the run in the review queue; it may be over
	Keys     []store.SearchKey
	Screened []verification.ScreenedList
	History  History
}

// WorkflowState is a workflow with its versions in the order of their numbers.
type WorkflowState struct {
	Tenant   verification.TenantID
	Workflow verification.Workflow
	Versions []verification.Version
}

// MeasureState is the sum of a measure on each day.
type MeasureState struct {
	Tenant   verification.TenantID
	Workflow verification.WorkflowID
	Measures []view.Measure
}

// RequestState is the record of an idempotency key.
type RequestState struct {
	Tenant verification.TenantID
	Record store.IdempotencyRecord
}

type deliveriesOf struct {
	tenant verification.TenantID
	tree   *btree.BTreeG[verification.Delivery]
}

type runsOf struct {
	data *tenantData
	tree *btree.BTreeG[*record]
}

// Dump returns everything that the store has. No other call may change the store until Dump
// returns; afterwards all may, and Dump.Close must be called. Dump takes the time that copies
// of everything but runs and deliveries need. It returns ErrConflict while another dump is
// open.
func (s *Store) Dump() (*Dump, error) {
	if !s.dumping.TryLock() {
		return nil, verification.Conflict("store", "another dump is open")
	}
	d := &Dump{
		Tenants: s.tenants.values(func(a, b verification.Tenant) int { return cmp.Compare(a.ID, b.ID) }),
		Accounts: s.accounts.values(func(a, b verification.Account) int {
			return cmp.Compare(a.ClientID, b.ClientID)
		}),
		Workflows: s.workflows.dump(), Passes: s.rescreens.values(func(a, b store.RescreenPass) int { return cmp.Compare(a.List, b.List) }),
		Requests: s.keys.dump(), Source: s.copied.rows[copiedFrom{}], Pieces: s.queue.dump(), deliveries: s.deliveries.dump(),
	}
	for _, t := range s.tenantsWithRuns() {
		d.add(t)
	}
	d.close = func() {
		for _, of := range d.runs {
			of.data.endDump()
		}
		s.dumping.Unlock()
	}
	return d, nil
}

// add adds the runs and the measures of a tenant.
func (d *Dump) add(t *tenantData) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.index.runs[filter{}]
	if all == nil {
		return
	}
	t.dump++
	t.before = map[*record]RunState{}
	d.runs = append(d.runs, runsOf{t, all.Copy()})
	var first *record
	first, _ = all.Min()
	byWorkflow := map[verification.WorkflowID][]view.Measure{}
	for key, days := range t.measures {
		for day, n := range days {
			byWorkflow[key.workflow] = append(byWorkflow[key.workflow], view.Measure{MeasureKey: key.MeasureKey, Day: day, Count: n})
		}
	}
	for _, w := range slices.Sorted(maps.Keys(byWorkflow)) {
		d.Measures = append(d.Measures, MeasureState{first.ref.Tenant, w, byWorkflow[w]})
	}
}

// Runs returns all runs, those of one tenant newest first. It can be ranged over once.
func (d *Dump) Runs() iter.Seq[RunState] {
	return func(yield func(RunState) bool) {
		for _, of := range d.runs {
			next := true
			of.tree.Scan(func(r *record) bool {
				next = yield(of.data.dumped(r))
				return next
			})
			if !next {
				return
			}
		}
	}
}

// Deliveries returns all deliveries with their tenants.
func (d *Dump) Deliveries() iter.Seq2[verification.TenantID, verification.Delivery] {
	return func(yield func(verification.TenantID, verification.Delivery) bool) {
		for _, of := range d.deliveries {
			next := true
			of.tree.Scan(func(sent verification.Delivery) bool {
				next = yield(of.tenant, sent)
				return next
			})
			if !next {
				return
			}
		}
	}
}

// Close ends the dump: changes of runs cost less from then on.
func (d *Dump) Close() { d.close() }

// state returns the state of a run.
func (r *record) state() RunState {
	return RunState{r.ref, r.summary, r.claim, r.keys, r.screened, r.history}
}

// changes is called under the lock before a run changes: it saves the state of the run for a
// dump that has not read it.
func (d *tenantData) changes(r *record) {
	if d.before != nil && r.dump != d.dump {
		r.dump = d.dump
		d.before[r] = r.state()
	}
}

// dumped returns the state that a run had when the dump began.
func (d *tenantData) dumped(r *record) RunState {
	d.mu.Lock()
	defer d.mu.Unlock()
	if state, changed := d.before[r]; changed {
		delete(d.before, r)
		return state
	}
	r.dump = d.dump
	return r.state()
}

func (d *tenantData) endDump() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = nil
}

// values returns the rows in an order.
func (t *table[K, V]) values(order func(a, b V) int) []V {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.SortedFunc(maps.Values(t.rows), order)
}

func (w *workflows) dump() (all []WorkflowState) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for key, stored := range w.rows {
		all = append(all, WorkflowState{key.tenant, stored.Workflow, slices.Clip(stored.versions)})
	}
	slices.SortFunc(all, func(a, b WorkflowState) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Workflow.ID, b.Workflow.ID))
	})
	return all
}

func (k *idempotencyKeys) dump() (all []RequestState) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, c := range k.claims {
		if r := k.rows[c.tenantKey]; r.ID == c.id {
			all = append(all, RequestState{c.tenant, r})
		}
	}
	return all
}

func (q *queue) dump() (all []Piece) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lanes {
		l.pieces.Scan(func(p *piece) bool {
			all = append(all, p.state())
			return true
		})
	}
	return all
}

func (d *deliveries) dump() (all []deliveriesOf) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, tree := range d.lists {
		if key.state == "" {
			all = append(all, deliveriesOf{key.tenant, tree.Copy()})
		}
	}
	return all
}
