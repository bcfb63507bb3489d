// Tests of forms whose fields are in groups.

package journey_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// grouped has one form on three screens: two with inputs, and one with an upload.
func grouped() workflow.Definition {
	return workflow.Definition{
		Workflow: "grouped", Name: "Groups", Start: "details",
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {
				Type: workflow.NodeCustomerInput, Label: "Your details", Text: "Have your card ready.", Next: "done",
				Fields: workflow.InputFields{
					{Name: "name", Type: workflow.FieldText, Label: "Full name", Required: true},
					{Name: "dob", Type: workflow.FieldDate, Label: "Date of birth", Required: true},
					{Name: "age", Type: workflow.FieldNumber, Label: "Age"},
					{Name: "terms", Type: workflow.FieldCheckbox, Label: "I have read the terms", Required: true},
					{Name: "card", Type: workflow.FieldImage, Label: "Your card", Required: true},
				},
				Groups: []workflow.Screen{
					{Label: "Who you are", LabelIn: workflow.Translations{"en": "Who you are", "hi": "आप कौन हैं"}, Fields: []string{"name", "dob"}},
					{Fields: []string{"terms", "age"}},
					{Label: "A photo", Fields: []string{"card"}},
				},
			},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

func TestAFormInGroupsShowsOneScreenAtATime(t *testing.T) {
	s := serve(t)
	c := s.begin(grouped(), "")
	first := c.get()
	wants(t, first, http.StatusOK, "Step 1 of 3", "Who you are", "Have your card ready.", `name="f.name"`)
	if strings.Contains(first.body, "f.terms") || strings.Contains(first.body, `value="back"`) {
		t.Error("the first screen shows another one, or a way back")
	}
	const canary = `A"><canary>`
	one := []string{"f.name", canary, "f.dob.day", "1", "f.dob.month", "4", "f.dob.year", "1990"}
	with := func(answers []string, more ...string) []string { return slices.Concat(answers, more) }
	wants(t, c.post("screen", "0", "f.name", canary), http.StatusUnprocessableEntity, "Step 1 of 3", "for “Date of birth”")
	second := c.post(with(one, "screen", "0")...)
	wants(t, second, http.StatusOK, "Step 2 of 3", "Your details", `<input type="hidden" name="f.dob.day" value="1">`, `value="A&#34;&gt;&lt;canary&gt;"`, `value="back"`)
	if strings.Contains(second.body, "Error:") || strings.Contains(second.body, "Have your card ready.") {
		t.Error("the second screen shows a problem, or the text of the first one")
	}
	wants(t, c.post(with(one, "screen", "1", "f.age", "1,2", "f.terms", "on")...), http.StatusUnprocessableEntity, "Step 2 of 3", `value="1,2"`)
	wants(t, c.post(with(one, "screen", "1", "f.age", "x", "do", "back")...), http.StatusOK, "Step 1 of 3", `name="f.age" value="x"`)
	both := with(one, "f.age", "36", "f.terms", "on")
	wants(t, c.post(with(both, "screen", "1")...), http.StatusOK, "Step 3 of 3", "A photo", `name="f.terms" value="on"`)
	wants(t, c.send(nil, with(both, "screen", "2")...), http.StatusUnprocessableEntity, "Step 3 of 3", "Please take or choose a photo for “Your card”.")
	if got := s.data(c, "details"); got != "" {
		t.Errorf("details = %s before the last screen, want none", got)
	}
	// An earlier answer that is wrong after all leads back to its screen.
	card := []file{{"card", "card.jpg", picture(t, 9)}}
	wants(t, c.send(card, with(one, "screen", "2", "f.terms", "on", "f.age", "many")...), http.StatusUnprocessableEntity, "Step 2 of 3", `name="f.card.id" value="`)
	for _, screen := range []string{"-1", "99", "x"} {
		if a := c.post("screen", screen); a.status != http.StatusUnprocessableEntity {
			t.Errorf("screen %s = %d, want 422", screen, a.status)
		}
	}
	onward(t, c.send(card, with(both, "screen", "2")...))
	if got := s.data(c, "details"); !strings.Contains(got, `"dob":"1990-04-01"`) || !strings.Contains(got, `"age":36`) || !strings.Contains(got, `"media_type":"image/jpeg"`) {
		t.Errorf("details = %s, want the answers of all screens", got)
	}
}

func TestScreensInABrowserWithAReload(t *testing.T) {
	for _, noScript := range []bool{false, true} {
		s := serve(t)
		c := s.begin(grouped(), "")
		tab := browser.Start(t).Open(t, browser.Options{NoScript: noScript})
		tab.Go(c.link)
		tab.Fill("#f-name", "Asha Rao")
		tab.Set("#f-dob-day", "1")
		tab.Set("#f-dob-month", "4")
		tab.Fill("#f-dob-year", "1990")
		if !noScript { // a reload keeps what was typed
			tab.Go(c.link)
			tab.See("#f-name")
			if got := browser.Eval[string](tab, `document.querySelector("#f-name").value + document.querySelector("#f-dob-year").value`); got != "Asha Rao1990" {
				t.Errorf("after a reload the form has %q", got)
			}
			inspect(t, tab, "screen 1", browser.AllRules)
		}
		tab.Press(onto)
		tab.See("#f-terms")
		tab.Press("#f-terms")
		if !noScript {
			inspect(t, tab, "screen 2", browser.AllRules)
			tab.Go(c.link) // begins again, with the answers
			tab.See("#f-name")
			tab.Press(onto)
			tab.See("#f-terms:checked")
		}
		tab.Press(onto)
		tab.See("#f-card")
		tab.Choose("#f-card", drawn(t, 900, 600, false))
		tab.Press(onto)
		tab.See(".sign.good")
		if got := s.data(c, "details"); !strings.Contains(got, `"name":"Asha Rao"`) || !strings.Contains(got, `"media_type":"image/jpeg"`) {
			t.Errorf("details = %s", got)
		}
		if kept := browser.Eval[int](tab, `sessionStorage.length`); kept != 0 {
			t.Errorf("the browser keeps %d drafts after the end", kept)
		}
	}
}
