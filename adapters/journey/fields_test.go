package journey_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestOptionsOfFieldsReachThePage(t *testing.T) {
	s := serve(t)
	year := s.Clock.Now().AddDate(-18, 0, 0).Format("2006-01-02")
	c := s.begin(workflow.Definition{
		Workflow: "fields", Name: "Fields", Start: "details",
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Next: "done", Fields: workflow.InputFields{
				{Name: "pan", Type: workflow.FieldText, Label: "PAN", Pattern: "^[A-Z]{5}[0-9]{4}[A-Z]$", PatternMessage: "A PAN has ten characters.", Uppercase: true, AutoComplete: "off"},
				{Name: "born", Type: workflow.FieldDate, Label: "Date of birth", MinDate: "1900-01-01", MaxDate: "-18y", AutoComplete: "bday"},
				{Name: "selfie", Type: workflow.FieldImage, Label: "Your face", Camera: workflow.CameraFront},
				{Name: "card", Type: workflow.FieldImage, Label: "Your card", Camera: workflow.CameraBack},
				{Name: "misspelt", Type: workflow.FieldImage, Accept: []string{"image/JPG"}},
				{Name: "any", Type: workflow.FieldImage, Accept: []string{"*/*"}},
				{Name: "png", Type: workflow.FieldImage, Accept: []string{"image/png"}},
			}},
			"done": {Type: workflow.NodeEnd},
		},
	}, "")
	page := c.get().body
	if got := strings.Count(page, " data-open "); got != 4 {
		t.Errorf("%d fields offer to take a photo on the page, want the 4 that accept a JPEG", got)
	}
	inputs := map[string]map[string]string{}
	for _, e := range elements(t, page) {
		if e.name == "input" {
			inputs[e.attrs["name"]] = e.attrs
		}
	}
	for _, want := range []struct{ input, attribute, value string }{
		{"f.pan", "autocomplete", "off"},
		{"f.pan", "autocapitalize", "characters"},
		{"f.born.day", "autocomplete", "bday-day"},
		{"f.born.month", "autocomplete", "bday-month"},
		{"f.born.year", "autocomplete", "bday-year"},
		{"f.selfie", "capture", "user"},
		{"f.card", "capture", "environment"},
		{"f.misspelt", "accept", "image/jpeg"},
	} {
		if got := inputs[want.input][want.attribute]; got != want.value {
			t.Errorf("%s of %s = %q, want %q", want.attribute, want.input, got, want.value)
		}
	}
	refused := c.post("f.pan", "abc", "f.born", s.Clock.Now().Format("2006-01-02"))
	for _, want := range []string{"A PAN has ten characters.", "“Date of birth” must not be after " + year + "."} {
		if refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.body, want) {
			t.Errorf("the page of a wrong answer = %d without %q", refused.status, want)
		}
	}
	if got := c.post("f.pan", "abcpe1234f", "f.born", year); got.status != http.StatusSeeOther {
		t.Fatalf("a valid answer = %d %s, want 303", got.status, got.body)
	}
	if got, want := s.data(c, "details"), `{"born":"`+year+`","pan":"ABCPE1234F"}`; got != want {
		t.Errorf("the data = %s, want %s", got, want)
	}
}

func TestTextsOfAWorkflowAreInTheLanguageOfThePage(t *testing.T) {
	s := serve(t)
	in := func(en, hi string) workflow.Translations { return workflow.Translations{"en": en, "hi": hi} }
	c := s.begin(workflow.Definition{
		Workflow: "languages", Name: "Languages", Start: "consent",
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {
				Type: workflow.NodeConsent, Label: "Consent", LabelIn: in("Consent", "सहमति"),
				Text: "We check.", TextIn: in("We check.", "हम जाँचते हैं।"), OnDeclined: workflow.TargetNext, Next: "details",
			},
			"details": {Type: workflow.NodeCustomerInput, Label: "Details", Next: "done", Fields: workflow.InputFields{{
				Name: "pan", Type: workflow.FieldText, Label: "Number", LabelIn: in("Number", "संख्या"), Help: "Ten.", HelpIn: in("Ten.", "दस।"),
				Pattern: "^x$", PatternMessage: "Ten characters.", PatternMessageIn: in("Ten characters.", "दस अक्षर।"),
			}, {
				Name: "name", Type: workflow.FieldText, Label: "Name", Required: true,
				RequiredMessage: "As on the card, please.", RequiredMessageIn: in("As on the card, please.", "कृपया कार्ड के अनुसार लिखें।"),
			}, {
				Name: "terms", Type: workflow.FieldCheckbox, Label: "Terms", Required: true, RequiredMessage: "Read the <terms> first.",
			}, {
				Name: "work", Type: workflow.FieldSelect, Options: []workflow.Option{{Value: "own", Label: "Own", LabelIn: in("Own", "अपना")}},
			}}},
			"done": {Type: workflow.NodeEnd},
		},
	}, "")
	shows := func(a response, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(a.body, text) {
				t.Errorf("the page does not show %q", text)
			}
		}
	}
	shows(c.get(), "Consent", "We check.")
	c.language = "hi"
	shows(c.get(), "सहमति", "हम जाँचते हैं।")
	c.post("consent", "success")
	shows(c.get(), "सहमति", "हम जाँचते हैं।", "Details", "संख्या", "दस।", "अपना")
	shows(c.post("f.pan", "y"), "दस अक्षर।", "कृपया कार्ड के अनुसार लिखें।")
	c.language = "en"
	shows(c.post("f.pan", "y"), "Number", "Ten.", "Own", "Ten characters.", "We check.", "As on the card, please.", "Read the &lt;terms&gt; first.")
}

// The three inputs of a date are one answer, also in other digits and without leading zeros.
func TestADateHasThreeParts(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	parts := func(day, month, year string) []string {
		return append(details(), "f.dob", "", "f.dob.day", day, "f.dob.month", month, "f.dob.year", year)
	}
	for _, bad := range [][3]string{{"1", "", "1990"}, {"", "4", ""}, {"31", "2", "1990"}, {"1", "4", "90"}, {"1-", "4", "1990"}, {`"><b>`, "4", "1990"}, {"001", "4", "1990"}} {
		page := c.post(parts(bad[0], bad[1], bad[2])...)
		wants(t, page, http.StatusUnprocessableEntity, "“Date of birth” must be a full date", `href="#f-dob-day"`, `name="f.dob.month" value="`+bad[1]+`"`, `name="f.dob.year" value="`+bad[2]+`"`)
		if strings.Contains(page.body, "<b>") {
			t.Errorf("the page interprets %q", bad[0])
		}
	}
	wants(t, c.post(parts("", "", "")...), http.StatusUnprocessableEntity, "Please give the day, month and year for “Date of birth”.")
	wants(t, c.post(parts("1", "4", "2533")...), http.StatusUnprocessableEntity, "“Date of birth” cannot be a date of birth.")
	onward(t, c.post(parts("१", "4", "1990")...))
	if got := s.data(c, "details"); !strings.Contains(got, `"dob":"1990-04-01"`) {
		t.Errorf("details = %s, want the date", got)
	}
}
