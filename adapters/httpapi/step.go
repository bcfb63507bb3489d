// The open step of a run, for programs that ask the customer themselves.

package httpapi

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

func (a *api) readStep(w *response, r *http.Request, who caller) error {
	language, given, ok := param(r.URL.RawQuery, "lang")
	if given && !ok {
		return errLanguage
	}
	id, _ := verification.ParseRunID(pathParam(r, "id")) // an invalid id has no run
	j, err := a.engine.ReadStep(r.Context(), who.tenant, id)
	switch {
	case errors.Is(err, verification.ErrNotOpen):
		return errNoStep
	case err != nil:
		return err
	}
	return a.write(w, http.StatusOK, stepOf(j, language))
}

// stepOf converts the open step of a journey. Its texts are in a language as far as they have it.
func stepOf(j engine.Journey, language string) apitypes.Step {
	s, l := j.Step, texts{language: language, all: map[string]bool{}}
	step := apitypes.Step{
		SignalName: j.Run.Action.SignalName, NodeID: s.Node, Type: s.Type,
		Label: cmp.Or(l.in(s.LabelIn, s.Label), j.Workflow), Text: l.in(s.TextIn, s.Text), Optional: s.Optional,
		Number: j.Done + 1, Total: max(j.Total, j.Done+1),
	}
	if s.Away != nil {
		step.Redirect = s.Away.URL
	}
	if s.Elements > 0 {
		step.Label = workflow.ElementLabel(step.Label, s.Element, s.Elements)
	}
	if j.Intro != nil {
		step.Intro = &apitypes.StepIntro{Text: l.in(j.Intro.TextIn, j.Intro.Text), Minutes: j.Intro.Minutes}
		for _, f := range j.Needed {
			step.Intro.Needed = append(step.Intro.Needed, cmp.Or(l.in(f.LabelIn, f.Label), f.Name))
		}
	}
	for _, f := range s.Fields {
		step.Fields = append(step.Fields, l.field(f))
	}
	for _, g := range s.Groups {
		step.Groups = append(step.Groups, apitypes.StepGroup{Label: l.in(g.LabelIn, g.Label), Fields: g.Fields})
	}
	if s.Again != nil {
		step.AskedAgain = &apitypes.StepRound{Round: s.Again.Round, Reasons: []apitypes.StepReason{}, Fields: s.Again.Fields, Note: s.Again.Note}
		for _, r := range s.Again.Reasons {
			step.AskedAgain.Reasons = append(step.AskedAgain.Reasons, apitypes.StepReason{Code: r.Code, Text: l.in(r.LabelIn, r.Label)})
		}
		answers := answersOf(s.Fields, s.Again.Earlier.Map(), func(name string) bool { return slices.Contains(s.Again.Fields, name) })
		step.Answers, _ = verification.NewData(answers) // they were data before
	}
	step.Languages = slices.Sorted(maps.Keys(l.all))
	if l.all[language] {
		step.Language = language
	}
	return step
}

// answersOf returns the answers of before that a customer who is asked again need not give once more: all but locations, which are
// measured anew, and the files that are asked for again.
func answersOf(fields workflow.InputFields, earlier map[string]any, again func(name string) bool) map[string]any {
	answers := map[string]any{}
	for _, f := range fields {
		answer, given := earlier[f.Name]
		rows, _ := answer.([]any)
		switch {
		case !given || f.Type == workflow.FieldLocation || f.Upload() && again(f.Name):
			continue
		case f.Type == workflow.FieldGroup:
			kept := make([]any, len(rows))
			for i, row := range rows {
				of, _ := row.(map[string]any)
				kept[i] = answersOf(f.Fields, of, func(name string) bool { return again(f.Name) || again(workflow.Place(f.Name, i, name)) })
			}
			answer = kept
		}
		answers[f.Name] = answer
	}
	return answers
}

// texts chooses the texts of a step in a language, and collects all languages that it sees.
type texts struct {
	language string
	all      map[string]bool
}

func (l texts) in(t workflow.Translations, otherwise string) string {
	for language := range t {
		l.all[language] = true
	}
	return t.In(l.language, otherwise)
}

func (l texts) field(f workflow.InputField) apitypes.StepField {
	field := apitypes.StepField{
		Name: f.Name, Type: f.Type, Label: cmp.Or(l.in(f.LabelIn, f.Label), f.Name), Help: l.in(f.HelpIn, f.Help),
		Required: f.Required, RequiredMessage: l.in(f.RequiredMessageIn, f.RequiredMessage),
		Pattern: f.Pattern, PatternMessage: l.in(f.PatternMessageIn, f.PatternMessage), Uppercase: f.Uppercase,
		AutoComplete: f.AutoComplete, MaxLength: f.MaxLength, Integer: f.Integer,
		Min: f.Min, Max: f.Max, MinDate: f.MinDate, MaxDate: f.MaxDate, BirthOf: f.BirthOf, Camera: f.Camera, Accept: f.Accept,
	}
	for _, inRow := range f.Fields {
		field.Fields = append(field.Fields, l.field(inRow))
	}
	for _, o := range f.Options {
		field.Options = append(field.Options, apitypes.StepOption{Value: o.Value, Label: cmp.Or(l.in(o.LabelIn, o.Label), o.Value)})
	}
	return field
}
