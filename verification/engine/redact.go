// Redaction: the personal data of a run is removed.

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Redact removes the personal data of a run for good, and returns what is left of it: see rules.Redact.
// The documents of the run are removed soon after. A run that was redacted before, and to which nothing was
// added since, stays as it is. The client is notified of the first redaction if the version of the run asks for
// workflow.NoticeRedacted. by is who asks for it; an API client has no Identity. reason stays in the history; it may be
// empty.
//
// Errors: ErrNotFound for the run, and ErrConflict with the reason while the run is live, needs a verdict, is
// under a hold, must be kept (see verification.Retention.KeepDays), or has a notice that is neither delivered
// nor given up.
func (e *Engine) Redact(
	ctx context.Context, t verification.TenantID, id verification.RunID, reason rules.RedactReason, by verification.Person,
) (rules.RunDetail, error) {
	ref := verification.RunRef{Tenant: t, Run: id}
	for attempt := 1; ; attempt++ {
		h, err := e.history(ctx, ref, true)
		if err != nil {
			return rules.RunDetail{}, err
		}
		redacted, err := rules.Redact(id, h.events, reason, by, e.now())
		if err != nil {
			return rules.RunDetail{}, err
		}
		if redacted == nil {
			return h.run.Detail(h.at), e.eraseAgain(ctx, ref, h.run)
		}
		if err := e.keeps(ctx, t, h.run); err != nil {
			return rules.RunDetail{}, err
		}
		told, revision, err := e.tellsOfRedaction(ctx, ref, h.run)
		if err != nil {
			return rules.RunDetail{}, err
		}
		after := rules.Fold(id, redacted)
		c := redaction(after, redacted, h.run.ScreenedLists(), e.now())
		c.WorkflowRevision = revision
		if told {
			c.Work[store.WorkKey{Kind: store.WorkAnnounce, Seq: len(redacted)}] = e.now()
		}
		c.Audit = auditOf(ctx, ref, len(h.events), redacted[len(h.events):])
		c.Erasure = erasureOf(ref, after.StartedAt, redacted[len(h.events):])
		err = e.commitEntry(ctx, ref, len(h.events), c)
		if err == nil {
			e.runs.remember(ref, after)
			e.log.InfoContext(ctx, "personal data of a run removed", "tenant", t, "run", id)
			e.runner.Due(store.WorkErase, e.now())
			return after.Detail(e.now()), nil
		}
		if !errors.Is(err, verification.ErrConflict) || attempt == maxSaves || !e.changed(ctx, ref, h, revision) {
			return rules.RunDetail{}, err
		}
		e.runs.forget(ref)
	}
}

// tellsOfRedaction reports whether a client is notified of the redaction of a run: of its first one, if the
// version of the run asks for it. It also returns the revision of the workflow that the commit depends on, or 0.
func (e *Engine) tellsOfRedaction(ctx context.Context, ref verification.RunRef, run rules.Run) (yes bool, revision int, err error) {
	if !run.RedactedAt.IsZero() {
		return false, 0, nil
	}
	v, err := e.store.Version(ctx, ref.Tenant, run.Started.Workflow, run.Started.VersionHash)
	if errors.Is(err, verification.ErrNotFound) { // nobody can say any more who asked for it
		return false, 0, nil
	}
	if err != nil {
		return false, 0, fmt.Errorf("read the version of run %s: %w", ref.Run, err)
	}
	s := &session{Engine: e, ref: ref, run: run}
	yes, revision = s.announces(ctx, slices.Contains(v.Definition.Notify, workflow.NoticeRedacted))
	return yes, revision, nil
}

// changed reports whether a run, or its workflow, is no longer what a refused append was decided on. The
// workflow is then read again for the next append.
func (e *Engine) changed(ctx context.Context, ref verification.RunRef, h runHistory, revision int) bool {
	events, err := e.store.Load(ctx, ref.Tenant, ref.Run, len(h.events))
	if err != nil || len(events) > 0 || revision == 0 {
		return err == nil && len(events) > 0
	}
	key := workflowKey{ref.Tenant, h.run.Started.Workflow}
	e.workflows.Delete(key)
	w, _, err := e.workflow(ctx, key)
	return err == nil && w.Revision != revision
}

// redaction returns the commit of a redaction, whose events lead to a run.
func redaction(after rules.Run, redacted []rules.Event, screened []rules.ScreenedList, now time.Time) store.Commit {
	work := store.DueWork{
		{Kind: store.WorkAdvance}: {}, {Kind: store.WorkExpire}: after.NextDue(), {Kind: store.WorkErase}: now,
	}
	for _, l := range screened {
		work[store.WorkKey{Kind: store.WorkRescreen, List: l.List}] = time.Time{}
	}
	return store.Commit{Events: redacted, Summary: after.Summary(), Work: work, Rewrite: true}
}

// eraseAgain queues the removal of what a redacted run had beside the store, which may have been restored.
func (e *Engine) eraseAgain(ctx context.Context, ref verification.RunRef, r rules.Run) error {
	e.erasures.done(ref)
	err := e.store.Append(ctx, ref.Tenant, ref.Run, r.Seq, store.Commit{
		Summary: r.Summary(), Work: store.DueWork{{Kind: store.WorkErase}: e.now()},
	})
	if errors.Is(err, verification.ErrConflict) { // a verdict came since
		err = nil
	}
	e.runner.Due(store.WorkErase, e.now())
	return err
}

// RemoveDocuments removes the uploads of a run that is over, and records that; everything else of the run
// stays. removed is false if the run has none.
//
// Errors: ErrNotFound for the run, and ErrConflict with the reason while the run is live, needs a verdict, or
// is under a hold.
func (e *Engine) RemoveDocuments(ctx context.Context, t verification.TenantID, id verification.RunID) (removed bool, err error) {
	ref := verification.RunRef{Tenant: t, Run: id}
	for attempt := 1; ; attempt++ {
		run, err := e.load(ctx, ref)
		if err != nil {
			return false, err
		}
		events, err := rules.RemoveDocuments(run, e.now())
		if err != nil || events == nil {
			return false, err
		}
		after := run.EvolveAll(events)
		err = e.store.Append(ctx, t, id, run.Seq, store.Commit{
			Events: events, Summary: after.Summary(), Work: store.DueWork{{Kind: store.WorkErase}: e.now()},
		})
		if err == nil {
			e.runs.remember(ref, after)
			e.log.InfoContext(ctx, "documents of a run removed", "tenant", t, "run", id)
			e.runner.Due(store.WorkErase, e.now())
			return true, nil
		}
		if !errors.Is(err, verification.ErrConflict) || attempt == maxSaves {
			return false, err
		}
	}
}
