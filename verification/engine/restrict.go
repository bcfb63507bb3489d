// Restriction: a run is kept in full, and read like a redacted one.

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Restrict hides the personal data of a run until LiftRestriction, and returns what is shown of it: see
// rules.Restrict. Only HistoryInFull and OpenDocumentInFull read it. It is found neither by its reference id nor by
// a person, it is not screened again, and its decisions clear no hit. A run that was restricted before, and to which
// nothing was added since, stays as it is. by is who asks for it, and has an Identity.
//
// Errors: ErrNotFound for the run, ErrInvalid without a reason or an Identity, rules.ErrRedacted, and ErrConflict
// with the reason while the run is live, needs a verdict, or has a notice that is neither delivered nor given up.
func (e *Engine) Restrict(
	ctx context.Context, t verification.TenantID, id verification.RunID, reason string, by verification.Person,
) (rules.RunDetail, error) {
	d, err := e.rewriteRun(ctx, verification.RunRef{Tenant: t, Run: id}, func(h runHistory) (c store.Commit, err error) {
		if c.Events, err = rules.Restrict(id, h.events, reason, by, e.now()); err != nil || c.Events == nil {
			return c, err
		}
		c.Work = store.DueWork{{Kind: store.WorkAdvance}: {}, {Kind: store.WorkExpire}: {}}
		for _, l := range h.run.ScreenedLists() {
			c.Work[store.WorkKey{Kind: store.WorkRescreen, List: l.List}] = time.Time{}
		}
		return c, nil
	})
	if err == nil {
		e.log.InfoContext(ctx, "run restricted", "tenant", t, "run", id)
	}
	return d, err
}

// LiftRestriction ends the restriction of a run, and returns the run: see rules.LiftRestriction. The run is
// then screened against the versions of lists that came meanwhile. Without Options.SearchKey, another host makes
// it known to searches for a person.
//
// Errors: ErrNotFound for the run, ErrInvalid without a reason or an Identity, rules.ErrRedacted,
// rules.ErrNotRestricted, and ErrConflict while it has a notice that is neither delivered nor given up.
func (e *Engine) LiftRestriction(
	ctx context.Context, t verification.TenantID, id verification.RunID, reason string, by verification.Person,
) (rules.RunDetail, error) {
	ref := verification.RunRef{Tenant: t, Run: id}
	d, err := e.rewriteRun(ctx, ref, func(h runHistory) (c store.Commit, err error) {
		if c.Events, err = rules.LiftRestriction(id, h.events, reason, by, e.now()); err != nil {
			return c, err
		}
		s := &session{Engine: e, ref: ref, run: rules.Fold(id, c.Events)}
		if c.Keys, err = s.keys(ctx, c.Events); err != nil {
			return c, err
		}
		c.Work = store.DueWork{{Kind: store.WorkAdvance}: {}, {Kind: store.WorkExpire}: {}}
		if s.run.Ended == rules.StatusCompleted {
			c.Screened = s.run.ScreenedLists()
		}
		// Other runs may rest on its decisions, which a verdict may have changed since, and it may rest on
		// decisions in other runs.
		if decided, _ := askedOf(s.run); !e.Searches() || len(decided) > 0 || s.run.ClearedByOthers() > 0 {
			c.Work[store.WorkKey{Kind: store.WorkRecheck}] = e.now()
		}
		return c, nil
	})
	if err == nil {
		e.log.InfoContext(ctx, "restriction of a run lifted", "tenant", t, "run", id)
	}
	return d, err
}

// findAgain saves the search keys of a run whose restriction was lifted, perhaps by an engine without
// Options.SearchKey.
func (s *session) findAgain(ctx context.Context) error {
	events, err := s.ports.Store.Load(ctx, s.ref.Tenant, s.ref.Run, 0)
	if err != nil {
		return err
	}
	keys, err := s.keys(ctx, events)
	if err != nil || keys == nil {
		return err
	}
	return s.ports.Store.Append(ctx, s.ref.Tenant, s.ref.Run, s.run.Seq, store.Commit{
		Summary: s.withBrief(s.run.Summary(), s.run), Work: store.DueWork{}, Keys: keys,
	})
}

// keys returns all search keys of a run with these events.
func (s *session) keys(ctx context.Context, events []rules.Event) ([]store.SearchKey, error) {
	if !s.Searches() {
		return nil, nil
	}
	if err := s.loadProgram(ctx); err != nil {
		return nil, err
	}
	return s.commitKeys(s.run, events), nil
}

// rewriteRun replaces the history of a run by the events of the commit that change returns, and returns the run as it
// is shown afterwards. If there are none, nothing changes. change is given the whole history, also of a restricted
// run, and is called again if another request changes the run first.
func (e *Engine) rewriteRun(ctx context.Context, ref verification.RunRef, change func(runHistory) (store.Commit, error)) (rules.RunDetail, error) {
	for attempt := 1; ; attempt++ {
		h, err := e.history(ctx, ref, true)
		if err != nil {
			return rules.RunDetail{}, err
		}
		c, err := change(h)
		if err != nil {
			return rules.RunDetail{}, err
		}
		if c.Events == nil {
			return rules.Fold(ref.Run, rules.Shown(h.events)).Detail(h.at), nil
		}
		after := rules.Fold(ref.Run, rules.Shown(c.Events))
		c.Rewrite, c.Summary = true, after.Summary()
		c.Audit = auditOf(ctx, ref, len(h.events), c.Events[len(h.events):])
		c.Erasure = erasureOf(ref, after.StartedAt, c.Events[len(h.events):])
		if err = e.commitEntry(ctx, ref, len(h.events), c); err == nil {
			e.runs.remember(ref, after)
			e.runner.Nudge(e.now())
			return after.Detail(e.now()), nil
		}
		changed, loadErr := e.store.Load(ctx, ref.Tenant, ref.Run, len(h.events))
		if !errors.Is(err, verification.ErrConflict) || loadErr != nil || len(changed) == 0 || attempt == maxSaves {
			return rules.RunDetail{}, err
		}
		e.runs.forget(ref)
	}
}
