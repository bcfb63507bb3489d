// The next run of the queue for a person.

package queue

import (
	"context"
	"net/http"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// maxNext is how many runs of the queue are looked at for the next one.
const maxNext = 20

// NextForMe leads to the first run of the queue that is assigned to the person, or to
// nobody.
func (p *Pages) NextForMe(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	f := FilterOf(r.URL.Query()).first()
	id, err := p.nextRun(r.Context(), s, f, "", nil)
	switch {
	case err != nil:
		return err
	case id == "":
		return p.shell.Done(w, "/queue"+f.Query(), "done.none")
	}
	return shell.Redirect(w, s.Base+"/runs/"+string(id)+f.Query())
}

// NextPath returns the path of the next run of the queue after a position, see nextRun.
// Without such a run, it returns the path of the queue, and that of another list if the run
// was opened from there.
func (p *Pages) NextPath(ctx context.Context, s shell.Session, id verification.RunID, position string, f Filter) string {
	f = f.first()
	if f.Back != "" {
		return f.Back
	}
	if f.At > 0 {
		f = f.placed(f.At+1, f.Of)
	}
	var after *store.QueuePosition
	if at, err := store.ParseQueuePosition(position); err == nil {
		after = &at
	}
	next, err := p.nextRun(ctx, s, f, id, after)
	switch {
	case err != nil: // what the person did is saved nevertheless
		s.Log.Warn("console: no next run", "error", err)
	case next != "":
		return "/runs/" + string(next) + f.Query()
	}
	return f.List()
}

// nextRun returns the next run of the queue that is open to the reviewer. Runs that are
// assigned to the reviewer come first, then those that are assigned to nobody; in each
// part, those after a position come first. It returns "" if there is none.
func (p *Pages) nextRun(ctx context.Context, s shell.Session, f Filter, except verification.RunID, after *store.QueuePosition) (verification.RunID, error) {
	q := f.query(s, p.now())
	q.Limit = maxNext
	parts := [][]string{rules.AssigneeKeys(s.Reviewer), {""}}
	if f.Whose == whoseAssigned {
		parts = parts[:1]
	}
	for _, part := range parts {
		q.AssignedTo = part
		for q.After = after; ; q.After = nil { // after the position, then from the beginning
			found, err := p.shell.Engine.Queue(ctx, s.Tenant, q)
			if err != nil {
				return "", err
			}
			for _, run := range found.Data {
				if run.ID != except && run.Review.OpenTo(s.Person()) {
					return run.ID, nil
				}
			}
			if q.After == nil {
				break
			}
		}
	}
	return "", nil
}
