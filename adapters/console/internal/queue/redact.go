// Redaction of the runs of a person that were found: they are selected, confirmed, and redacted one by one.

package queue

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// RedactionRefusal says why a redaction is refused; empty for nil.
func RedactionRefusal(s shell.Session, err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, rules.ErrLive):
		return s.Say("redact.live")
	case errors.Is(err, rules.ErrVerdictOwed):
		return s.Say("redact.owed")
	case errors.Is(err, rules.ErrHeld):
		return s.Say("redact.held")
	case errors.Is(err, rules.ErrKept):
		return s.Say("redact.minimum")
	case errors.Is(err, rules.ErrRedacted):
		return s.Say("redact.before")
	case errors.Is(err, verification.ErrNotFound):
		return s.Say("redact.unknown")
	case errors.Is(err, verification.ErrConflict):
		return s.Say("redact.notice")
	}
	return s.Say("redact.failed")
}

// redactView is the data of the page redact: the runs to confirm or, once Done is set, what became of them.
type redactView struct {
	Done   bool
	Back   string // the URL of the list
	Action string
	Count  string
	Rows   []redactRow
}

// redactRow is a run of the page redact. After the redaction only ID, URL and Answer are set.
type redactRow struct {
	ID                  verification.RunID
	URL                 string
	Reference, Workflow string
	Status              web.Badge
	StartedAt           shell.Instant
	Answer              web.Badge
	Reason              string // why the run was not redacted; empty if it was
}

// RedactRuns shows the runs that were selected in a list or, once the person has confirmed it, redacts each of
// them, and says what became of it.
func (p *Pages) RedactRuns(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	f := FilterOf(r.URL.Query())
	ids, err := selected(r)
	switch {
	case err != nil:
		return err
	case len(ids) == 0:
		return p.shell.Done(w, f.List(), "done.unselected")
	}
	v := redactView{Done: r.PostForm.Has("confirmed"), Back: s.Base + f.List(), Action: s.Base + "/runs/redact" + f.Query()}
	if v.Count = s.Count("redact.runs", len(ids)); v.Done {
		v.Count = ""
	}
	names := map[verification.WorkflowID]string{}
	for _, id := range ids {
		row := redactRow{ID: id, URL: s.Base + "/runs/" + string(id) + f.Query()}
		if v.Done {
			row.Answer, row.Reason = p.redact(r.Context(), s, id)
		} else {
			run, err := p.shell.Engine.Run(r.Context(), s.Tenant, id)
			if err != nil {
				return err
			}
			if row.Workflow, err = p.shell.WorkflowName(r, s, names, run.WorkflowID); err != nil {
				return err
			}
			row.Reference, row.Status, row.StartedAt = run.ReferenceID, s.StatusBadge(run.Status), s.At(run.StartedAt)
		}
		v.Rows = append(v.Rows, row)
	}
	return p.shell.Render(w, s, http.StatusOK, "redact", "redact.title", v)
}

// redact redacts a run, and says what became of it.
func (p *Pages) redact(ctx context.Context, s shell.Session, id verification.RunID) (answer web.Badge, reason string) {
	_, err := p.shell.Engine.Redact(ctx, s.Tenant, id, s.Person())
	if err == nil {
		return web.Badge{Tone: web.Good, Icon: "tick", Text: s.Say("redact.done")}, ""
	}
	if _, expected := errors.AsType[*verification.Error](err); !expected {
		s.Log.Error("run not redacted", "tenant", s.Tenant, "run", id, "error", err)
	}
	return web.Badge{Tone: web.Warning, Icon: "warning", Text: s.Say("redact.left")}, RedactionRefusal(s, err)
}

// selected returns the runs that a form names, at most as many as a page of the list has.
func selected(r *http.Request) (ids []verification.RunID, err error) {
	for _, text := range r.PostForm["run"] {
		id, err := verification.ParseRunID(text)
		if err != nil {
			return nil, verification.NotFound("run")
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > store.DefaultLimit {
		return nil, verification.Invalid("run", fmt.Sprintf("at most %d can be selected", store.DefaultLimit))
	}
	return ids, nil
}
