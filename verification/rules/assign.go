// Assignments: who works on a run that needs a verdict.

package rules

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
)

// MaxTeamName is the maximum length of the name of a team, in characters.
const MaxTeamName = 60

// maxIdentity is the maximum length of the identity of an assignee, in characters.
const maxIdentity = 500

// ValidateTeam returns verification.ErrInvalid unless the name of a team has 1 to 60 printable
// characters.
func ValidateTeam(name string) error {
	if strings.TrimSpace(name) != name || name == "" || utf8.RuneCountInString(name) > MaxTeamName ||
		!utf8.ValidString(name) || strings.ContainsFunc(name, texts.IsControl) {
		return verification.InvalidField("assignment", "team", "must be 1 to 60 printable characters, without space at the ends")
	}
	return nil
}

// Assignee is a person or a team. The zero value is nobody.
type Assignee struct {
	Person verification.Person `json:"person,omitzero"`
	Team   string              `json:"team,omitempty"`
}

// Key identifies the assignee: it is the same for each spelling of an identity or of a
// team that differs only in case and surrounding space. It is empty for nobody.
func (a Assignee) Key() string {
	switch {
	case a.Team != "":
		return "team:" + texts.Fold(a.Team)
	case a.Person.Key() != "":
		return "person:" + a.Person.Key()
	}
	return ""
}

// Name returns what people see; empty for nobody.
func (a Assignee) Name() string {
	if a.Team != "" {
		return a.Team
	}
	return a.Person.Name
}

// AssigneeKeys returns the keys of a reviewer and of each of the reviewer's teams.
func AssigneeKeys(r verification.Reviewer) []string {
	keys := []string{Assignee{Person: r.Person()}.Key()}
	for _, team := range r.Teams {
		keys = append(keys, Assignee{Team: team}.Key())
	}
	return keys
}

// Assignment says who works on a run. It restricts nobody: any reviewer may decide.
type Assignment struct {
	To        Assignee  `json:"to"`
	Escalated bool      `json:"escalated,omitempty"` // a reviewer asked the team for help
	By        string    `json:"by,omitempty"`        // the name of the reviewer who assigned it
	At        time.Time `json:"at,omitzero"`
}

// ErrNoReview is returned if a run that needs no verdict is assigned. It is an verification.ErrConflict.
var ErrNoReview error = verification.Conflict("run", "the run needs no verdict, so it cannot be assigned")

func (d *decision) assign(c Assign) error {
	to := Assignee{Team: c.To.Team, Person: verification.Person{Identity: clean(c.To.Person.Identity), Name: clean(c.To.Person.Name)}}
	a := Assigned{To: to, Escalated: c.Escalate, Notes: c.Notes, By: clean(c.By), Identity: clean(c.Identity)}
	if err := a.check(); err != nil {
		return err
	}
	if _, needed := d.run.InReview(); !needed {
		return ErrNoReview
	}
	if !c.Escalate && c.Notes == "" && to.Key() == d.run.Assignment.To.Key() {
		return nil
	}
	err := d.run.assignments.room(verification.Person{Identity: a.Identity, Name: a.By}, maxAssignments, "assignments")
	if a.Escalated {
		err = d.run.escalations.room(verification.Person{Identity: a.Identity, Name: a.By}, maxEscalations, "escalations")
	}
	if err != nil {
		return err
	}
	d.add(a)
	return nil
}

// check returns verification.ErrInvalid if a field of the assignment breaks a rule.
func (a Assigned) check() error {
	switch to := a.To; {
	case a.Identity == "":
		return verification.InvalidField("assignment", "identity", "is required")
	case to.Team != "" && to.Person != (verification.Person{}), to.Team == "" && to.Person != (verification.Person{}) && to.Person.Key() == "":
		return verification.InvalidField("assignment", "to", "must be a person or a team")
	case utf8.RuneCountInString(to.Person.Identity) > maxIdentity:
		return verification.InvalidField("assignment", "to", texts.TooLong(maxIdentity))
	case to.Team != "" || a.Escalated:
		if err := ValidateTeam(to.Team); err != nil {
			return err
		}
	}
	if a.Escalated {
		return requireNotes(a.Notes)
	}
	return ValidateNotes(a.Notes)
}

func (a Assigned) fold(r *Run, at time.Time) {
	if by := (verification.Person{Identity: a.Identity, Name: a.By}); a.Escalated {
		r.escalations = r.escalations.plus(by)
	} else {
		r.assignments = r.assignments.plus(by)
	}
	r.Assignment, r.lastNote = Assignment{To: a.To, Escalated: a.Escalated, By: a.By, At: at}, NoteAdded{}
	if a.To == (Assignee{}) {
		r.Assignment = Assignment{}
	}
}

// People returns the people who have acted on the run as reviewers, the last one first,
// without repetition.
func People(history []Event) (all []verification.Person) {
	for _, e := range slices.Backward(history) {
		var p verification.Person
		switch f := e.Fact.(type) { //nolint:gochecksumtype // only these are the work of a reviewer
		case VerdictRecorded:
			p = verification.Person{Identity: f.Identity, Name: f.By}
		case VerdictProposed:
			p = verification.Person{Identity: f.Identity, Name: f.By}
		case ProposalReturned:
			p = verification.Person{Identity: f.Identity, Name: f.By}
		case NoteAdded:
			p = verification.Person{Identity: f.Identity, Name: f.By}
		case Assigned:
			p = verification.Person{Identity: f.Identity, Name: f.By}
		}
		if p.Key() != "" && !slices.ContainsFunc(all, p.Is) {
			all = append(all, p)
		}
	}
	return all
}
