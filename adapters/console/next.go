// The way from a run to the next one of the queue.

package console

import (
	"context"
	"net/http"
	"net/url"

	"github.com/verifyd/verifyd/verification"
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
	return c.redirect(w, s.Base+c.nextRun(r.Context(), s, id, r.URL.Query().Get("position"), queueFilterOf(r.URL.Query())))
}

// nextRun returns the path of the next run of the queue that the reviewer can decide on: no
// other reviewer has claimed it, and it has no proposal that this one cannot confirm.
// Without such a run, it returns the path of the queue, and that of another list if the run
// was opened from there.
func (c *console) nextRun(ctx context.Context, s session, id verification.RunID, position string, f queueFilter) string {
	f = f.first()
	if f.Back != "" {
		return f.Back
	}
	q := f.query(s, c.opt.Now())
	q.Limit = maxNext
	if at, err := store.ParseQueuePosition(position); err == nil {
		q.After = &at
	}
	for range 2 { // after the run, then from the beginning
		found, err := c.engine.Queue(ctx, s.Tenant, q)
		if err != nil { // a verdict is given nevertheless
			s.log.Warn("console: no next run", "error", err)
			break
		}
		for _, run := range found.Data {
			v := run.Review
			free := v.Claim.By == "" || v.Claim.IsOf(s.Person())
			barred := v.Proposed != verification.DecisionNone && v.ProposedBy.MayBe(s.Person())
			if run.ID != id && free && !barred {
				return "/runs/" + string(run.ID) + f.Query()
			}
		}
		if q.After == nil {
			break
		}
		q.After = nil
	}
	return "/queue" + f.Query()
}
