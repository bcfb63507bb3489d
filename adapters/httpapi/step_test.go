// Tests of the open step, as a program reads it that asks the customer itself.

package httpapi_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// detailed is a workflow whose first step has a field with each rule.
func detailed() workflow.Definition {
	low, high := 1.5, 10.0
	hi := func(text string) workflow.Translations { return workflow.Translations{"hi": text} }
	return workflow.Definition{
		Workflow: "form", Name: "Form", Start: "details",
		Intro: &workflow.Intro{Text: "Have it *ready*.", TextIn: hi("तैयार रखें।"), Minutes: 3},
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {
				Type: workflow.NodeCustomerInput, Signal: "form_sent", Label: "Details", LabelIn: hi("विवरण"), Text: "Of *you*.",
				Optional: true, Next: "done",
				Fields: workflow.InputFields{
					{
						Name: "pan", Type: workflow.FieldText, Label: "PAN", LabelIn: workflow.Translations{"ta": "பான்"}, Help: "On the card.",
						Required: true, RequiredMessage: "Please.", Pattern: "[A-Z]{5}", PatternMessage: "Five letters.", Uppercase: true,
						AutoComplete: "off", MaxLength: 10,
					},
					{Name: "income", Type: workflow.FieldNumber, Integer: true, Min: &low, Max: &high},
					{Name: "born", Type: workflow.FieldDate, MinDate: "1900-01-01", MaxDate: "-18y"},
					{Name: "kind", Type: workflow.FieldSelect, Options: []workflow.Option{{Value: "a", Label: "First", LabelIn: hi("पहला")}, {Value: "b"}}},
					{Name: "face", Type: workflow.FieldImage, Camera: workflow.CameraFront, Accept: []string{"image/png"}},
					{Name: "owners", Type: workflow.FieldGroup, LabelIn: hi("मालिक"), Max: &high, Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText, LabelIn: hi("नाम")}}},
				},
				Groups: []workflow.Screen{
					{Label: "You", LabelIn: hi("आप"), Fields: []string{"pan", "born", "income"}},
					{Fields: []string{"kind", "face", "owners"}},
				},
			},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

func TestAStepOfARoundHasWhatThePageShows(t *testing.T) {
	a := newAPI(t, setup{})
	d := journey()
	d.ResubmitReasons = []workflow.RejectReason{{Code: "worn", Label: "The card is worn", LabelIn: workflow.Translations{"hi": "कार्ड घिसा है"}}}
	details := d.Nodes["details"]
	details.Fields = workflow.InputFields{
		{Name: "pan", Type: workflow.FieldText, Required: true},
		{Name: "photo", Type: workflow.FieldImage},
		{Name: "back", Type: workflow.FieldImage},
		{Name: "adult", Type: workflow.FieldCheckbox},
		{Name: "income", Type: workflow.FieldNumber},
		{Name: "place", Type: workflow.FieldLocation},
		{Name: "owners", Type: workflow.FieldGroup, Max: new(3.0), Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText}, {Name: "face", Type: workflow.FieldImage}}},
	}
	d.Nodes["details"] = details
	id := a.started(d).ID
	step := "/v1/runs/" + string(id) + "/step"
	a.Submit(id, "consent_submitted", map[string]any{"consent_status": "success"})
	a.do(http.MethodGet, step, "").says(200, `"node_id":"details"`)
	if body := string(a.do(http.MethodGet, step, "").Body); strings.Contains(body, "asked_again") || strings.Contains(body, "answers") {
		t.Errorf("the first time: %s", body)
	}
	upload := func(last string) map[string]any {
		return map[string]any{"document_id": "00000000-0000-7000-8000-0000000000" + last}
	}
	a.Submit(id, "details_submitted", map[string]any{
		"pan": "ABCDE1234F", "photo": upload("a1"), "back": upload("b1"), "adult": true, "income": 12.5,
		"place":  map[string]any{"latitude": 19.0, "longitude": 72.0},
		"owners": []any{map[string]any{"name": "Asha", "face": upload("c1")}, map[string]any{"name": "Ravi", "face": upload("c2")}},
	})
	a.Settle()
	a.do(http.MethodPost, "/v1/signals/"+string(id)+"/human_review_resubmit",
		`{"payload":{"reasons":["worn","blurred"],"fields":["photo","owners[1].face"],"note_to_customer":"Use the new card."}}`).says(200, "signal_delivered")
	const answers = `"answers":{"adult":true,"back":{"document_id":"00000000-0000-7000-8000-0000000000b1"},"income":12.5,"owners":[{"face":{"document_id":"00000000-0000-7000-8000-0000000000c1"},"name":"Asha"},{"name":"Ravi"}],"pan":"ABCDE1234F"}`
	a.do(http.MethodGet, step, "").says(200, `"asked_again":{"round":1,"reasons":[{"code":"worn","text":"The card is worn"},{"code":"blurred","text":"`)
	a.do(http.MethodGet, step, "").says(200, `"fields":["photo","owners[1].face"],"note":"Use the new card."},`+answers)
	a.do(http.MethodGet, step+"?lang=hi", "").says(200, `{"code":"worn","text":"कार्ड घिसा है"}`)
	a.Submit(id, "details_submitted", map[string]any{"pan": "ABCDE1234G"})
	a.Settle()
	a.do(http.MethodPost, "/v1/signals/"+string(id)+"/human_review_resubmit", `{"payload":{"reasons":["glare"]}}`).says(200, "signal_delivered")
	a.do(http.MethodGet, step, "").says(200, `"asked_again":{"round":2,"reasons":[{"code":"glare","text":"`)
	a.do(http.MethodGet, step, "").says(200, `"answers":{"owners":[],"pan":"ABCDE1234G"}`)
}

func TestAStepHasWhatThePageShows(t *testing.T) {
	a := newAPI(t, setup{})
	step := "/v1/runs/" + string(a.started(detailed()).ID) + "/step"
	const fields = `"required":true,"required_message":"Please.","pattern":"[A-Z]{5}","pattern_message":"Five letters.","uppercase":true,` +
		`"autocomplete":"off","max_length":10},{"name":"income","type":"number","label":"income","integer":true,"min":1.5,"max":10},` +
		`{"name":"born","type":"date","label":"born","min_date":"1900-01-01","max_date":"2008-01-05"},`
	const face = `{"name":"face","type":"image","label":"face","camera":"front","accept":["image/png"]},`
	const rows = `{"name":"owners","type":"group","label":"owners","max":10,"fields":[{"name":"name","type":"text","label":"name"}]}]`
	a.do(http.MethodGet, step, "").is(200, `{"signal_name":"form_sent","node_id":"details","type":"customer_input","label":"Details","text":"Of *you*.",`+
		`"optional":true,"number":1,"total":1,"languages":["hi","ta"],"intro":{"text":"Have it *ready*.","minutes":3,"needed":["face"]},`+
		`"fields":[{"name":"pan","type":"text","label":"PAN","help":"On the card.",`+fields+
		`{"name":"kind","type":"select","label":"kind","options":[{"value":"a","label":"First"},{"value":"b","label":"b"}]},`+face+rows+
		`,"groups":[{"label":"You","fields":["pan","born","income"]},{"fields":["kind","face","owners"]}]}`)
	a.do(http.MethodGet, step+"?lang=hi", "").is(200, `{"signal_name":"form_sent","node_id":"details","type":"customer_input","label":"विवरण","text":"Of *you*.",`+
		`"optional":true,"number":1,"total":1,"language":"hi","languages":["hi","ta"],"intro":{"text":"तैयार रखें।","minutes":3,"needed":["face"]},`+
		`"fields":[{"name":"pan","type":"text","label":"PAN","help":"On the card.",`+fields+
		`{"name":"kind","type":"select","label":"kind","options":[{"value":"a","label":"पहला"},{"value":"b","label":"b"}]},`+face+
		`{"name":"owners","type":"group","label":"मालिक","max":10,"fields":[{"name":"name","type":"text","label":"नाम"}]}],`+
		`"groups":[{"label":"आप","fields":["pan","born","income"]},{"fields":["kind","face","owners"]}]}`)
	a.do(http.MethodGet, step+"?lang=de", "").says(200, `"label":"Details"`)
	a.do(http.MethodGet, step+"?lang=hi&lang=en", "").is(400, badField("lang", "must be given once, as a language tag"))
}

// A rule that a field gets later must not be missing in the API.
func TestAFieldOfAStepHasEachRule(t *testing.T) {
	all := reflect.TypeFor[apitypes.StepField]()
	for f := range reflect.TypeFor[workflow.InputField]().Fields() {
		switch f.Name {
		case "LabelIn", "HelpIn", "RequiredMessageIn", "PatternMessageIn": // the texts have one language
		case "Search", "Within": // not for the customer
		default:
			if _, ok := all.FieldByName(f.Name); !ok {
				t.Errorf("StepField has no %s", f.Name)
			}
		}
	}
}

func TestTheStepIsTheOneThatIsOpen(t *testing.T) {
	a := newAPI(t, setup{})
	id := a.started(journey()).ID
	step := "/v1/runs/" + string(id) + "/step"
	const none = `{"error":"no open step for this run","code":"no_open_step"}`
	a.do(http.MethodGet, step, "").is(200, `{"signal_name":"consent_submitted","node_id":"consent","type":"consent","label":"Consent","text":"May we?","number":1,"total":2}`)
	a.Submit(id, "consent_submitted", map[string]any{"consent_status": "success"})
	a.do(http.MethodGet, step, "").is(200, `{"signal_name":"details_submitted","node_id":"details","type":"customer_input","label":"Your details",`+
		`"number":2,"total":2,"fields":[{"name":"pan","type":"text","label":"pan","required":true}]}`)
	a.Submit(id, "details_submitted", map[string]any{"pan": "ABCDE1234F"})
	a.do(http.MethodGet, step, "").is(404, none) // it waits for a reviewer
	_, err := a.Engine.Cancel(t.Context(), enginetest.Tenant, id)
	must(t, err)
	a.do(http.MethodGet, step, "").is(404, none)

	a.do(http.MethodGet, "/v1/runs/"+nowhere+"/step", "").is(404, noRun)
	a.do(http.MethodGet, "/v1/runs/no-uuid/step", "").is(404, noRun)
	a.do(http.MethodGet, step, "", "client-id: other").is(404, noRun)
	a.account("narrow", enginetest.Tenant, verification.SurfaceRuns, verification.SurfaceWorkflows)
	a.do(http.MethodGet, step, "", "client-id: narrow").says(403, "not authorized for this surface")
	a.do(http.MethodPost, step, "{}").header("Allow", "GET, HEAD").says(405, "Method Not Allowed")
}

func TestTheStepSaysWhereACheckLeadsTheCustomer(t *testing.T) {
	a := newAPI(t, setup{})
	a.Provider.On("bank", enginetest.Lead("https://login.bank.example/?id=1&x=2", "ticket", time.Hour))
	id := a.started(workflow.Definition{Workflow: "bank", Name: "Bank", Start: "bank", Nodes: map[verification.NodeID]workflow.Node{
		"bank": {
			Type: workflow.NodeCheck, Label: "Your bank", Text: "Sign in.", Provider: "script", RedirectHosts: []string{"login.bank.example"}, Next: "done",
		},
		"done": {Type: workflow.NodeEnd},
	}}).ID
	step := "/v1/runs/" + string(id) + "/step"
	a.do(http.MethodGet, step, "").is(200, `{"signal_name":"bank_returned","node_id":"bank","type":"check","label":"Your bank","text":"Sign in.",`+
		`"redirect_url":"https://login.bank.example/?id=1&x=2","number":1,"total":1}`)
	a.do(http.MethodPost, "/v1/signals/"+string(id)+"/bank_returned", `{"payload":{"code":1}}`).says(400, `"field":"payload.code","message":"must be a string"`)
	a.do(http.MethodPost, "/v1/signals/"+string(id)+"/bank_returned", `{"payload":{"code":"1"}}`).says(200, "signal_delivered")
}

func TestReadingAStepIsNoActivityOfTheCustomer(t *testing.T) {
	a := newAPI(t, setup{})
	run := a.started(journey())
	a.Advance(899 * time.Second)
	a.do(http.MethodGet, "/v1/runs/"+string(run.ID)+"/step", "").says(200, "consent_submitted")
	a.Advance(2 * time.Second)
	a.do(http.MethodGet, "/v1/runs/"+string(run.ID), "").says(200, `"status":"abandoned"`)
	a.do(http.MethodGet, "/v1/runs/"+string(run.ID)+"/step", "").says(200, "consent_submitted") // the customer may come back
	a.Advance(24 * time.Hour)
	a.do(http.MethodGet, "/v1/runs/"+string(run.ID)+"/step", "").is(404, `{"error":"no open step for this run","code":"no_open_step"}`) // it has expired
}
