// The desk of a run: notes, and who works on it.

package console

import (
	"errors"
	"net/http"
	"slices"

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
	To         []choice
	Teams      []choice

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
	At    age
	Text  string
	Badge *web.Badge // says that it came with an assignment
}

// assignmentView says who works on the run.
type assignmentView struct {
	Badge web.Badge
	By    string // who assigned it
	At    age
}

// unassign is the value of the choice that ends an assignment.
const unassign = "nobody"

// assignees returns whom the person may assign a run to: the person, the teams, and the
// other people who have acted on the run.
func (c *console) assignees(s session, history []rules.Event) (all []rules.Assignee) {
	all = append(all, rules.Assignee{Person: s.Person()})
	for _, team := range slices.Concat(c.opt.Teams, s.Teams) {
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
func (c *console) deskView(s session, rec desk.RunRecord, f queueFilter, kept keptDesk) deskView {
	at := s.Base + "/runs/" + string(rec.Report.Run.ID)
	v := deskView{MaxNotes: rules.MaxNotes, Assignment: s.assignment(rec), keptDesk: kept}
	for _, e := range rec.Timeline {
		n := noteView{By: s.person(e.By), At: s.ago(e.At, rec.At), Text: e.Text}
		switch e.Kind { //nolint:exhaustive // the others are no notes
		case desk.TimelineNote:
		case desk.TimelineEscalated:
			n.Badge = &web.Badge{Tone: web.Warning, Icon: "flag", Text: s.say("desk.escalated", isolate(e.Assignee))}
		default:
			continue
		}
		v.Notes = append(v.Notes, n)
	}
	if n := len(v.Notes); n > 0 {
		v.Count = s.count("desk.count", n)
	}
	if !s.May(verification.RoleReviewer) {
		return v
	}
	v.Add = at + "/notes" + f.Query()
	if rec.Review == nil {
		return v
	}
	v.Assign = at + "/assign" + f.Query()
	now := rec.Review.Assignment.To.Key()
	for _, a := range c.assignees(s, rec.History) {
		o := choice{Value: a.Key(), Text: a.Name(), Chosen: a.Key() == now}
		switch {
		case a.Team != "":
			o.Text = s.say("desk.team", isolate(a.Team))
			v.Teams = append(v.Teams, choice{Value: a.Key(), Text: a.Team, Chosen: a.Key() == kept.Team})
		case a.Person.Is(s.Person()):
			o.Text = s.say("desk.me")
		}
		v.To = append(v.To, o)
	}
	if now != "" {
		v.To = append(v.To, choice{Value: unassign, Text: s.say("desk.nobody")})
	}
	return v
}

// assignment says who works on a run that needs a verdict; nil for nobody.
func (s session) assignment(rec desk.RunRecord) *assignmentView {
	if rec.Review == nil {
		return nil
	}
	a := rec.Review.Assignment
	b := s.assigneeBadge(a)
	if b == nil {
		return nil
	}
	return &assignmentView{Badge: *b, By: s.person(a.By), At: s.ago(a.At, rec.At)}
}

// assigneeBadge says to whom a run is assigned; nil for nobody.
func (s session) assigneeBadge(a rules.Assignment) *web.Badge {
	b := web.Badge{Icon: "person", Text: s.say("desk.for", isolate(a.To.Name()))}
	switch {
	case a.To.Key() == "":
		return nil
	case slices.Contains(rules.AssigneeKeys(s.Reviewer), a.To.Key()):
		b.Tone = web.Info
		if a.To.Team == "" {
			b.Text = s.say("desk.foryou")
		}
	}
	if a.Escalated {
		b.Tone, b.Icon, b.Text = web.Warning, "flag", s.say("desk.escalated", isolate(a.To.Name()))
	}
	return &b
}

// addNote adds a note to a run, and shows the run again.
func (c *console) addNote(w http.ResponseWriter, r *http.Request, s session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	kept := keptDesk{Note: notesOf(r)}
	err = c.engine.AddNote(r.Context(), s.Tenant, id, rules.AddNote{Notes: kept.Note, By: s.Name, Identity: s.Identity})
	switch {
	case errors.Is(err, verification.ErrInvalid):
		kept.NoteProblem = s.say("desk.invalid", rules.MaxNotes)
		return c.showRun(w, r, s, http.StatusUnprocessableEntity, keptVerdict{Desk: kept})
	case errors.Is(err, verification.ErrConflict):
		kept.NoteProblem = s.say("desk.full")
		return c.showRun(w, r, s, http.StatusConflict, keptVerdict{Desk: kept})
	case err != nil:
		return err
	}
	return c.done(w, "/runs/"+string(id)+queueFilterOf(r.URL.Query()).Query()+"#desk", "done.noted", isolate(r.PostForm.Get("reference")))
}

// assignRun assigns or escalates a run. A run that is given to somebody else leads to the
// next one, as a verdict does.
func (c *console) assignRun(w http.ResponseWriter, r *http.Request, s session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	rec, err := c.desk.RunRecord(r.Context(), s.Tenant, id)
	if err != nil {
		return err
	}
	command := rules.Assign{Escalate: r.PostForm.Has("escalate"), Notes: notesOf(r), By: s.Name, Identity: s.Identity}
	to, message := r.PostForm.Get("to"), "done.unassigned"
	if to != unassign {
		all := c.assignees(s, rec.History)
		i := slices.IndexFunc(all, func(a rules.Assignee) bool { return a.Key() == to })
		if i < 0 {
			return verification.Invalid("assignment", "there is no such person or team")
		}
		command.To, message = all[i], "done.assigned"
	}
	if command.Escalate {
		message = "done.escalated"
	}
	err = c.engine.Assign(r.Context(), s.Tenant, id, command)
	kept := keptVerdict{Desk: keptDesk{Escalation: command.Notes, Team: to}}
	switch {
	case errors.Is(err, verification.ErrInvalid):
		kept.Desk.EscalationProblem = s.say("desk.invalid", rules.MaxNotes)
		return c.showRun(w, r, s, http.StatusUnprocessableEntity, kept)
	case errors.Is(err, rules.ErrNoReview), errors.Is(err, verification.ErrConflict):
		key := "desk.full"
		if errors.Is(err, rules.ErrNoReview) {
			key = "desk.over"
		}
		kept.Note = &web.Note{Tone: web.Warning, Text: s.say(key)}
		kept.Desk.Note = kept.Desk.Escalation // its form may be gone
		return c.showRun(w, r, s, http.StatusConflict, kept)
	case err != nil:
		return err
	}
	if to == unassign || command.To.Person.Is(s.Person()) {
		return c.done(w, "/runs/"+string(id)+queueFilterOf(r.URL.Query()).Query(), message, isolate(r.PostForm.Get("reference")))
	}
	return c.next(w, r, s, id, message)
}

// nextForMe leads to the first run of the queue that is assigned to the person, or to
// nobody.
func (c *console) nextForMe(w http.ResponseWriter, r *http.Request, s session) error {
	f := queueFilterOf(r.URL.Query()).first()
	id, err := c.nextRun(r.Context(), s, f, "", nil)
	switch {
	case err != nil:
		return err
	case id == "":
		return c.done(w, "/queue"+f.Query(), "done.none")
	}
	return c.redirect(w, s.Base+"/runs/"+string(id)+f.Query())
}
