// The records of the store.

package memstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

var _ store.CopyStore = (*Store)(nil)

// records are an iteration over records, as store.CopyStore returns it.
type records = iter.Seq2[store.Record, error]

// each yields the record of each row of a table, in an order of the keys. It copies the
// keys, not the rows.
func each[K comparable, V any](ctx context.Context, t *table[K, V], order func(a, b K) int, record func(K, V) store.Record) records {
	return func(yield func(store.Record, error) bool) {
		t.mu.RLock()
		keys := slices.SortedFunc(maps.Keys(t.rows), order)
		t.mu.RUnlock()
		for _, k := range keys {
			row, err := t.get(ctx, k, "record")
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(record(k, row), nil) {
				return
			}
		}
	}
}

// Records yields the records of a kind in the order of their keys.
func (s *Store) Records(ctx context.Context, kind store.RecordKind) records {
	read, isTable := map[store.RecordKind]func() records{
		store.RecordWorkflow: func() records { return each(ctx, &s.workflows.table, workflowKey.compare, workflowRecord) },
		store.RecordRun:      func() records { return s.perTenant(ctx, s.runRecords()) },
		store.RecordMeasure:  func() records { return s.perTenant(ctx, measureRecords) },
		store.RecordIdempotencyKey: func() records {
			return each(ctx, &s.keys.table, tenantKey.compare, func(k tenantKey, r store.IdempotencyRecord) store.Record {
				return store.IdempotencyKeyRecord{Tenant: k.tenant, Request: r}
			})
		},
		store.RecordDelivery: func() records {
			return each(ctx, &s.deliveries.table, func(a, b noticeKey) int {
				return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.notice.Run, b.notice.Run), cmp.Compare(a.notice.Seq, b.notice.Seq))
			}, func(k noticeKey, d rules.Delivery) store.Record {
				return store.DeliveryRecord{Tenant: k.tenant, Delivery: d}
			})
		},
		store.RecordPass: func() records {
			return each(ctx, &s.rescreens.table, cmp.Compare, func(_ string, p store.RescreenPass) store.Record {
				return store.PassRecord{Pass: p}
			})
		},
		store.RecordAudit:  func() records { return s.auditRecords(ctx) },
		store.RecordLedger: func() records { return yieldAll(s.ledger.records(math.MaxInt), ctx.Err()) },
	}[kind]
	switch {
	case isTable:
		return read()
	case store.IsRow(kind):
		return yieldAll(s.rowsOf(ctx, kind))
	}
	return yieldAll(nil, fmt.Errorf("memory: unknown records %q", kind))
}

// yieldAll yields records, or an error.
func yieldAll(rows []store.Record, err error) records {
	return func(yield func(store.Record, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (k workflowKey) compare(l workflowKey) int {
	return cmp.Or(cmp.Compare(k.tenant, l.tenant), cmp.Compare(k.id, l.id))
}

func workflowRecord(k workflowKey, w *keptWorkflow) store.Record {
	return store.WorkflowRecord{Tenant: k.tenant, Workflow: w.Workflow, Versions: slices.Clip(w.versions)}
}

// perTenant yields what f yields for the runs of each tenant, in the order of the tenants.
func (s *Store) perTenant(ctx context.Context, f func(t verification.TenantID, d *tenantData, yield func(store.Record, error) bool) bool) records {
	return func(yield func(store.Record, error) bool) {
		s.runs.mu.RLock()
		tenants := slices.Sorted(maps.Keys(s.runs.rows))
		s.runs.mu.RUnlock()
		for _, t := range tenants {
			d, err := s.runs.get(ctx, t, "run")
			if err != nil {
				yield(nil, err)
				return
			}
			if !f(t, d, func(r store.Record, err error) bool { return yield(r, cmp.Or(err, ctx.Err())) && ctx.Err() == nil }) {
				return
			}
		}
	}
}

// runRecords returns the function that yields the records of the runs of a tenant.
func (s *Store) runRecords() func(t verification.TenantID, d *tenantData, yield func(store.Record, error) bool) bool {
	work := s.queue.records()
	return func(_ verification.TenantID, d *tenantData, yield func(store.Record, error) bool) bool {
		d.mu.RLock()
		ids := slices.Sorted(maps.Keys(d.runs))
		d.mu.RUnlock()
		for _, id := range ids {
			d.mu.RLock()
			r, ok := d.runs[id]
			if !ok {
				d.mu.RUnlock()
				continue
			}
			state := r.state()
			d.mu.RUnlock()
			state.Work = work[state.Ref]
			record, err := recordOf(state)
			if !yield(record, err) || err != nil {
				return false
			}
		}
		return true
	}
}

// recordOf returns the record of a run.
func recordOf(state RunState) (store.Record, error) {
	events, err := state.History.Events()
	if v := state.Summary.Review; v != nil {
		unclaimed := *v
		unclaimed.Claim = rules.Claim{}
		state.Summary.Review = &unclaimed
	}
	keys, lists := slices.Clone(state.Keys), slices.Clone(state.Screened)
	slices.SortFunc(keys, func(a, b store.SearchKey) int { return bytes.Compare(a[:], b[:]) })
	slices.SortFunc(lists, func(a, b rules.ScreenedList) int { return cmp.Compare(a.List, b.List) })
	slices.SortFunc(state.Work, func(a, b store.WorkRecord) int { return a.Compare(b.WorkKey) })
	return store.RunRecord{
		Run: state.Ref, Events: events, Summary: state.Summary, Claim: state.Claim, Keys: slices.Compact(keys), Screened: lists, Work: state.Work,
	}, err
}

// measureRecords yields the records of the measures of a tenant.
func measureRecords(t verification.TenantID, d *tenantData, yield func(store.Record, error) bool) bool {
	type sum struct {
		measureKey
		day store.Day
	}
	var all []sum
	d.mu.RLock()
	for key, counts := range d.measures {
		for day, n := range counts {
			if n != 0 {
				all = append(all, sum{key, day})
			}
		}
	}
	d.mu.RUnlock()
	slices.SortFunc(all, func(a, b sum) int {
		return cmp.Or(cmp.Compare(a.workflow, b.workflow), cmp.Compare(a.Name, b.Name), cmp.Compare(a.day, b.day),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Version, b.Version))
	})
	for _, m := range all {
		d.mu.RLock()
		n := d.measures[m.measureKey][m.day]
		d.mu.RUnlock()
		if !yield(store.MeasureRecord{Tenant: t, Workflow: m.workflow, Measure: store.Measure{MeasureKey: m.MeasureKey, Day: m.day, Count: n}}, nil) {
			return false
		}
	}
	return true
}

// SaveRecords saves records, each in place of the one with its kind and key.
func (s *Store) SaveRecords(ctx context.Context, records []store.Record) (err error) {
	for _, r := range records {
		switch r := r.(type) {
		case store.WorkflowRecord:
			err = s.saveWorkflowRecord(ctx, r)
		case store.RunRecord:
			err = ReplaceRun(ctx, s, RunState{r.Run, r.Summary, r.Claim, r.Keys, r.Screened, NewHistory(r.Events), r.Work})
		case store.MeasureRecord:
			err = s.saveMeasureRecord(ctx, r)
		case store.IdempotencyKeyRecord:
			err = s.saveKey(ctx, r)
		case store.AuditRecord:
			err = s.saveEntry(ctx, r.Entry)
		case store.LedgerRecord:
			s.ledger.save(r)
		default:
			err = s.Change(ctx, []store.Record{r})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ReplaceRun adds a run, or replaces it, with its work. No lease of it is valid any more.
func ReplaceRun(ctx context.Context, s *Store, state RunState) error {
	d, err := s.tenant(ctx, state.Ref.Tenant, true)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r, known := d.runs[state.Ref.Run]
	if !known {
		r = &record{ref: state.Ref, dump: d.dump}
		d.runs[r.ref.Run] = r
	}
	d.changes(r)
	r.history = state.History
	defer s.count(d, r)
	state.Summary.ID = r.ref.Run
	d.index.put(r, state.Summary)
	d.index.putKeys(r, state.Keys)
	r.claim = state.Claim
	s.queue.replace(r, state.Work, known)
	s.rescreens.replace(r, state.Screened)
	return nil
}

// ExtendRun adds the next part of its history to a run that ReplaceRun has added with an encoded
// history. from is the number of events before the part.
func ExtendRun(ctx context.Context, s *Store, ref verification.RunRef, from int, part History) error {
	d, err := s.runs.get(ctx, ref.Tenant, "run")
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.runs[ref.Run]
	if r == nil || r.history.encoded == nil || r.history.n != from {
		return fmt.Errorf("the history of run %s does not have the %d events before it", ref.Run, from)
	}
	d.changes(r)
	r.history = r.history.join(part)
	s.count(d, r)
	return nil
}

// replace replaces the work of a run.
func (q *queue) replace(r *record, work []store.WorkRecord, known bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if known {
		for key := range q.pieces {
			if key.run == r.ref {
				q.remove(key)
			}
		}
	}
	for _, w := range work {
		p := &piece{pieceKey: pieceKey{w.WorkKey, r.ref}, workflow: r.summary.Workflow}
		p.set(Piece{Due: w.Due, Attempt: w.Attempt, Lost: w.Lost, Alone: w.Alone, LeftAt: w.LeftAt, Taken: w.Leased})
		q.put(p, w.Due)
	}
}

// replace replaces the lists that a run is screened against again.
func (rs *rescreens) replace(r *record, lists []rules.ScreenedList) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, l := range r.screened {
		delete(rs.runs[l.List], r.ref)
	}
	r.screened = slices.Clone(lists)
	for _, l := range lists {
		rs.noteLocked(r.ref, r.summary.Workflow, l)
	}
}

func (s *Store) saveWorkflowRecord(ctx context.Context, r store.WorkflowRecord) error {
	return s.workflows.change(ctx, func(rows map[workflowKey]*keptWorkflow) error {
		key, newest := workflowKey{r.Tenant, r.Workflow.ID}, s.workflows.newest.at(r.Tenant, newerWorkflow)
		if old := rows[key]; old != nil {
			newest.Delete(old)
		}
		s.kept.add(r.Tenant, behind(reflect.ValueOf(r.Versions)))
		if old := rows[key]; old != nil {
			s.kept.add(r.Tenant, -behind(reflect.ValueOf(old.versions)))
		}
		rows[key] = &keptWorkflow{r.Workflow, slices.Clone(r.Versions)}
		rows[key].CreatedAt = toMicrosecond(r.Workflow.CreatedAt)
		for i := range rows[key].versions {
			v := &rows[key].versions[i]
			v.CreatedAt = toMicrosecond(v.CreatedAt)
		}
		newest.Set(rows[key])
		return nil
	})
}

// ExtendWorkflow adds versions to a workflow that has from versions.
func ExtendWorkflow(ctx context.Context, s *Store, t verification.TenantID, id verification.WorkflowID, from int, versions []workflow.Version) error {
	return s.workflows.change(ctx, func(rows map[workflowKey]*keptWorkflow) error {
		w := rows[workflowKey{t, id}]
		if w == nil || len(w.versions) != from {
			return fmt.Errorf("the workflow %s does not have the %d versions before them", id, from)
		}
		w.versions = append(slices.Clip(w.versions), versions...)
		s.kept.add(t, behind(reflect.ValueOf(versions)))
		return nil
	})
}

func (s *Store) saveMeasureRecord(ctx context.Context, r store.MeasureRecord) error {
	d, err := s.tenant(ctx, r.Tenant, true)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r.Count -= d.measures[measureKey{r.Workflow, r.MeasureKey}][r.Day]
	s.kept.add(r.Tenant, d.measures.add(r.Workflow, []store.Measure{r.Measure}))
	return nil
}

// saveKey saves a key. Old keys are removed in the order of their arrival, so that those of a
// copy may stay for up to IdempotencyKeyTTL longer than others.
func (s *Store) saveKey(ctx context.Context, r store.IdempotencyKeyRecord) error {
	return s.keys.change(ctx, func(rows map[tenantKey]store.IdempotencyRecord) error {
		key := tenantKey{r.Tenant, r.Request.IdempotencyKey}
		r.Request.At = toMicrosecond(r.Request.At)
		rows[key] = r.Request
		s.keys.claims = append(s.keys.claims, claim{key, r.Request.ID, r.Request.At})
		s.kept.add(r.Tenant, sizeOfRequest)
		return nil
	})
}
