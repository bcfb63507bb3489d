// Restores: what the ledger of erasures says of runs is done again in a store that is of a time before.

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// applyWindow is how many entries of the ledger are in memory while they are applied.
const applyWindow = 100_000

// AppliedErasures is what ApplyErasures has done.
type AppliedErasures struct {
	Redacted, Deleted int
	// Kept counts holds and restrictions that began or ended again.
	Kept int
	// Failed counts the runs for which an entry could not be applied. The log has the reason for each.
	Failed int
}

// ledgerReader is who does what the ledger says.
func ledgerReader() verification.Person {
	return verification.Person{Name: "ledger of erasures", Identity: "verifyd#ledger"}
}

// ApplyErasures checks the ledger, writes what it is owed, and does again what it says after the state that the store
// was restored to: see verification.ErasureLedger. A live run that is redacted or restricted is cancelled first, a hold
// ends before a redaction, and notices of the run are dropped. The store remembers up to which entry that was done, so
// that a call that was interrupted is continued by the next one. A host calls it before it serves requests; several
// hosts may do so at once, and each returns once all is done.
//
// It returns a LedgerError if the ledger is damaged, unless accept is its Name: then the ledger counts as it is from
// now on. It returns another error if the store or the ledger cannot be read or written now. A run for which an entry
// cannot be applied is logged and counted.
func (e *Engine) ApplyErasures(ctx context.Context, accept string) (applied AppliedErasures, err error) {
	mark, err := e.checkLedger(ctx, accept)
	if err != nil || e.ports.Ledger == nil {
		return applied, err
	}
	e.erasures.opened.Store(true)
	last := mark.Last
	for from := mark.Applied + 1; from <= last; from += applyWindow {
		entries, err := e.entriesFrom(ctx, from, min(last, from+applyWindow-1))
		if err != nil {
			return applied, err
		}
		for _, entry := range entries {
			if err := e.applyOnce(ctx, entry, &applied); err != nil {
				return applied, err
			}
		}
		if mark, err = tablesOf(e).LedgerMark(ctx); err != nil {
			return applied, err
		}
		if err := e.appliedTo(ctx, mark, min(last, from+applyWindow-1)); err != nil {
			return applied, err
		}
	}
	return applied, nil
}

// entriesFrom returns the entries from one number to another, in order.
func (e *Engine) entriesFrom(ctx context.Context, from, to int64) (all []verification.Erasure, err error) {
	unnumbered := int64(0)
	err = e.ports.Ledger.EachErasure(ctx, func(entry verification.Erasure) bool {
		if entry.Number == 0 && entry.Run != "" {
			unnumbered++
			entry.Number = unnumbered
		}
		if entry.Run != "" && from <= entry.Number && entry.Number <= to {
			all = append(all, entry)
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b verification.Erasure) int { return cmp.Compare(a.Number, b.Number) })
	return slices.Compact(all), err
}

// applyOnce applies an entry, unless another host has done so, and has the store remember it.
func (e *Engine) applyOnce(ctx context.Context, entry verification.Erasure, applied *AppliedErasures) error {
	mark, err := tablesOf(e).LedgerMark(ctx)
	if err != nil || mark.Applied >= entry.Number {
		return err
	}
	did, err := e.applyErasure(ctx, entry)
	switch {
	case err != nil && (ctx.Err() != nil || temporary(err)):
		return fmt.Errorf("apply the entry %d of the ledger, of run %s: %w", entry.Number, entry.Run, err)
	case err != nil:
		applied.Failed++
		e.log.ErrorContext(ctx, "the store was restored, and what the ledger of erasures says of a run cannot be done now: do it by hand",
			"tenant", entry.Tenant, "run", entry.Run, "erasure", entry.Kind, "error", err)
	case !did:
		return nil // the position is saved with the next one
	case entry.Kind == verification.ErasureDeleted:
		applied.Deleted++
	case entry.Kind == verification.ErasureRedacted:
		applied.Redacted++
	default:
		applied.Kept++
	}
	return e.appliedTo(ctx, mark, entry.Number)
}

// appliedTo has the store, whose mark was the given one, remember that the entries up to a number are applied.
func (e *Engine) appliedTo(ctx context.Context, was store.LedgerMark, number int64) error {
	for attempt := 1; was.Applied < number; attempt++ {
		mark := was
		mark.Applied = number
		err := tablesOf(e).SaveLedgerMark(ctx, was, mark, nil)
		if !errors.Is(err, verification.ErrConflict) || attempt == maxSaves {
			return err
		}
		if was, err = tablesOf(e).LedgerMark(ctx); err != nil {
			return err
		}
	}
	return nil
}

// applyErasure does what an entry says. did is false if there is nothing to do.
func (e *Engine) applyErasure(ctx context.Context, entry verification.Erasure) (did bool, err error) {
	ref := verification.RunRef{Tenant: entry.Tenant, Run: entry.Run}
	removes := entry.Kind == verification.ErasureRedacted || entry.Kind == verification.ErasureDeleted
	for attempt := 1; ; attempt++ {
		history, err := e.ports.Store.Load(ctx, entry.Tenant, entry.Run, 0)
		if err != nil && !errors.Is(err, verification.ErrNotFound) {
			return false, err
		}
		var c store.Commit
		if err == nil {
			if c, err = e.restoring(ctx, entry, history); err != nil {
				return false, err
			}
		}
		did = c.Delete || c.Events != nil
		if did {
			err = e.ports.Store.Append(ctx, entry.Tenant, entry.Run, len(history), c)
		} else {
			err = nil
		}
		if err == nil {
			if removes && e.ports.Documents != nil { // also those of a run that the store does not have
				if err := e.ports.Documents.RemoveDocuments(ctx, ref); err != nil {
					return did, verification.Unavailable("document", "uploads cannot be removed: "+err.Error())
				}
			}
			if did {
				e.runs.forget(ref)
				e.runner.Due(store.WorkErase, e.now())
				e.log.WarnContext(ctx, "the store was restored: what the ledger of erasures says of a run was done again",
					"tenant", entry.Tenant, "run", entry.Run, "erasure", entry.Kind, "at", entry.At)
			}
			return did, nil
		}
		if !errors.Is(err, verification.ErrConflict) || attempt == maxSaves {
			return false, err
		}
		if err := e.dropNotices(ctx, ref, rules.Fold(entry.Run, history)); err != nil && !errors.Is(err, verification.ErrConflict) {
			return false, err
		}
	}
}

// restoring returns the commit that does what an entry says to a run with a history; without events for none.
func (e *Engine) restoring(ctx context.Context, entry verification.Erasure, history []rules.Event) (c store.Commit, err error) {
	run, now := rules.Fold(entry.Run, history), e.now()
	ref := verification.RunRef{Tenant: entry.Tenant, Run: entry.Run}
	// The trail may be as old as the run is.
	ctx = verification.WithActor(ctx, verification.Actor{Kind: verification.ActorSystem, Name: ledgerReader().Name})
	var events, ended []rules.Event
	switch entry.Kind {
	case verification.ErasureDeleted:
		return store.Commit{Delete: true, Audit: auditOfDeletion(ctx, ref, len(history), now)}, nil
	case verification.ErasureRedacted:
		if events, ended = rules.RedactRestored(entry.Run, history, entry.At, ledgerReader(), now); events != nil {
			c = redaction(rules.Fold(entry.Run, events), events, run.ScreenedLists(), now)
			c.Audit = auditOf(ctx, ref, run.Seq, events[run.Seq:])
		}
	case verification.ErasureLimited, verification.ErasureLifted, verification.ErasureHeld, verification.ErasureReleased:
		if events, ended = rules.KeepRestored(entry.Run, history, entry.Kind, ledgerReader(), now); events != nil {
			return e.keeping(ctx, entry, run, events, ended)
		}
	case verification.ErasureOpened, verification.ErasureLost, verification.ErasureUnreadable, verification.ErasureUnfinished, verification.ErasureCounted:
	}
	if events != nil {
		c.Measures = store.Measures(run, ended, e.location(run.Started.Zone))
	}
	return c, nil
}

// keeping returns the commit of a hold or restriction that begins or ends again.
func (e *Engine) keeping(ctx context.Context, entry verification.Erasure, before rules.Run, events, ended []rules.Event) (store.Commit, error) {
	shown := rules.Fold(entry.Run, rules.Shown(events))
	s := &session{Engine: e, ref: verification.RunRef{Tenant: entry.Tenant, Run: entry.Run}, run: shown, waitless: true}
	c := store.Commit{
		Events: events, Summary: shown.Summary(), Rewrite: true, Work: store.DueWork{},
		Measures: store.Measures(before, ended, e.location(before.Started.Zone)),
	}
	if c.Summary.Review != nil || entry.Kind != verification.ErasureLimited {
		if err := s.loadProgram(ctx); err != nil {
			return c, err
		}
		c.Summary = s.withBrief(c.Summary, shown)
	}
	keys, err := s.keys(ctx, events)
	if err != nil {
		return c, err
	}
	work := store.DueWork{}
	switch entry.Kind {
	case verification.ErasureLimited:
		work[store.WorkKey{Kind: store.WorkAdvance}], work[store.WorkKey{Kind: store.WorkExpire}] = time.Time{}, shown.NextDue()
		for _, l := range before.ScreenedLists() {
			work[store.WorkKey{Kind: store.WorkRescreen, List: l.List}] = time.Time{}
		}
	case verification.ErasureLifted:
		work[store.WorkKey{Kind: store.WorkRecheck}] = e.now()
		if c.Keys = keys; shown.Ended == rules.StatusCompleted {
			c.Screened = shown.ScreenedLists()
		}
	case verification.ErasureHeld, verification.ErasureReleased, verification.ErasureRedacted, verification.ErasureDeleted, verification.ErasureOpened,
		verification.ErasureLost, verification.ErasureUnreadable, verification.ErasureUnfinished, verification.ErasureCounted:
		// A hold or its end is added, and nothing else changes. The others do not come here.
		c.Rewrite, c.Events = false, events[before.Seq:]
	}
	c.Work = work
	c.Audit = auditOf(ctx, s.ref, before.Seq, events[before.Seq:])
	return c, nil
}
