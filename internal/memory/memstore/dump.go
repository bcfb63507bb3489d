// Dumps: everything that a store has at one time.

package memstore

import (
	"iter"
	"math"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Dump is everything that a store had when Store.Dump was called, whatever has changed since
// then. Saving all of it in an empty store makes an equal one, without leases.
type Dump struct {
	records    []store.Record // all but runs, deliveries and the audit trail
	work       map[verification.RunRef][]store.WorkRecord
	deliveries []deliveriesOf
	audit      []trailOf
	runs       []runsOf
	close      func()
}

// RunState is a store.RunRecord whose history may be encoded.
type RunState struct {
	Ref      verification.RunRef
	Summary  rules.Summary // the claim of its Review has no meaning
	Claim    rules.Claim
	Keys     []store.SearchKey
	Screened []rules.ScreenedList
	History  History
	Work     []store.WorkRecord
}

type deliveriesOf struct {
	tenant verification.TenantID
	tree   *btree.BTreeG[rules.Delivery]
}

type runsOf struct {
	data *tenantData
	tree *btree.BTreeG[*record]
}

// NewDump returns everything that the store has. No other call may change the store until Dump
// returns; afterwards all may, and Dump.Close must be called. Dump takes the time that copies
// of everything but runs, deliveries and the audit trail need. It returns ErrConflict while another dump is
// open.
func NewDump(s *Store) (*Dump, error) {
	if !s.dumping.TryLock() {
		return nil, verification.Conflict("store", "another dump is open")
	}
	d := &Dump{work: s.queue.records(), deliveries: s.deliveries.dump(), audit: s.audit.dump()}
	addRows(d, &s.workflows.table, workflowRecord)
	addRows(d, &s.rescreens.table, func(_ string, p store.RescreenPass) store.Record { return store.PassRecord{Pass: p} })
	addRows(d, &s.rows, rowRecord)
	d.records = append(append(d.records, s.keys.records()...), s.ledger.records(math.MaxInt)...)
	for t, data := range s.tenantsWithRuns() {
		d.add(t, data)
	}
	d.close = func() {
		for _, of := range d.runs {
			of.data.endDump()
		}
		s.dumping.Unlock()
	}
	return d, nil
}

// addRows adds the records of the rows of a table.
func addRows[K comparable, V any](d *Dump, t *table[K, V], record func(K, V) store.Record) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for k, row := range t.rows {
		d.records = append(d.records, record(k, row))
	}
}

// add adds the runs and the measures of a tenant.
func (d *Dump) add(t verification.TenantID, data *tenantData) {
	data.mu.Lock()
	defer data.mu.Unlock()
	for key, days := range data.measures {
		for day, n := range days {
			d.records = append(d.records, store.MeasureRecord{
				Tenant: t, Workflow: key.workflow, Measure: store.Measure{MeasureKey: key.MeasureKey, Day: day, Count: n},
			})
		}
	}
	if all := data.index.runs[filter{}]; all != nil {
		data.dump++
		data.before = map[*record]RunState{}
		d.runs = append(d.runs, runsOf{data, all.Copy()})
	}
}

// Records returns all records but those of runs and of the audit trail, in no order.
func (d *Dump) Records() iter.Seq[store.Record] {
	return func(yield func(store.Record) bool) {
		for _, r := range d.records {
			if !yield(r) {
				return
			}
		}
		for _, of := range d.deliveries {
			next := true
			of.tree.Scan(func(sent rules.Delivery) bool {
				next = yield(store.DeliveryRecord{Tenant: of.tenant, Delivery: sent})
				return next
			})
			if !next {
				return
			}
		}
	}
}

// Runs returns all runs, those of one tenant newest first. It can be ranged over once.
func (d *Dump) Runs() iter.Seq[RunState] {
	return func(yield func(RunState) bool) {
		for _, of := range d.runs {
			next := true
			of.tree.Scan(func(r *record) bool {
				state := of.data.dumped(r)
				state.Work = d.work[r.ref]
				next = yield(state)
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

// state returns the state of a run without its work.
func (r *record) state() RunState {
	return RunState{Ref: r.ref, Summary: r.summary, Claim: r.claim, Keys: r.keys, Screened: r.screened, History: r.history}
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

// records returns the records of the keys, the oldest first.
func (k *idempotencyKeys) records() (all []store.Record) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, c := range k.claims {
		if r := k.rows[c.tenantKey]; r.ID == c.id {
			all = append(all, store.IdempotencyKeyRecord{Tenant: c.tenant, Request: r})
		}
	}
	return all
}

// records returns the work of each run.
func (q *queue) records() map[verification.RunRef][]store.WorkRecord {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := map[verification.RunRef][]store.WorkRecord{}
	for _, p := range q.pieces {
		state := p.state()
		all[p.run] = append(all[p.run], store.WorkRecord{
			WorkKey: state.Key, Due: state.Due, Attempt: state.Attempt, Lost: state.Lost, Alone: state.Alone, LeftAt: state.LeftAt, Leased: state.Taken,
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
