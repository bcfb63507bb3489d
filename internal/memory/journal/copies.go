// The records of copies and snapshots.

package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

var _ store.CopyStore = (*Store)(nil)

// errUnfinished is returned for a folder with a part of a copy.
func errUnfinished(source string) error {
	return fmt.Errorf("it has a part of a copy of %s: finish the copy, or remove the folder", source)
}

// Records implements store.CopyStore.
func (s *Store) Records(ctx context.Context, kind store.RecordKind) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r, err := range s.memory.Records(ctx, kind) {
			r, err = read(ctx, s, func() (store.Record, error) { return r, err })
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// SaveRecords implements store.CopyStore. The journal has a record for each of them, and more
// for a large one.
func (s *Store) SaveRecords(ctx context.Context, records []store.Record) error {
	if slices.ContainsFunc(records, func(r store.Record) bool { return store.KindOf(r) == store.RecordAudit }) {
		s.snapshots <- struct{}{} // a snapshot would bring back what is replaced
		defer func() { <-s.snapshots }()
	}
	var last *group
	for _, r := range records {
		if run, ok := r.(store.RunRecord); ok {
			if err := (store.Commit{Events: run.Events}).CheckLevel(s.level); err != nil {
				return err
			}
		}
		for e, err := range entriesOf(r, s.partBytes) {
			if err != nil {
				return err
			}
			payload, err := encode(e.record)
			if err != nil {
				return err
			}
			last, _, err = s.changed(e.kind, func() ([]byte, error) {
				if err := e.record.apply(ctx, s.memory); err != nil {
					return nil, err
				}
				return payload, nil
			}, false)
			if err != nil {
				return err
			}
		}
	}
	if last == nil {
		return ctx.Err()
	}
	<-last.done
	return last.err
}

// recordSaved is a record of a store. One of its fields is set.
type recordSaved struct {
	Rest     int                   `json:"rest"` // versions in the records that follow
	Row      rowSaved              `json:"row"`
	Workflow *store.WorkflowRecord `json:"workflow"`
	Run      *runSaved             `json:"run"`
	Measure  *store.MeasureRecord  `json:"measure"`
	Audit    *store.AuditEntry     `json:"audit"`

	// Builds before Row saved rows so.
	Tenant         *verification.Tenant        `json:"tenant"`
	Account        *verification.Account       `json:"account"`
	RetentionMark  *store.RetentionMark        `json:"retention_mark"`
	IdempotencyKey *store.IdempotencyKeyRecord `json:"idempotency_key"`
	Delivery       *store.DeliveryRecord       `json:"delivery"`
	Pass           *store.RescreenPass         `json:"pass"`
	Ledger         *store.LedgerRecord         `json:"ledger"`
}

// rowSaved is a row of a small table. Its JSON has its kind as the name.
type rowSaved struct{ store.Record }

// MarshalJSONTo implements json.MarshalerTo.
func (r rowSaved) MarshalJSONTo(to *jsontext.Encoder) error {
	return json.MarshalEncode(to, map[store.RecordKind]store.Record{store.KindOf(r.Record): r.Record})
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (r *rowSaved) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	var row map[store.RecordKind]jsontext.Value // with one entry
	err := json.UnmarshalDecode(from, &row)
	for kind, value := range row {
		r.Record, err = store.DecodeRow(kind, func(into any) error { return json.Unmarshal(value, into, from.Options()) })
	}
	return err
}

// runSaved is a memstore.RunState.
type runSaved struct {
	Run      verification.RunID    `json:"run"`
	Tenant   verification.TenantID `json:"tenant"`
	Summary  rules.Summary         `json:"summary"`
	Claim    rules.Claim           `json:"claim"`
	Keys     []store.SearchKey     `json:"keys"`
	Screened []rules.ScreenedList  `json:"screened"`
	Length   int                   `json:"length"` // of Events
	Events   history               `json:"events"`
	Work     []workSaved           `json:"work"`
	Rest     int                   `json:"rest"` // events in the records that follow
}

// workSaved is a store.WorkRecord, whose key has the kind as the text that stores keep.
type workSaved struct {
	Kind                 string
	Seq                  int
	Due                  time.Time
	Attempt, Lost, Alone int
	LeftAt               time.Time
	Leased               bool
}

// history has the JSON of its events, which is decoded when a run is read.
type history struct {
	memstore.History

	raw []byte // in place of the History, once it is read
}

// MarshalJSONTo implements json.MarshalerTo.
func (h history) MarshalJSONTo(to *jsontext.Encoder) error {
	raw, err := h.Encode()
	if err != nil {
		return err
	}
	return to.WriteValue(raw)
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (h *history) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	raw, err := from.ReadValue()
	h.raw = raw.Clone()
	return err
}

// of returns the history, which has n events.
func (h history) of(n int) memstore.History {
	if h.raw != nil {
		return memstore.EncodedHistory(h.raw, n)
	}
	return h.History
}

func newRunSaved(r memstore.RunState) *runSaved {
	var work []workSaved
	for _, w := range r.Work {
		work = append(work, workSaved{w.KindText(), w.Seq, w.Due, w.Attempt, w.Lost, w.Alone, w.LeftAt, w.Leased})
	}
	return &runSaved{r.Ref.Run, r.Ref.Tenant, r.Summary, r.Claim, r.Keys, r.Screened, r.History.Len(), history{History: r.History}, work, 0}
}

func (r runSaved) state() memstore.RunState {
	ref := verification.RunRef{Tenant: r.Tenant, Run: r.Run}
	var work []store.WorkRecord
	for _, w := range r.Work {
		work = append(work, store.WorkRecord{
			WorkKey: store.ParseWorkKey(w.Kind, w.Seq), Due: w.Due, Attempt: w.Attempt, Lost: w.Lost, Alone: w.Alone, LeftAt: w.LeftAt, Leased: w.Leased,
		})
	}
	return memstore.RunState{Ref: ref, Summary: r.Summary, Claim: r.Claim, Keys: r.Keys, Screened: r.Screened, History: r.Events.of(r.Length), Work: work}
}

func newRecordSaved(r store.Record) (saved recordSaved, err error) {
	if store.IsRow(store.KindOf(r)) {
		return recordSaved{Row: rowSaved{r}}, nil
	}
	switch r := r.(type) {
	case store.WorkflowRecord:
		saved.Workflow = &r
	case store.RunRecord: // see entriesOf
		saved.Run = newRunSaved(runState(r))
	case store.MeasureRecord:
		saved.Measure = &r
	case store.AuditRecord:
		saved.Audit = &r.Entry
	default:
		err = fmt.Errorf("journal: unknown record %T", r)
	}
	return saved, err
}

// record returns the record, unless it is of a run.
func (r recordSaved) record() store.Record {
	switch {
	case r.Workflow != nil:
		return *r.Workflow
	case r.Measure != nil:
		return *r.Measure
	case r.IdempotencyKey != nil:
		return *r.IdempotencyKey
	case r.Delivery != nil:
		return *r.Delivery
	case r.Pass != nil:
		return store.PassRecord{Pass: *r.Pass}
	case r.Audit != nil:
		return store.AuditRecord{Entry: *r.Audit}
	case r.Ledger != nil:
		return *r.Ledger
	case r.Tenant != nil:
		return store.TenantRecord{Tenant: *r.Tenant}
	case r.Account != nil:
		return store.AccountRecord{Account: *r.Account}
	case r.RetentionMark != nil:
		return store.RetentionMarkRecord{Mark: *r.RetentionMark}
	}
	return r.Row.Record
}

var errNoRecord = errors.New("it has no record")

func (r recordSaved) apply(ctx context.Context, m *memstore.Store) error {
	if r.Run != nil {
		return memstore.ReplaceRun(ctx, m, r.Run.state())
	}
	saved := r.record()
	if saved == nil {
		return errNoRecord
	}
	return m.SaveRecords(ctx, []store.Record{saved})
}

// copySet is a call of SetUnfinishedCopy, as builds before kindRows recorded it.
type copySet struct {
	Source string `json:"source"`
}

func (r copySet) apply(ctx context.Context, m *memstore.Store) error {
	return m.SetUnfinishedCopy(ctx, r.Source)
}
