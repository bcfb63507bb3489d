// Redaction of the runs of a person that were found: they are selected, confirmed, and redacted one by one.

package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

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
	Done    bool
	Back    string // the URL of the list
	Action  string
	Several string // that the runs are about several people; empty if they are not
	Groups  []redactGroup
	Reasons []shell.Choice
	Problem string // that no reason was chosen; empty if one was
	Rows    []redactRow
}

// redactGroup has the runs of one person or company. Only runs of the first group are selected, and none if another group is
// as large. A run that only its elements have found is not selected: it is about others, too.
type redactGroup struct {
	Title    string
	Selected bool
	Rows     []redactRow
}

// redactRow is a run of the page redact. After the redaction only ID, URL, Answer and Refusal are set.
type redactRow struct {
	ID                  verification.RunID
	URL                 string
	Reference, Workflow string
	Name, Born, Found   string
	StartedAt           shell.Instant
	Answer              web.Badge // also of a trial
	Refusal             string    // why the run is or would not be redacted; empty if it is
	Selected            bool
}

// ReasonsToRedact returns the choices of a reason for a redaction, without any chosen.
func ReasonsToRedact(s shell.Session) []shell.Choice {
	all := []shell.Choice{{Text: s.Say("redact.reason.none")}}
	for _, reason := range rules.RedactReasons() {
		all = append(all, shell.Choice{Value: string(reason), Text: s.Say("redact.reason." + string(reason))})
	}
	return all
}

// Refusal says why the personal data of a run that must be kept until a time cannot be removed at another one; empty if it can.
func Refusal(s shell.Session, kept error, until, now time.Time) string {
	if kept == nil && until.After(now) {
		return s.Say("redact.until", s.At(until).Text[:len(time.DateOnly)])
	}
	return RedactionRefusal(s, kept)
}

// RedactRuns shows the runs that were selected in a list, by whom they are about and with what would be refused or, once
// the person has confirmed it with a reason, redacts each of them, and says what became of it.
func (p *Pages) RedactRuns(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	f := FilterOf(r.URL.Query())
	ids, err := selected(r)
	confirmed, reason := r.PostForm.Has("confirmed"), rules.RedactReason(r.PostForm.Get("reason"))
	switch {
	case err != nil:
		return err
	case len(ids) == 0:
		return p.shell.Done(w, f.List(), "done.unselected")
	}
	v := redactView{Back: s.Base + f.List(), Action: s.Base + "/runs/redact" + f.Query(), Reasons: ReasonsToRedact(s)}
	status := http.StatusOK
	switch {
	case confirmed && slices.Contains(rules.RedactReasons(), reason):
		v.Done = true
		for _, id := range ids {
			row := redactRow{ID: id, URL: s.Base + "/runs/" + string(id) + f.Query()}
			row.Answer, row.Refusal = p.redact(r.Context(), s, id, reason)
			v.Rows = append(v.Rows, row)
		}
		return p.shell.Render(w, s, status, "redact", "redact.title", v)
	case confirmed:
		status, v.Problem = http.StatusUnprocessableEntity, s.Say("redact.reason.problem")
	}
	if v.Groups, err = p.redactGroups(r, s, f, ids, r.PostForm["of"]); err != nil {
		return err
	}
	switch n := len(v.Groups); {
	case n > 1 && v.Groups[0].Selected:
		v.Several = s.Say("redact.several", n, v.Groups[0].Title)
	case n > 1:
		v.Several = s.Say("redact.several.none", n)
	}
	return p.shell.Render(w, s, status, "redact", "redact.title", v)
}

// redactGroups returns the runs that may be redacted, by whom they are about. All of those that the page before has shown are
// in the form as shown; the others of them were left out there.
func (p *Pages) redactGroups(r *http.Request, s shell.Session, f Filter, chosen []verification.RunID, shown []string) (all []redactGroup, err error) {
	ids := chosen
	if len(shown) > 0 {
		if ids, err = runIDs(shown); err != nil {
			return nil, err
		}
	}
	back, err := url.Parse(f.Back)
	if err != nil {
		return nil, err
	}
	groups, err := p.desk.Removals(r.Context(), s.Tenant, ids, shell.SearchKeys(back.Query().Get(shell.WordsField)))
	if err != nil {
		return nil, err
	}
	for i, runs := range groups {
		g := redactGroup{Selected: i == 0 && (len(groups) == 1 || len(runs) > len(groups[1]))}
		for _, run := range runs {
			var names []string
			for _, kind := range run.Found {
				names = append(names, s.Say("redact.found."+string(kind)))
			}
			others := len(names) == 0 && len(run.FoundWho) > 0 // it is about somebody else, too
			for _, e := range run.FoundWho {
				names = append(names, shell.Isolate(e.Title()))
			}
			if len(names) == 0 {
				names = []string{s.Say("redact.found.reference")}
			}
			row := redactRow{
				ID: run.Report.Run.ID, URL: s.Base + "/runs/" + string(run.Report.Run.ID) + f.Query(), Reference: s.Reference(run.Report.Run.ReferenceID, run.Report.Run.RestrictedAt),
				Workflow: run.Report.Workflow.Name, Name: run.Subject.Name, Born: run.Subject.BirthDate, Found: strings.Join(names, ", "),
				StartedAt: s.At(run.Report.Run.StartedAt), Answer: web.Badge{Text: s.Say("redact.trial")},
				Refusal: Refusal(s, run.Kept, run.KeptUntil, run.At),
			}
			if row.Selected = g.Selected && !others; len(shown) > 0 {
				row.Selected = slices.Contains(chosen, row.ID)
			}
			if row.Refusal != "" {
				row.Answer = web.Badge{Tone: web.Warning, Icon: "warning", Text: s.Say("redact.trial.left")}
			} else if !run.MayRedact {
				row.Answer, row.Refusal = web.Badge{Text: s.Say("redact.trial.left")}, s.Say("redact.before")
			}
			if g.Rows = append(g.Rows, row); g.Title == "" && row.Name != "" {
				g.Title = shell.Isolate(row.Name)
				if row.Born != "" {
					g.Title = s.Say("redact.person", g.Title, row.Born)
				}
			}
		}
		g.Selected = g.Selected && slices.ContainsFunc(g.Rows, func(row redactRow) bool { return row.Selected })
		g.Title = cmp.Or(g.Title, shell.Isolate(g.Rows[0].Reference))
		all = append(all, g)
	}
	return all, nil
}

// redact redacts a run, and says what became of it.
func (p *Pages) redact(ctx context.Context, s shell.Session, id verification.RunID, reason rules.RedactReason) (answer web.Badge, refusal string) {
	_, err := p.shell.Engine.Redact(ctx, s.Tenant, id, reason, s.Person())
	if err == nil {
		return web.Badge{Tone: web.Good, Icon: "tick", Text: s.Say("redact.done")}, ""
	}
	if _, expected := errors.AsType[*verification.Error](err); !expected {
		s.Log.Error("run not redacted", "tenant", s.Tenant, "run", id, "error", err)
	}
	return web.Badge{Tone: web.Warning, Icon: "warning", Text: s.Say("redact.left")}, RedactionRefusal(s, err)
}

// selected returns the runs that a form names, at most as many as a page of the list has.
func selected(r *http.Request) ([]verification.RunID, error) { return runIDs(r.PostForm["run"]) }

func runIDs(texts []string) (ids []verification.RunID, err error) {
	for _, text := range texts {
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
