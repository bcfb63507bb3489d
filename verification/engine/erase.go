// Erasures: what a redacted run has beside the store is removed, until nothing of it is left anywhere.

package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// The times of erasures.
const (
	unusedFor   = 24 * time.Hour   // that uploads which no answer names are kept
	eraseAgain  = time.Minute      // after a failure, and while something is not gone
	eraseLater  = time.Hour        // after the hosts that did it kept stopping
	cachedFor   = 11 * time.Minute // after its redaction, no cache of a host has a run any more
	maxErasures = 100_000          // pending redactions of which a host knows what it has done
)

// keepsDocuments reports whether this host, or another one that may carry out its work, has documents.
func (e *Engine) keepsDocuments() bool { return e.ports.Documents != nil || e.opt.Passive }

// erasures is what this host has done for redactions that are not complete.
type erasures struct {
	opened atomic.Bool // the store has a mark of the ledger
	noting sync.Mutex

	mu sync.Mutex
	of map[verification.RunRef]erasing
}

// erasing is how far this host has come with a redaction.
type erasing struct {
	at    time.Time // of the redaction
	begun bool      // the documents are gone, and the ledger has the redaction
	mark  int64     // of Removals, since then
}

// get returns how far this host has come with a redaction of a time.
func (a *erasures) get(ref verification.RunRef, at time.Time) erasing {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.of[ref]
	if !s.at.Equal(at) {
		s = erasing{at: at}
	}
	return s
}

func (a *erasures) put(ref verification.RunRef, s erasing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.of) < maxErasures {
		a.of[ref] = s
	}
}

func (a *erasures) done(ref verification.RunRef) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.of, ref)
}

// PendingRedactions returns how many redactions this host works on that are not complete, and the time of the
// oldest one; zero if there are none.
func (e *Engine) PendingRedactions() (n int, oldest time.Time) {
	e.erasures.mu.Lock()
	defer e.erasures.mu.Unlock()
	for _, s := range e.erasures.of {
		if oldest.IsZero() || s.at.Before(oldest) {
			oldest = s.at
		}
	}
	return len(e.erasures.of), oldest
}

// eraser removes what runs have beside the store.
type eraser struct{ *Engine }

// eraseRun removes what a redacted run has beside the store, or the uploads of another run that no answer can
// name any more. It is repeated until it has succeeded, and until a redaction is complete.
func (e eraser) eraseRun(ctx context.Context, w store.Work) error {
	log := e.log.With("run", w.Run, "tenant", w.Tenant)
	if w.Lost >= runner.MaxLost {
		log.Error("data beside the store not removed: the hosts that tried kept stopping; the next attempt is in an hour")
		return e.ports.Store.Postpone(ctx, w, e.now().Add(eraseLater))
	}
	limited, cancel := context.WithTimeout(ctx, e.opt.Lease/2)
	defer cancel()
	again, err := e.erase(limited, w)
	for attempt := 1; errors.Is(err, verification.ErrConflict) && attempt < maxSaves; attempt++ { // the run was changed meanwhile
		again, err = e.erase(limited, w)
	}
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil {
		log.Warn("data beside the store not removed; it is later", "error", err)
		again = e.now().Add(eraseAgain)
	}
	if again.IsZero() {
		return nil
	}
	err = e.ports.Store.Release(ctx, []store.Work{w}, again)
	e.runner.Due(store.WorkErase, again)
	return err
}

// erase is one attempt. again is the time of the next one; zero if the work is done.
func (e eraser) erase(ctx context.Context, w store.Work) (again time.Time, err error) {
	history, err := e.ports.Store.Load(ctx, w.Tenant, w.Run, 0)
	if errors.Is(err, verification.ErrNotFound) { // it was deleted
		e.erasures.done(w.RunRef)
		return time.Time{}, e.ports.Store.Finish(ctx, w)
	}
	if err != nil {
		return time.Time{}, err
	}
	run := rules.Fold(w.Run, history)
	if run.RedactedAt.IsZero() {
		if err := e.removeUnused(ctx, w.RunRef, run.UnusedDocuments(history)); err != nil {
			return time.Time{}, err
		}
		return time.Time{}, e.ports.Store.Finish(ctx, w)
	}
	s := e.erasures.get(w.RunRef, run.RedactedAt)
	if !s.begun {
		e.erasures.put(w.RunRef, s) // which counts it
		if s.mark, err = e.beginErasing(ctx, w.RunRef); err != nil {
			return time.Time{}, err
		}
		s.begun = true
		e.erasures.put(w.RunRef, s)
	}
	if !run.ErasedAt.IsZero() { // what was restored beside the store is gone again
		e.erasures.done(w.RunRef)
		return time.Time{}, e.ports.Store.Finish(ctx, w)
	}
	if aged := run.RedactedAt.Add(cachedFor); e.now().Before(aged) {
		return aged, nil
	}
	if e.ports.Removals != nil {
		if _, gone, err := e.ports.Removals.Removed(ctx, s.mark); err != nil || !gone {
			return e.now().Add(eraseAgain), err
		}
	}
	if e.ports.Documents != nil { // again: what was being uploaded then has ended
		if err := e.ports.Documents.RemoveDocuments(ctx, w.RunRef); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, e.erased(ctx, w.RunRef, run)
}

// beginErasing removes the documents of a redacted run, sees to it that the ledger has the redaction, and returns the
// mark of Removals.
func (e eraser) beginErasing(ctx context.Context, ref verification.RunRef) (mark int64, err error) {
	if e.ports.Documents != nil {
		if err := e.ports.Documents.RemoveDocuments(ctx, ref); err != nil {
			return 0, err
		}
	}
	if err := e.NoteErasures(ctx); err != nil {
		return 0, err
	}
	if e.ports.Removals == nil {
		return 0, nil
	}
	mark, _, err = e.ports.Removals.Removed(ctx, 0)
	return mark, err
}

// erased records that the redaction of a run is complete, which ends the work.
func (e eraser) erased(ctx context.Context, ref verification.RunRef, run rules.Run) error {
	events := rules.RecordErased(run, e.now())
	after := run.EvolveAll(events)
	if err := e.ports.Store.Append(ctx, ref.Tenant, ref.Run, run.Seq, store.Commit{
		Events: events, Summary: after.Summary(), Work: store.DueWork{{Kind: store.WorkErase}: {}},
	}); err != nil {
		return err
	}
	e.erasures.done(ref)
	return nil
}

// removeUnused removes documents of a run.
func (e eraser) removeUnused(ctx context.Context, ref verification.RunRef, ids []string) error {
	if e.ports.Documents == nil {
		return nil
	}
	for _, id := range ids {
		if err := e.ports.Documents.RemoveDocument(ctx, ref, id); err != nil {
			return err
		}
	}
	return nil
}

// dropNotices removes the notices of a run from the queue.
func (e *Engine) dropNotices(ctx context.Context, ref verification.RunRef, run rules.Run) error {
	work := store.DueWork{}
	for seq := range run.Seq + 1 {
		work[store.WorkKey{Kind: store.WorkAnnounce, Seq: seq}] = time.Time{}
	}
	e.log.WarnContext(ctx, "the store was restored: notices of a run that was erased are not sent", "tenant", ref.Tenant, "run", ref.Run)
	return e.ports.Store.Append(ctx, ref.Tenant, ref.Run, run.Seq, store.Commit{Summary: run.Summary(), Work: work})
}
