// Corrections beside values, and the form that adds one.

package runpage

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// correctForm is the form that adds a correction.
type correctForm struct {
	URL    string // empty if the person only reads, or the run has no values
	Groups []valueGroup
	Max    int // characters

	keptCorrection
}

// keptCorrection is what a refused form contained, and why it was refused.
type keptCorrection struct{ Value, Text, Problem string }

// valueGroup is the values of a step, or of the input.
type valueGroup struct {
	Label  string
	Values []shell.Choice // the Value is the node, a space, and the path
}

// corrected puts each correction beside its value. It returns those of values that the table does not show.
func (t dataTable) corrected(s shell.Session, all []rules.Correction) (rest []string) {
	for _, c := range all {
		text := s.Say("data.corrected", shell.Isolate(personName(s, c.By)), s.At(c.At).Text, shell.Isolate(c.Text))
		if f := fieldAt(t.Fields, c.Field); f != nil {
			f.Corrections = append(f.Corrections, text)
		} else {
			rest = append(rest, shell.Isolate(c.Field)+": "+text)
		}
	}
	return rest
}

// fieldAt returns the value at a path; nil if there is none.
func fieldAt(fields []dataField, path string) *dataField {
	for i := range fields {
		f := &fields[i]
		if f.Path == path {
			return f
		}
		if found := cmp.Or(fieldAt(f.Fields, path), fieldAt(f.Items, path)); found != nil {
			return found
		}
	}
	return nil
}

// choices returns the single values below fields.
func choices(all []shell.Choice, fields []dataField, node verification.NodeID, above, chosen string) []shell.Choice {
	for i, f := range fields {
		label := cmp.Or(f.Label, fmt.Sprint(i+1))
		if above != "" {
			label = above + " › " + label
		}
		if len(f.Fields)+len(f.Items) > 0 {
			all = choices(choices(all, f.Fields, node, label, chosen), f.Items, node, label, chosen)
			continue
		}
		value := string(node) + " " + f.Path
		all = append(all, shell.Choice{Value: value, Text: label, Chosen: value == chosen})
	}
	return all
}

// correctForm returns the form of a run.
func (v runView) correctForm(s shell.Session, rec desk.RunRecord, f queue.Filter, kept keptCorrection) correctForm {
	form := correctForm{Max: rules.MaxCorrection, keptCorrection: kept}
	add := func(label string, node verification.NodeID, fields []dataField) {
		if values := choices(nil, fields, node, "", kept.Value); len(values) > 0 {
			form.Groups = append(form.Groups, valueGroup{label, values})
		}
	}
	add(s.Say("run.input"), "", v.Input.Fields)
	labels := map[verification.NodeID]string{} // of the cards: a card under a group shows less
	for _, card := range rec.Report.Cards {
		labels[card.NodeID] = card.Label
	}
	for _, card := range v.cards {
		add(labels[card.Node], card.Node, card.Table.Fields)
	}
	if s.May(verification.RoleReviewer) && len(form.Groups) > 0 && rec.Report.Run.RedactedAt.IsZero() && rec.Report.Run.RestrictedAt.IsZero() {
		form.URL = s.Base + "/runs/" + string(v.ID) + "/corrections" + f.Query()
	}
	return form
}

// Correct adds a correction to a run, and shows the run again.
func (p *Pages) Correct(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	kept := keptCorrection{Value: r.PostForm.Get("value"), Text: strings.ReplaceAll(r.PostForm.Get("correction"), "\r\n", "\n")}
	node, field, _ := strings.Cut(kept.Value, " ")
	err = p.shell.Engine.Correct(r.Context(), s.Tenant, id, rules.Correct{
		Node: verification.NodeID(node), Field: field, Correction: kept.Text, By: s.Name, Identity: s.Identity,
	})
	switch {
	case errors.Is(err, verification.ErrInvalid):
		kept.Problem = s.Say("correct.invalid", rules.MaxCorrection)
		return p.showRun(w, r, s, http.StatusUnprocessableEntity, keptVerdict{Correction: kept})
	case errors.Is(err, verification.ErrConflict):
		kept.Problem = s.Say("desk.full")
		return p.showRun(w, r, s, http.StatusConflict, keptVerdict{Correction: kept})
	case err != nil:
		return err
	}
	return p.shell.Done(w, "/runs/"+string(id)+queue.FilterOf(r.URL.Query()).Query()+"#desk", "done.corrected")
}
