// The desk of a run: notes, and who works on it.

package runpage

import (
	"errors"
	"net/http"
	"slices"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// deskView is the part of the run page about notes and assignments.
type deskView struct {
	Notes    []noteView
	Count    string // of the notes; empty for none
	Add      string // the URL of the form; empty if the person only reads
	MaxNotes int

	Assignment *assignmentView // nil for none
	Assign     string          // the URL of the forms; empty if the run cannot be assigned
	To         []shell.Choice
	Teams      []shell.Choice

	keptDesk
}

// keptDesk is what a refused form of the desk contained, and why it was refused.
type keptDesk struct {
	Note, NoteProblem             string
	Escalation, EscalationProblem string
	Team                          string // the key of the team
}

// noteView is one note.
type noteView struct {
	By    string
	At    shell.Age
	Text  string
	Badge *web.Badge // says that it came with an assignment
}

// assignmentView says who works on the run.
type assignmentView struct {
	Badge web.Badge
	By    string // who assigned it
	At    shell.Age
	Asks  string // what the team is asked, if the run is escalated
}

// unassign is the value of the choice that ends an assignment.
const unassign = "nobody"

// assignees returns whom the person may assign a run to: the person, the teams, and the
// other people who have acted on the run.
func (p *Pages) assignees(s shell.Session, history []rules.Event) (all []rules.Assignee) {
	all = append(all, rules.Assignee{Person: s.Person()})
	for _, team := range slices.Concat(p.Teams, s.Teams) {
		a := rules.Assignee{Team: team}
		if !slices.ContainsFunc(all, func(b rules.Assignee) bool { return a.Key() == b.Key() }) {
			all = append(all, a)
		}
	}
	for _, p := range rules.People(history) {
		if !p.Is(s.Person()) {
			all = append(all, rules.Assignee{Person: p})
		}
	}
	return all
}

// deskView returns the desk of a run.
func (p *Pages) deskView(s shell.Session, rec desk.RunRecord, f queue.Filter, kept keptDesk) deskView {
	at := s.Base + "/runs/" + string(rec.Report.Run.ID)
	v := deskView{MaxNotes: rules.MaxNotes, Notes: notesOf(s, rec), Assignment: assignmentOf(s, rec), keptDesk: kept}
	if n := len(v.Notes); n > 0 {
		v.Count = s.Count("desk.count", n)
	}
	if !s.May(verification.RoleReviewer) {
		return v
	}
	if !rec.Hidden {
		v.Add = at + "/notes" + f.Query()
	}
	if rec.Review == nil {
		return v
	}
	v.Assign = at + "/assign" + f.Query()
	now := rec.Review.Assignment.To.Key()
	for _, a := range p.assignees(s, rec.History) {
		o := shell.Choice{Value: a.Key(), Text: a.Name(), Chosen: a.Key() == now}
		switch {
		case a.Team != "":
			o.Text = s.Say("desk.team", shell.Isolate(a.Team))
			v.Teams = append(v.Teams, shell.Choice{Value: a.Key(), Text: a.Team, Chosen: a.Key() == kept.Team})
		case a.Person.Is(s.Person()):
			o.Text = s.Say("desk.me")
		}
		v.To = append(v.To, o)
	}
	if now != "" {
		v.To = append(v.To, shell.Choice{Value: unassign, Text: s.Say("desk.nobody")})
	}
	return v
}

// notesOf returns the notes of a run and its escalations, oldest first.
func notesOf(s shell.Session, rec desk.RunRecord) (all []noteView) {
	for _, e := range rec.History {
		switch f := e.Fact.(type) { //nolint:gochecksumtype // the others are no notes
		case rules.NoteAdded:
			all = append(all, noteView{By: personName(s, f.By), At: s.Ago(e.At, rec.At), Text: f.Notes})
		case rules.Assigned:
			if f.Escalated {
				badge := &web.Badge{Tone: web.Warning, Icon: "flag", Text: s.Say("desk.escalated", shell.Isolate(f.To.Name()))}
				all = append(all, noteView{Badge: badge, By: personName(s, f.By), At: s.Ago(e.At, rec.At), Text: f.Notes})
			}
		}
	}
	return all
}

// assignmentOf says who works on a run that needs a verdict; nil for nobody.
func assignmentOf(s shell.Session, rec desk.RunRecord) *assignmentView {
	if rec.Review == nil {
		return nil
	}
	a := rec.Review.Assignment
	b := s.AssigneeBadge(a)
	if b == nil {
		return nil
	}
	v := &assignmentView{Badge: *b, By: personName(s, a.By), At: s.Ago(a.At, rec.At)}
	for _, e := range rec.History {
		if f, ok := e.Fact.(rules.Assigned); ok {
			v.Asks = ""
			if f.Escalated && !rec.Hidden {
				v.Asks = f.Notes
			}
		}
	}
	return v
}

// AddNote adds a note to a run, and shows the run again.
func (p *Pages) AddNote(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	kept := keptDesk{Note: shell.NotesOf(r)}
	err = p.shell.Engine.AddNote(r.Context(), s.Tenant, id, rules.AddNote{Notes: kept.Note, By: s.Name, Identity: s.Identity})
	switch {
	case errors.Is(err, verification.ErrInvalid):
		kept.NoteProblem = s.Say("desk.invalid", rules.MaxNotes)
		return p.showRun(w, r, s, http.StatusUnprocessableEntity, keptVerdict{Desk: kept})
	case errors.Is(err, verification.ErrConflict):
		kept.NoteProblem = s.Say("desk.full")
		return p.showRun(w, r, s, http.StatusConflict, keptVerdict{Desk: kept})
	case err != nil:
		return err
	}
	return p.shell.Done(w, "/runs/"+string(id)+queue.FilterOf(r.URL.Query()).Query()+"#desk", "done.noted", shell.Isolate(r.PostForm.Get("reference")))
}

// Assign assigns or escalates a run. A run that is given to somebody else leads to the
// next one, as a verdict does.
func (p *Pages) Assign(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	rec, err := p.Desk.RunRecord(r.Context(), s.Tenant, id, s.May(verification.RoleAuditor))
	if err != nil {
		return err
	}
	command := rules.Assign{Escalate: r.PostForm.Has("escalate"), Notes: shell.NotesOf(r), By: s.Name, Identity: s.Identity}
	to, message := r.PostForm.Get("to"), "done.unassigned"
	if to != unassign {
		all := p.assignees(s, rec.History)
		i := slices.IndexFunc(all, func(a rules.Assignee) bool { return a.Key() == to })
		if i < 0 {
			return verification.Invalid("assignment", "there is no such person or team")
		}
		command.To, message = all[i], "done.assigned"
	}
	if command.Escalate {
		message = "done.escalated"
	}
	err = p.shell.Engine.Assign(r.Context(), s.Tenant, id, command)
	kept := keptVerdict{Desk: keptDesk{Escalation: command.Notes, Team: to}}
	switch {
	case errors.Is(err, verification.ErrInvalid):
		kept.Desk.EscalationProblem = s.Say("desk.invalid", rules.MaxNotes)
		return p.showRun(w, r, s, http.StatusUnprocessableEntity, kept)
	case errors.Is(err, rules.ErrNoReview), errors.Is(err, verification.ErrConflict):
		key := "desk.full"
		if errors.Is(err, rules.ErrNoReview) {
			key = "desk.over"
		}
		kept.Note = &web.Note{Tone: web.Warning, Text: s.Say(key)}
		kept.Desk.Note = kept.Desk.Escalation // its form may be gone
		return p.showRun(w, r, s, http.StatusConflict, kept)
	case err != nil:
		return err
	}
	if to == unassign || command.To.Person.Is(s.Person()) {
		return p.shell.Done(w, "/runs/"+string(id)+queue.FilterOf(r.URL.Query()).Query(), message, shell.Isolate(r.PostForm.Get("reference")))
	}
	return p.next(w, r, s, id, message)
}
