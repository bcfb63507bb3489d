// Redaction of all runs of a person.

package engine

import (
	"context"
	"fmt"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// maxRedactions is how many runs RedactRuns takes.
const maxRedactions = 10_000

// RunRedaction says what became of a run: Err is nil if it is redacted, or else why it is not.
type RunRedaction struct {
	Run verification.RunID
	Err error
}

// RedactRuns redacts every run that a query finds, as Redact does, the newest first. The query has a ReferenceID,
// or Keys of SearchKeys; its page and its time are not used. It finds neither redacted nor restricted runs.
// confirm is called with the runs first, also if there are none: if it returns an error, that is returned and
// nothing is redacted. It may be nil.
//
// Errors: ErrInvalid for a query that selects nobody or more than 10,000 runs. If the context ends, RedactRuns returns its error with the
// runs so far.
func (e *Engine) RedactRuns(
	ctx context.Context, t verification.TenantID, q store.RunQuery, by verification.Person, confirm func([]rules.Summary) error,
) ([]RunRedaction, error) {
	if q.ReferenceID == "" && len(q.Keys) == 0 || q.ReferenceID == rules.RedactedReference {
		return nil, verification.InvalidField("run", "reference_id", "must be the one of a person, or there must be search keys")
	}
	if err := e.auditSearch(ctx, t, q); err != nil {
		return nil, err
	}
	found, err := e.found(ctx, t, q)
	if err == nil && confirm != nil {
		err = confirm(found)
	}
	if err != nil {
		return nil, err
	}
	var done []RunRedaction
	for _, run := range found {
		_, err := e.Redact(ctx, t, run.ID, by)
		if ctx.Err() != nil {
			return done, ctx.Err()
		}
		done = append(done, RunRedaction{run.ID, err})
	}
	return done, nil
}

// found returns the runs that a query finds, each once. It reads the pages again until they show no other run:
// a run that is redacted or started meanwhile moves those below it.
func (e *Engine) found(ctx context.Context, t verification.TenantID, q store.RunQuery) (all []rules.Summary, err error) {
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
				return nil, verification.Invalid("run", fmt.Sprintf("%d runs are found, and at most %d are redacted at once", page.Total, maxRedactions))
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
