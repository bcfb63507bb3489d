// Declined consents: runs that need no judgement, and are closed together.

package queue

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// declinedAlone reports whether all that flags a run is that its customer declined the consent,
// and the reviewer may decide on it.
func declinedAlone(s shell.Session, v rules.Review) bool {
	return v.OpenTo(s.Person()) && v.Proposed == rules.DecisionNone && slices.Equal(v.Causes, []rules.Cause{rules.CauseConsent})
}

// CloseDeclined rejects the runs of the form whose customers declined the consent. A run that has
// changed since then stays in the queue, and so does a run whose workflow asks for more than notes.
func (p *Pages) CloseDeclined(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	at := "/queue" + FilterOf(r.URL.Query()).Query()
	ids := r.PostForm["run"]
	closed := 0
	for _, text := range ids[:min(len(ids), shell.PageQuery(1).Limit)] {
		id, err := verification.ParseRunID(text)
		if err != nil {
			continue
		}
		ok, err := p.closeRun(r.Context(), s, id, shell.NotesOf(r))
		if err != nil {
			return err
		}
		if ok {
			closed++
		}
	}
	if left := len(ids) - closed; left > 0 {
		return p.shell.Done(w, at, "done.declined.left", strconv.Itoa(closed), strconv.Itoa(left))
	}
	return p.shell.Done(w, at, "done.declined", strconv.Itoa(closed))
}

// closeRun rejects a run if it still needs a verdict for its consent alone. ok is false if it was left.
func (p *Pages) closeRun(ctx context.Context, s shell.Session, id verification.RunID, notes string) (ok bool, err error) {
	run, err := p.shell.Engine.Run(ctx, s.Tenant, id) // before its review: a later change is refused
	var review rules.Review
	if err == nil {
		review, err = p.shell.Engine.Review(ctx, s.Tenant, id)
	}
	if errors.Is(err, verification.ErrNotFound) || err == nil && !declinedAlone(s, review) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = p.shell.Engine.GiveVerdict(ctx, s.Tenant, id, rules.GiveVerdict{
		Decision: rules.DecisionReject, Notes: notes, Justified: true, By: s.Name, Identity: s.Identity, Seq: run.Seq,
	}, "")
	refused := errors.Is(err, verification.ErrConflict) || errors.Is(err, verification.ErrInvalid) || errors.Is(err, verification.ErrNotOpen)
	if refused {
		return false, nil
	}
	return err == nil, err
}
