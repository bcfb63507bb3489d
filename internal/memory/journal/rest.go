// Large records: a long history, or a workflow with many versions, is several records.

package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

const (
	// defaultPartBytes is how much memory the events in one record need. Their JSON may be larger.
	defaultPartBytes = 4 << 20
	// partVersions is how many versions of a workflow are in one record. See
	// workflow.MaxDefinitionBytes.
	partVersions = 8
)

// restSaved has the next part of the run or the workflow in the record before. One of Events and
// Versions is set.
type restSaved struct {
	Run      verification.RunID      `json:"run"`
	Workflow verification.WorkflowID `json:"workflow"`
	Tenant   verification.TenantID   `json:"tenant"`
	From     int                     `json:"from"` // how many are in the records before
	Length   int                     `json:"length"`
	Events   history                 `json:"events"`
	Versions []workflow.Version      `json:"versions"`
	Rest     int                     `json:"rest"` // how many are in the records that follow
}

func (r restSaved) apply(ctx context.Context, m *memstore.Store) error {
	if r.Run == "" {
		return memstore.ExtendWorkflow(ctx, m, r.Tenant, r.Workflow, r.From, r.Versions)
	}
	return memstore.ExtendRun(ctx, m, verification.RunRef{Tenant: r.Tenant, Run: r.Run}, r.From, r.Events.of(r.Length))
}

// entriesOf returns the records with a record of a store.
func entriesOf(r store.Record, partBytes int) iter.Seq2[entry, error] {
	switch r := r.(type) {
	case store.RunRecord:
		return entriesOfRun(runState(r), partBytes)
	case store.WorkflowRecord:
		return entriesOfWorkflow(r)
	}
	return func(yield func(entry, error) bool) {
		saved, err := newRecordSaved(r)
		yield(entry{kind: kindRecord, record: saved}, err)
	}
}

func runState(r store.RunRecord) memstore.RunState {
	return memstore.RunState{
		Ref: r.Run, Summary: r.Summary, Claim: r.Claim, Keys: r.Keys, Screened: r.Screened, History: memstore.NewHistory(r.Events), Work: r.Work,
	}
}

// entriesOfRun returns the records with a run.
func entriesOfRun(r memstore.RunState, partBytes int) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		total, from := r.History.Len(), 0
		for part := range r.History.Parts(partBytes) {
			if part.Len() == total {
				r.History = part
				yield(entry{kind: kindRecord, record: recordSaved{Run: newRunSaved(r)}}, nil)
				return
			}
			raw, err := part.Encode()
			part = memstore.EncodedHistory(raw, part.Len())
			rest := total - from - part.Len()
			var e entry
			if from == 0 {
				first := r
				first.History = part
				saved := newRunSaved(first)
				saved.Rest = rest
				e = entry{kind: kindRecord, record: recordSaved{Run: saved}}
			} else {
				e = entry{kind: kindRest, record: restSaved{
					Run: r.Ref.Run, Tenant: r.Ref.Tenant, From: from, Length: part.Len(), Events: history{History: part}, Rest: rest,
				}}
			}
			if !yield(e, err) || err != nil {
				return
			}
			from += part.Len()
		}
	}
}

// entriesOfWorkflow returns the records with a workflow.
func entriesOfWorkflow(r store.WorkflowRecord) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		versions := r.Versions
		first := min(len(versions), partVersions)
		r.Versions = versions[:first:first]
		if !yield(entry{kind: kindRecord, record: recordSaved{Workflow: &r, Rest: len(versions) - first}}, nil) {
			return
		}
		from := first
		for part := range slices.Chunk(versions[first:], partVersions) {
			rest := restSaved{Workflow: r.Workflow.ID, Tenant: r.Tenant, From: from, Length: len(part), Versions: part, Rest: len(versions) - from - len(part)}
			if !yield(entry{kind: kindRest, record: rest}, nil) {
				return
			}
			from += len(part)
		}
	}
}

// whole checks that large records are complete.
type whole struct {
	of   string // what the last record is of
	rest int    // of it, in the records that follow
}

// next notes the next record.
func (w *whole) next(r record) error {
	of, length, rest := "", 0, 0
	switch r := r.(type) {
	case restSaved:
		of, length, rest = "run "+string(r.Run), r.Length, r.Rest
		if r.Run == "" {
			of, length = "workflow "+string(r.Workflow), len(r.Versions)
		}
		if of != w.of || length+rest != w.rest {
			return errors.New("it is the rest of another record")
		}
	default:
		if err := w.end(); err != nil {
			return err
		}
		if saved, ok := r.(recordSaved); ok && saved.Run != nil {
			of, rest = "run "+string(saved.Run.Run), saved.Run.Rest
		} else if ok && saved.Workflow != nil {
			of, rest = "workflow "+string(saved.Workflow.Workflow.ID), saved.Rest
		}
	}
	w.of, w.rest = of, rest
	return nil
}

// end returns an error if the last record is not complete.
func (w *whole) end() error {
	if w.rest > 0 {
		return fmt.Errorf("the rest of %s is missing before it", w.of)
	}
	return nil
}
