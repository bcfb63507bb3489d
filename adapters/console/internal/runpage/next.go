// The way from a run to the next one of the queue.

package runpage

import (
	"net/http"
	"net/url"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification"
)

// nextURL returns the URL that leads from a run at a position of the queue to the next one.
func nextURL(s shell.Session, id verification.RunID, position string, f queue.Filter) string {
	q := url.Values{"position": {position}}
	return s.Base + "/runs/" + string(id) + "/next" + f.With(q)
}

// Skip leads to the next run of the queue without a verdict on this one.
func (p *Pages) Skip(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	if _, err := p.shell.Engine.Run(r.Context(), s.Tenant, id); err != nil {
		return err
	}
	return shell.Redirect(w, s.Base+p.Queue.NextPath(r.Context(), s, id, r.URL.Query().Get("position"), queue.FilterOf(r.URL.Query())))
}

// next leads from a run to the next one after a post, whose page shows the message of a key.
func (p *Pages) next(w http.ResponseWriter, r *http.Request, s shell.Session, id verification.RunID, message string) error {
	to := p.Queue.NextPath(r.Context(), s, id, r.PostForm.Get("position"), queue.FilterOf(r.URL.Query()))
	return p.shell.Done(w, to, message, shell.Isolate(r.PostForm.Get("reference")))
}
