// Redaction of all runs of a person.

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// maxRedactions is how many runs RedactRuns takes.
const maxRedactions = 10_000

// RunRedaction says what became of a run, or would become of it: Err is nil if it is redacted, or else why it is not.
type RunRedaction struct {
	Run verification.RunID
	Err error
}

// errRestricted is why RedactRuns leaves a restricted run.
var errRestricted error = verification.ConflictFor("run_restricted", "run", "the run is restricted: give it by its id, or lift the restriction")

// RedactRuns redacts every run that a query finds, as Redact does, the newest first. The query has a ReferenceID,
// or Keys of SearchKeys; its page and its time are not used. It finds no redacted runs. Restricted ones come last, as they are
// shown, and are left as they are.
// confirm is called with the runs first, also if there are none, and with those that cannot be redacted now: if it returns an error,
// that is returned and nothing is redacted. It may be nil.
//
// Errors: ErrInvalid for a query that selects nobody or more than 10,000 runs, and if more than 10,000 runs are restricted. If the context ends, RedactRuns returns its error with the
// runs so far.
func (e *Engine) RedactRuns(
	ctx context.Context, t verification.TenantID, q store.RunQuery, by verification.Person, confirm func(found []rules.Summary, left []RunRedaction) error,
) ([]RunRedaction, error) {
	if q.ReferenceID == "" && len(q.Keys) == 0 || q.ReferenceID == rules.RedactedReference {
		return nil, verification.InvalidField("run", "reference_id", "must be the one of a person, or there must be search keys")
	}
	if err := e.auditSearch(ctx, t, q); err != nil {
		return nil, err
	}
	search := redactions{e}
	found, err := search.found(ctx, t, q)
	if err != nil {
		return nil, err
	}
	restricted, err := search.restricted(ctx, t, q)
	if err == nil && confirm != nil {
		var left []RunRedaction
		if left, err = search.leftBy(ctx, t, found, restricted); err == nil {
			err = confirm(slices.Concat(found, restricted), left)
		}
	}
	if err != nil {
		return nil, err
	}
	var done []RunRedaction
	for _, run := range found {
		_, err := e.Redact(ctx, t, run.ID, "", by)
		if ctx.Err() != nil {
			return done, ctx.Err()
		}
		done = append(done, RunRedaction{run.ID, err})
	}
	for _, run := range restricted {
		done = append(done, RunRedaction{run.ID, errRestricted})
	}
	return done, nil
}

// redactions finds what RedactRuns redacts.
type redactions struct{ *Engine }

// leftBy returns the runs that RedactRuns leaves, and why.
func (e redactions) leftBy(ctx context.Context, t verification.TenantID, found, restricted []rules.Summary) (left []RunRedaction, err error) {
	for _, run := range found {
		h, err := e.history(ctx, verification.RunRef{Tenant: t, Run: run.ID}, true)
		if errors.Is(err, verification.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		_, why := rules.MayRedact(h.run, h.events)
		if why == nil {
			why = e.keeps(ctx, t, h.run)
		}
		if why != nil && !errors.Is(why, verification.ErrConflict) {
			return nil, why
		}
		if why != nil {
			left = append(left, RunRedaction{run.ID, why})
		}
	}
	for _, run := range restricted {
		left = append(left, RunRedaction{run.ID, errRestricted})
	}
	return left, nil
}

// restricted returns the restricted runs that a query would find if they were not restricted. No store finds them by it, so each
// restricted run of the tenant is read.
func (e redactions) restricted(ctx context.Context, t verification.TenantID, q store.RunQuery) (all []rules.Summary, err error) {
	found, err := e.found(ctx, t, store.RunQuery{ReferenceID: rules.RedactedReference, Restricted: true})
	if err != nil {
		return nil, err
	}
	for _, run := range found {
		s := &session{Engine: e.Engine, ref: verification.RunRef{Tenant: t, Run: run.ID}}
		h, err := e.history(ctx, s.ref, true)
		if errors.Is(err, verification.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		is := h.run.Started.ReferenceID == q.ReferenceID
		if q.ReferenceID == "" {
			s.run = h.run
			keys, err := s.keys(ctx, h.events)
			if err != nil {
				return nil, err
			}
			is = !slices.ContainsFunc(q.Keys, func(choice []store.SearchKey) bool {
				return !slices.ContainsFunc(choice, func(k store.SearchKey) bool { return slices.Contains(keys, k) })
			})
		}
		if is {
			all = append(all, run)
		}
	}
	return all, nil
}

// found returns the runs that a query finds, each once. It reads the pages again until they show no other run:
// a run that is redacted or started meanwhile moves those below it.
func (e redactions) found(ctx context.Context, t verification.TenantID, q store.RunQuery) (all []rules.Summary, err error) {
	seen := map[verification.RunID]bool{}
	for before := -1; before < len(all); {
		before = len(all)
		q.PageQuery = store.PageQuery{Limit: store.MaxLimit}
		for {
			page, _, err := e.RunSummaries(ctx, t, q)
			if err != nil {
				return nil, err
			}
			if page.Total > maxRedactions {
				what := "found, and at most %d are redacted at once"
				if q.Restricted {
					what = "restricted, and at most %d are looked through for a person: give the runs by their ids"
				}
				return nil, verification.Invalid("run", fmt.Sprintf("%d runs are "+what, page.Total, maxRedactions))
			}
			for _, run := range page.Data {
				if !seen[run.ID] {
					seen[run.ID], all = true, append(all, run)
				}
			}
			if q.Offset += len(page.Data); q.Offset >= page.Total || len(page.Data) == 0 {
				break
			}
		}
	}
	return all, nil
}
