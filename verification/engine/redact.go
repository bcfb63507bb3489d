// Redaction: the personal data of a run is removed.

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Redact removes the personal data of a run for good, and returns what is left of it: see rules.Redact.
// The documents of the run are removed soon after. A run that was redacted before, and to which nothing was
// added since, stays as it is. by is who asks for it; an API client has no Identity.
//
// Errors: ErrNotFound for the run, and ErrConflict with the reason while the run is live, needs a verdict, or
// has a notice that is neither delivered nor given up.
func (e *Engine) Redact(
	ctx context.Context, t verification.TenantID, id verification.RunID, by verification.Person,
) (rules.RunDetail, error) {
	ref := verification.RunRef{Tenant: t, Run: id}
	for attempt := 1; ; attempt++ {
		h, err := e.history(ctx, ref)
		if err != nil {
			return rules.RunDetail{}, err
		}
		redacted, err := rules.Redact(id, h.events, by, e.now())
		if err != nil {
			return rules.RunDetail{}, err
		}
		if redacted == nil {
			return h.run.Detail(h.at), e.eraseAgain(ctx, ref, h.run)
		}
		after := rules.Fold(id, redacted)
		work := store.DueWork{{Kind: store.WorkAdvance}: {}, {Kind: store.WorkExpire}: {}}
		if e.ports.Documents != nil || e.opt.Passive { // then another host may have them
			work[store.WorkKey{Kind: store.WorkRecheck}] = e.now()
		}
		for _, l := range h.run.ScreenedLists() {
			work[store.WorkKey{Kind: store.WorkRescreen, List: l.List}] = time.Time{}
		}
		err = e.store.Append(ctx, t, id, len(h.events), store.Commit{
			Events: redacted, Summary: after.Summary(), Work: work, Rewrite: true,
		})
		if err == nil {
			e.remember(ref, after)
			e.log.InfoContext(ctx, "personal data of a run removed", "tenant", t, "run", id)
			e.runner.Nudge(e.now())
			return after.Detail(e.now()), nil
		}
		changed, loadErr := e.store.Load(ctx, t, id, len(h.events))
		if !errors.Is(err, verification.ErrConflict) || loadErr != nil || len(changed) == 0 || attempt == maxSaves {
			return rules.RunDetail{}, err
		}
		e.runs.Delete(ref)
	}
}

// eraseAgain queues the removal of the documents of a redacted run, which may have been given up.
func (e *Engine) eraseAgain(ctx context.Context, ref verification.RunRef, r rules.Run) error {
	if e.ports.Documents == nil && !e.opt.Passive {
		return nil
	}
	err := e.store.Append(ctx, ref.Tenant, ref.Run, r.Seq, store.Commit{
		Summary: r.Summary(), Work: store.DueWork{{Kind: store.WorkRecheck}: e.now()},
	})
	if errors.Is(err, verification.ErrConflict) { // a verdict came since
		err = nil
	}
	e.runner.Nudge(e.now())
	return err
}

// erase removes the documents of a redacted run.
func (e *Engine) erase(ctx context.Context, ref verification.RunRef) error {
	if e.ports.Documents == nil {
		return nil
	}
	return e.ports.Documents.RemoveDocuments(ctx, ref)
}
