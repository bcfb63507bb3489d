// The personal data of a run: holds, its removal, and the file of the person.

package runpage

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// personalView is the part of the run page about personal data. The URLs of forms are empty for a person who
// may not use them, and where there is nothing to do.
type personalView struct {
	Held            *noteView // nil for no hold
	Hold, EndHold   string
	Restricted      *noteView // nil if the run is not restricted
	Restrict, Lift  string
	RestrictRefusal string // why the run cannot be restricted now; empty if it can
	Redact          string
	Refusal         string         // why nothing can be removed now; empty if it can
	Reasons         []shell.Choice // of a removal
	Export          string         // empty for a restricted run, too
	Checks          []shell.Choice // that may have screened the person, by key
	Elements        []shell.Choice // whom the file may be about alone
	AllRuns         bool           // the file may have all runs with the reference id
	MaxReason       int            // characters

	keptPersonal
}

// Shown reports whether there is anything to show.
func (v personalView) Shown() bool {
	return v.Held != nil || v.Restricted != nil || v.Export != "" || v.Note != nil
}

// keptPersonal is what a refused form about personal data contained, and why it was refused.
type keptPersonal struct {
	Note                         *web.Note
	HoldReason, HoldProblem      string
	RedactProblem                string
	Restriction, RestrictProblem string // the reason of a restriction, or of its end
	ExportReason, ExportProblem  string
	ExportElement                string
	ExportAll, ExportedScreening bool
}

// personalOf returns the part about the personal data of a run that must be kept until a time.
func personalOf(s shell.Session, rec desk.RunRecord, until time.Time, f queue.Filter, kept keptPersonal) personalView {
	at := s.Base + "/runs/" + string(rec.Report.Run.ID)
	v := personalView{MaxReason: rules.MaxNotes, keptPersonal: kept}
	if h := rec.Hold; h != (rules.Hold{}) {
		v.Held = &noteView{By: personName(s, h.By), At: s.Ago(h.At, rec.At), Text: h.Reason}
	}
	restricted := rec.Report.Run.RestrictedAt
	if f := rec.Restriction; !restricted.IsZero() {
		v.Restricted = &noteView{By: personName(s, f.By), At: s.Ago(restricted, rec.At), Text: f.Reason}
	}
	if !s.May(verification.RoleAdmin) {
		return v
	}
	switch redacted := !rec.Report.Run.RedactedAt.IsZero(); {
	case !restricted.IsZero():
		v.Lift = at + "/restrict/end" + f.Query()
	case !redacted:
		v.Restrict = at + "/restrict" + f.Query()
		if errors.Is(rec.Kept, rules.ErrLive) || errors.Is(rec.Kept, rules.ErrVerdictOwed) {
			v.RestrictRefusal = queue.RedactionRefusal(s, rec.Kept)
		}
	}
	switch {
	case v.Held != nil:
		v.EndHold = at + "/hold/end" + f.Query()
	case rec.Report.Run.RedactedAt.IsZero():
		v.Hold = at + "/hold" + f.Query()
	}
	if rec.MayRedact || rec.Kept != nil {
		v.Redact, v.Refusal, v.Reasons = at+"/redact"+f.Query(), queue.Refusal(s, rec.Kept, until, rec.At), queue.ReasonsToRedact(s)
	}
	if !restricted.IsZero() {
		return v
	}
	v.Export, v.AllRuns = at+"/person"+f.Query(), !rec.Hidden
	v.Checks = checksOf(rec)
	var seen []string // an element of several nodes is there once
	for _, e := range rec.Elements.All {
		if who := e.Who() + " " + e.BirthDate; !slices.Contains(seen, who) {
			seen, v.Elements = append(seen, who), append(v.Elements, shell.Choice{Value: string(e.Node), Text: e.Title(), Chosen: kept.ExportElement == string(e.Node)})
		}
	}
	return v
}

// checksOf returns the checks of a run that may have screened without saying so, each key once: a check of several elements is one.
func checksOf(rec desk.RunRecord) (all []shell.Choice) {
	listed := map[string]int{}
	for _, c := range rec.Report.Cards {
		if c.Type != workflow.NodeCheck || c.Screening != nil || c.Key == "" || screens(rec.History, c.NodeID) {
			continue
		}
		if i, again := listed[c.Key]; again {
			all[i].Text = rec.Definition.Label(c.NodeID.InDefinition())
			continue
		}
		listed[c.Key] = len(all)
		all = append(all, shell.Choice{Value: c.Key, Text: c.Label})
	}
	return all
}

// screens reports whether a check was called at a provider that screens: it need not be named.
func screens(history []rules.Event, step verification.NodeID) bool {
	return slices.ContainsFunc(history, func(e rules.Event) bool {
		f, called := e.Fact.(rules.Dispatched)
		return called && f.Screens && f.Node == step
	})
}

// Redact removes the personal data of a run. The page of a run that cannot be redacted now says why.
func (p *Pages) Redact(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	reason := rules.RedactReason(r.PostForm.Get("reason"))
	if reason == "" {
		return p.showRun(w, r, s, http.StatusUnprocessableEntity, keptVerdict{Personal: keptPersonal{RedactProblem: s.Say("redact.reason.problem")}})
	}
	_, err = p.shell.Engine.Redact(r.Context(), s.Tenant, id, reason, s.Person())
	if errors.Is(err, verification.ErrConflict) {
		kept := keptPersonal{Note: &web.Note{Tone: web.Warning, Text: s.Say("redact.refused") + " " + queue.RedactionRefusal(s, err)}}
		return p.showRun(w, r, s, http.StatusConflict, keptVerdict{Personal: kept})
	}
	return p.donePersonal(w, r, id, "done.redacted", err)
}

// Hold puts a run under a hold.
func (p *Pages) Hold(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	kept := keptPersonal{HoldReason: shell.NotesOf(r)}
	err = p.shell.Engine.HoldRun(r.Context(), s.Tenant, id, rules.HoldRun{Reason: kept.HoldReason, By: s.Name, Identity: s.Identity})
	switch {
	case errors.Is(err, verification.ErrInvalid):
		kept.HoldProblem = s.Say("hold.invalid", rules.MaxNotes)
		return p.showRun(w, r, s, http.StatusUnprocessableEntity, keptVerdict{Personal: kept})
	case errors.Is(err, verification.ErrConflict):
		kept.Note = &web.Note{Tone: web.Warning, Text: s.Say("hold.refused")}
		return p.showRun(w, r, s, http.StatusConflict, keptVerdict{Personal: kept})
	}
	return p.donePersonal(w, r, id, "done.held", err)
}

// EndHold ends the hold of a run.
func (p *Pages) EndHold(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	err = p.shell.Engine.EndHold(r.Context(), s.Tenant, id, rules.EndHold{By: s.Name, Identity: s.Identity})
	if errors.Is(err, rules.ErrNoHold) { // another person has ended it
		err = nil
	}
	return p.donePersonal(w, r, id, "done.hold_ended", err)
}

// Restrict returns the handler that restricts a run or, with lift, lifts its restriction.
func (p *Pages) Restrict(lift bool) func(http.ResponseWriter, *http.Request, shell.Session) error {
	return func(w http.ResponseWriter, r *http.Request, s shell.Session) error {
		id, err := runOf(r)
		if err != nil {
			return err
		}
		change, done := p.shell.Engine.Restrict, "done.restricted"
		if lift {
			change, done = p.shell.Engine.LiftRestriction, "done.lifted"
		}
		kept := keptPersonal{Restriction: shell.NotesOf(r)}
		_, err = change(r.Context(), s.Tenant, id, kept.Restriction, s.Person())
		switch {
		case errors.Is(err, rules.ErrNotRestricted): // another person has lifted it
			err = nil
		case errors.Is(err, verification.ErrInvalid):
			kept.RestrictProblem = s.Say("hold.invalid", rules.MaxNotes)
			return p.showRun(w, r, s, http.StatusUnprocessableEntity, keptVerdict{Personal: kept})
		case errors.Is(err, verification.ErrConflict):
			kept.Note = &web.Note{Tone: web.Warning, Text: s.Say("restrict.refused") + " " + queue.RedactionRefusal(s, err)}
			return p.showRun(w, r, s, http.StatusConflict, keptVerdict{Personal: kept})
		}
		return p.donePersonal(w, r, id, done, err)
	}
}

// donePersonal leads back to the run after a form about personal data, unless it has failed.
func (p *Pages) donePersonal(w http.ResponseWriter, r *http.Request, id verification.RunID, message string, err error) error {
	if err != nil {
		return err
	}
	return p.shell.Done(w, "/runs/"+string(id)+queue.FilterOf(r.URL.Query()).Query(), message)
}

// Person sends the file of a person: what is kept about the person of a run, in this run or in all runs with its
// reference id.
func (p *Pages) Person(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	kept := keptPersonal{
		ExportReason: strings.TrimSpace(shell.NotesOf(r)), ExportAll: r.PostForm.Has("all"), ExportedScreening: r.PostForm.Has("screening"),
		ExportElement: r.PostForm.Get("element"),
	}
	if size := utf8.RuneCountInString(kept.ExportReason); kept.ExportedScreening && size == 0 || size > rules.MaxNotes {
		kept.ExportProblem = s.Say("person.invalid", rules.MaxNotes)
		return p.showRun(w, r, s, http.StatusUnprocessableEntity, keptVerdict{Personal: kept})
	}
	run, err := p.shell.Engine.Run(r.Context(), s.Tenant, id)
	if err != nil {
		return err
	}
	if !run.RestrictedAt.IsZero() {
		kept.Note = &web.Note{Tone: web.Warning, Text: s.Say("person.restricted")}
		return p.showRun(w, r, s, http.StatusConflict, keptVerdict{Personal: kept})
	}
	q := desk.PersonQuery{
		Run: id, By: "the administrator " + s.Name + ", in the console", ScreeningChecks: r.PostForm["check"], Documents: p.Documents,
		RunJSON:    func(r rules.RunDetail) any { return apitypes.NewRunDetail(r) },
		ReportJSON: func(r rules.Report) any { return apitypes.NewReport(r) },
	}
	if q.Element = verification.NodeID(kept.ExportElement); q.Element == "" && kept.ExportAll {
		q.Run, q.ReferenceID = "", run.ReferenceID
	}
	if kept.ExportedScreening {
		q.ScreeningReason = kept.ExportReason
	}
	file := attachment{w: w, name: "person-" + string(id) + ".zip"}
	made, err := p.Desk.WritePersonFile(r.Context(), s.Tenant, q, &file)
	switch {
	case err != nil && file.begun:
		s.Log.Error("person's file not sent", "tenant", s.Tenant, "run", id, "error", err)
		panic(http.ErrAbortHandler) // the browser sees that the file ends early
	case errors.Is(err, verification.ErrInvalid), errors.Is(err, verification.ErrConflict):
		kept.ExportProblem = s.Say("person.refused", desk.MaxPersonRuns)
		return p.showRun(w, r, s, http.StatusUnprocessableEntity, keptVerdict{Personal: kept})
	case err != nil:
		return err
	}
	s.Log.Info("person's file exported", "tenant", s.Tenant, "reviewer", s.Name, "identity", s.Identity, "run", id,
		"runs", made.Runs, "documents", made.Documents, "missing", made.Missing, "screening", kept.ExportedScreening)
	return nil
}

// attachment is a ZIP for the browser to save, whose size is not known before. Its headers are set with the first write.
type attachment struct {
	w     http.ResponseWriter
	name  string
	begun bool
}

var _ io.Writer = (*attachment)(nil)

func (a *attachment) Write(content []byte) (int, error) {
	if !a.begun {
		a.begun = true
		a.w.Header().Set("Content-Type", "application/zip")
		a.w.Header().Set("Content-Disposition", `attachment; filename="`+a.name+`"`)
	}
	return a.w.Write(content)
}
