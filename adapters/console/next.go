// The way from a run to the next one of the queue.

package console

import (
	"context"
	"net/http"
	"net/url"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// maxNext is how many runs of the queue are looked at for the next one.
const maxNext = 20

// nextURL returns the URL that leads from a run at a position of the queue to the next one.
func (s session) nextURL(id verification.RunID, position string, f queueFilter) string {
	q := url.Values{"position": {position}}
	return s.Base + "/runs/" + string(id) + "/next" + f.with(q)
}

// skipRun leads to the next run of the queue without a verdict on this one.
func (c *console) skipRun(w http.ResponseWriter, r *http.Request, s session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	if _, err := c.engine.Run(r.Context(), s.Tenant, id); err != nil {
		return err
	}
	return c.redirect(w, s.Base+c.nextPath(r.Context(), s, id, r.URL.Query().Get("position"), queueFilterOf(r.URL.Query())))
}

// next leads from a run to the next one after a post, whose page shows the message of a key.
func (c *console) next(w http.ResponseWriter, r *http.Request, s session, id verification.RunID, message string) error {
	to := c.nextPath(r.Context(), s, id, r.PostForm.Get("position"), queueFilterOf(r.URL.Query()))
	return c.done(w, to, message, isolate(r.PostForm.Get("reference")))
}

// nextPath returns the path of the next run of the queue after a position, see nextRun.
// Without such a run, it returns the path of the queue, and that of another list if the run
// was opened from there.
func (c *console) nextPath(ctx context.Context, s session, id verification.RunID, position string, f queueFilter) string {
	f = f.first()
	if f.Back != "" {
		return f.Back
	}
	var after *store.QueuePosition
	if at, err := store.ParseQueuePosition(position); err == nil {
		after = &at
	}
	next, err := c.nextRun(ctx, s, f, id, after)
	switch {
	case err != nil: // what the person did is saved nevertheless
		s.log.Warn("console: no next run", "error", err)
	case next != "":
		return "/runs/" + string(next) + f.Query()
	}
	return "/queue" + f.Query()
}

// nextRun returns the next run of the queue that is open to the reviewer. Runs that are
// assigned to the reviewer come first, then those that are assigned to nobody; in each
// part, those after a position come first. It returns "" if there is none.
func (c *console) nextRun(ctx context.Context, s session, f queueFilter, except verification.RunID, after *store.QueuePosition) (verification.RunID, error) {
	q := f.query(s, c.opt.Now())
	q.Limit = maxNext
	parts := [][]string{rules.AssigneeKeys(s.Reviewer), {""}}
	if f.Whose == whoseAssigned {
		parts = parts[:1]
	}
	for _, part := range parts {
		q.AssignedTo = part
		for q.After = after; ; q.After = nil { // after the position, then from the beginning
			found, err := c.engine.Queue(ctx, s.Tenant, q)
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
