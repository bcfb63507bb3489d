// Records of snapshots: what the store has, and not what changed it.

package journal

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/view"
)

// entry is a record with its kind.
type entry struct {
	kind   kind
	record record
}

// entries returns the records of a snapshot without the first and the last, in an order in
// which they can be restored.
func entries(d *memory.Dump) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		deliveries := func(yield func(deliverySaved) bool) {
			for t, sent := range d.Deliveries() {
				if !yield(deliverySaved{t, sent}) {
					return
				}
			}
		}
		if d.Source != "" && !yield(entry{kindCopy, copySet{d.Source}}) {
			return
		}
		_ = each(yield, slices.Values(d.Tenants), func(t verification.Tenant) entry { return entry{kindTenant, tenantSaved{t}} }) &&
			each(yield, slices.Values(d.Accounts), func(a verification.Account) entry { return entry{kindAccount, accountSaved{a}} }) &&
			each(yield, slices.Values(d.Workflows), func(w memory.WorkflowState) entry { return entry{kindWholeWorkflow, wholeWorkflow(w)} }) &&
			each(yield, slices.Values(d.Passes), func(p store.RescreenPass) entry { return entry{kindLastPass, lastPass{p}} }) &&
			each(yield, slices.Values(d.Measures), func(m memory.MeasureState) entry { return entry{kindMeasures, measured(m)} }) &&
			each(yield, slices.Values(d.Requests), func(r memory.RequestState) entry { return entry{kindKeyClaimed, keyClaimed(r)} }) &&
			each(yield, deliveries, func(r deliverySaved) entry { return entry{kindDelivery, r} }) &&
			each(yield, d.Runs(), func(r memory.RunState) entry {
				return entry{kindRun, wholeRun{r.Ref.Run, r.Ref.Tenant, r.Summary, r.Claim, r.Keys, r.Screened, r.History.Len(), history{History: r.History}}}
			}) &&
			each(yield, slices.Values(d.Pieces), func(p memory.Piece) entry { return entry{kindQueued, queued{p.Workflow, stateOf(p)}} })
	}
}

// each yields the entries of items, and reports whether more are wanted.
func each[T any](yield func(entry) bool, items iter.Seq[T], entryOf func(T) entry) bool {
	for item := range items {
		if !yield(entryOf(item)) {
			return false
		}
	}
	return true
}

// snapshotBegun begins a snapshot.
type snapshotBegun struct {
	Segments int `json:"segments"` // up to which segment the snapshot replaces them
}

// completed ends a snapshot.
type completed struct {
	Records int `json:"records"` // of the whole snapshot
}

// order checks that the records of the snapshot that replaces the segments up to a number are
// complete and in order.
type order struct {
	number   int
	records  int // so far
	complete bool
}

// next reports whether the next record is to be restored.
func (o *order) next(r record) (restore bool, err error) {
	o.records++
	head, isHead := r.(snapshotBegun)
	end, isEnd := r.(completed)
	switch {
	case o.complete:
		return false, errPosition
	case o.records == 1 && (!isHead || head.Segments != o.number):
		return false, errors.New("it does not begin this snapshot")
	case o.records == 1:
		return false, nil
	case isEnd && end.Records == o.records:
		o.complete = true
		return false, nil
	}
	return true, nil
}

// errNoEnd is why a snapshot that is not complete cannot be used.
var errNoEnd = errors.New("the end is missing")

var errPosition = errors.New("only the first and the last record of a snapshot may have its kind")

func (snapshotBegun) apply(context.Context, *memory.Store) error { return errPosition }
func (completed) apply(context.Context, *memory.Store) error     { return errPosition }

// wholeRun is a memory.RunState.
type wholeRun struct {
	Run      verification.RunID          `json:"run"`
	Tenant   verification.TenantID       `json:"tenant"`
	Summary  verification.Summary        `json:"summary"`
	Claim    verification.Claim          `json:"claim"`
	Keys     []store.SearchKey           `json:"keys"`
	Screened []verification.ScreenedList `json:"screened"`
	Length   int                         `json:"length"` // of the history
	Events   history                     `json:"events"`
}

// history has the JSON of its events, which is decoded when a run is read.
type history struct {
	memory.History

	raw []byte // once it is read
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

func (r wholeRun) apply(ctx context.Context, m *memory.Store) error {
	return m.RestoreRun(ctx, r.state())
}

func (r wholeRun) state() memory.RunState {
	return memory.RunState{
		Ref:     verification.RunRef{Tenant: r.Tenant, Run: r.Run},
		Summary: r.Summary, Claim: r.Claim, Keys: r.Keys, Screened: r.Screened, History: memory.EncodedHistory(r.Events.raw, r.Length),
	}
}

// queued is a piece of work.
type queued struct {
	Workflow verification.WorkflowID `json:"workflow"`
	Piece    pieceState              `json:"piece"`
}

func (r queued) apply(ctx context.Context, m *memory.Store) error {
	p := r.Piece.piece()
	p.Workflow = r.Workflow
	return m.RestorePiece(ctx, p)
}

// wholeWorkflow is a workflow with its versions.
type wholeWorkflow struct {
	Tenant   verification.TenantID  `json:"tenant"`
	Workflow verification.Workflow  `json:"workflow"`
	Versions []verification.Version `json:"versions"`
}

func (r wholeWorkflow) apply(ctx context.Context, m *memory.Store) error {
	return m.RestoreWorkflow(ctx, memory.WorkflowState(r))
}

// lastPass is the last pass over a list.
type lastPass struct {
	Pass store.RescreenPass `json:"pass"`
}

func (r lastPass) apply(ctx context.Context, m *memory.Store) error {
	return m.RestorePass(ctx, r.Pass)
}

// measured has sums of measures.
type measured struct {
	Tenant   verification.TenantID   `json:"tenant"`
	Workflow verification.WorkflowID `json:"workflow"`
	Measures []view.Measure          `json:"measures"`
}

func (r measured) apply(ctx context.Context, m *memory.Store) error {
	return m.RestoreMeasures(ctx, memory.MeasureState(r))
}
