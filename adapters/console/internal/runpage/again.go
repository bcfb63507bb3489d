// The form that asks a customer again.

package runpage

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// askedFor returns why the customer was asked again, and which fields it is about.
func askedFor(s shell.Session, rec desk.RunRecord, node verification.NodeID, reasons, fields []string) (all []string) {
	for _, reason := range askedReasons(s, rec, reasons) {
		all = append(all, s.Say("timeline.reason", reason))
	}
	var names []string
	for _, name := range fields {
		n, _ := rec.Definition.Node(node)
		names = append(names, shell.Isolate(cmp.Or(n.Fields.LabelAt(name, s.Lang()), name)))
	}
	if len(names) > 0 {
		all = append(all, s.Say("again.fields", strings.Join(names, ", ")))
	}
	return all
}

// askedReasons returns the reasons for which the customer was asked again.
func askedReasons(s shell.Session, rec desk.RunRecord, codes []string) (all []string) {
	for _, code := range codes {
		reason, _ := rec.Definition.ResubmitReason(code)
		all = append(all, shell.Isolate(cmp.Or(reason.In(s.Lang()).Label, code)))
	}
	return all
}

// againForm is the form that asks the customer again.
type againForm struct {
	URL      string // empty if the customer cannot be asked now
	Steps    []againStep
	Reasons  []shell.Choice
	Pictures []shell.Choice // the reasons for a picture or a document; none if the customer has sent none
	Max      int            // characters of the note
	Deadline string         // says when the run ends; empty for never
	keptAgain
}

// againStep is a step that the customer has answered.
type againStep struct {
	shell.Choice
	Legend string       // of the fields
	Fields []againField // none for a consent
	Upload bool         // it has a picture or a document
}

// againField is a field, whose Value is the node, a space, and the place of the field.
type againField struct {
	shell.Choice
	Upload bool         // it is a picture or a document
	Rows   []againField // the fields in the rows that the customer sent, if it is a group
	Open   bool         // one of them is chosen
}

// keptAgain is what a refused form contained, and why it was refused.
type keptAgain struct {
	Step            string
	Codes, Concerns []string
	Note, Problem   string
	Field           string // that the problem names: step, reasons or note; empty for none
}

// againForm returns the form of a run that waits for a verdict.
func (p verdictPanel) againForm(s shell.Session, rec desk.RunRecord, f queue.Filter, kept keptAgain) againForm {
	form := againForm{Max: workflow.MaxNoteToCustomer, keptAgain: kept}
	run := rec.Report.Run
	if !p.Form || run.Status.Terminal() || rec.Hidden {
		return form
	}
	for _, card := range rec.Report.Cards {
		n, ok := rec.Definition.Node(card.NodeID)
		if !ok || !n.Asks() || card.CompletedAt.IsZero() {
			continue
		}
		step := againStep{Choice: shell.Choice{Value: string(card.NodeID), Text: card.Label, Chosen: kept.Step == string(card.NodeID)}}
		step.Legend = s.Say("again.concerns", shell.Isolate(card.Label))
		choice := func(place string, upload bool) againField {
			value := step.Value + " " + place
			step.Upload = step.Upload || upload
			text := cmp.Or(n.Fields.LabelAt(place, s.Lang()), place)
			return againField{Choice: shell.Choice{Value: value, Text: text, Chosen: slices.Contains(kept.Concerns, value)}, Upload: upload}
		}
		sent := card.Data.Map()
		for _, f := range n.Fields {
			field := choice(f.Name, f.Upload())
			rows, _ := sent[f.Name].([]any)
			for i := range rows {
				for _, inRow := range f.Fields {
					field.Rows = append(field.Rows, choice(workflow.Place(f.Name, i, inRow.Name), inRow.Upload()))
				}
			}
			field.Open = slices.ContainsFunc(field.Rows, func(f againField) bool { return f.Chosen })
			step.Fields = append(step.Fields, field)
		}
		form.Steps = append(form.Steps, step)
	}
	if len(form.Steps) == 0 {
		return form
	}
	if last := &form.Steps[len(form.Steps)-1]; kept.Step == "" {
		last.Chosen = true
	}
	upload := slices.ContainsFunc(form.Steps, func(step againStep) bool { return step.Upload })
	for _, code := range rec.Definition.ResubmitCodes() {
		reason, _ := rec.Definition.ResubmitReason(code)
		choice := shell.Choice{Value: code, Text: reason.In(s.Lang()).Label, Chosen: slices.Contains(kept.Codes, code)}
		switch {
		case !workflow.AboutPicture(code):
			form.Reasons = append(form.Reasons, choice)
		case upload:
			form.Pictures = append(form.Pictures, choice)
		}
	}
	if ends := rec.ExpiresAt; !ends.IsZero() {
		form.Deadline = s.Say("again.deadline", s.At(ends).Text, s.Span(ends.Sub(rec.At)))
	}
	form.URL = s.Base + "/runs/" + string(run.ID) + "/again" + f.Query()
	return form
}

// AskAgain sends a run that waits for a verdict back to its customer, and leads to the next run of the queue.
func (p *Pages) AskAgain(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	kept := keptAgain{
		Step: r.PostForm.Get("step"), Codes: r.PostForm["reason"], Concerns: r.PostForm["field"],
		Note: strings.ReplaceAll(r.PostForm.Get("note_to_customer"), "\r\n", "\n"),
	}
	c := rules.AskAgain{Step: verification.NodeID(kept.Step), Reasons: kept.Codes, Note: kept.Note, By: s.Name, Identity: s.Identity}
	if c.Seq, err = strconv.Atoi(r.PostForm.Get("seq")); err != nil || c.Seq < 1 {
		c.Seq = noSeq
	}
	for _, value := range kept.Concerns {
		node, field, _ := strings.Cut(value, " ")
		if node != kept.Step {
			kept.Problem, kept.Field = s.Say("again.problem.step"), "step"
		}
		c.Fields = append(c.Fields, field)
	}
	if kept.Problem == "" && slices.ContainsFunc(kept.Codes, workflow.AboutPicture) {
		rec, err := p.Desk.RunRecord(r.Context(), s.Tenant, id, false)
		if err != nil {
			return err
		}
		if n, ok := rec.Definition.Node(c.Step); ok && !hasUpload(n.Fields, c.Fields) {
			kept.Problem, kept.Field = s.Say("again.problem.picture"), "reasons"
		}
	}
	if kept.Problem != "" {
		return p.showRun(w, r, s, http.StatusUnprocessableEntity, keptVerdict{Again: kept})
	}
	_, err = p.shell.Engine.AskAgain(r.Context(), s.Tenant, id, c, "")
	status := http.StatusConflict
	switch {
	case err == nil:
		return p.next(w, r, s, id, "done.asked_again")
	case errors.Is(err, verification.ErrInvalid):
		status, kept.Problem, kept.Field = http.StatusUnprocessableEntity, s.Say("again.invalid", workflow.MaxNoteToCustomer), "reasons"
		if utf8.RuneCountInString(kept.Note) > workflow.MaxNoteToCustomer {
			kept.Field = "note"
		}
	case errors.Is(err, rules.ErrNoRounds):
		kept.Problem = s.Say("again.problem.rounds")
	case errors.Is(err, verification.ErrConflict), errors.Is(err, verification.ErrNotOpen):
		kept.Problem = s.Say("again.problem.changed")
	default:
		return err
	}
	return p.showRun(w, r, s, status, keptVerdict{Again: kept})
}

// hasUpload reports whether one of the fields at some places is a picture or a document; no place stands for all fields.
func hasUpload(fields workflow.InputFields, places []string) bool {
	return slices.ContainsFunc(fields, func(f workflow.InputField) bool {
		if f.Upload() {
			return len(places) == 0 || slices.Contains(places, f.Name)
		}
		var rows []string
		for _, place := range places {
			if head, inRow, ok := strings.Cut(place, "]."); ok && strings.HasPrefix(head, f.Name+"[") {
				rows = append(rows, inRow)
			}
		}
		return (len(rows) > 0 || len(places) == 0 || slices.Contains(places, f.Name)) && hasUpload(f.Fields, rows)
	})
}
