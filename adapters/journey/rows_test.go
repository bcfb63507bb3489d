// Tests of forms with groups of fields whose rows the customer adds.

package journey_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// company asks for one to three owners, each with a photo.
func company() workflow.Definition {
	least, most := 1.0, 3.0
	return workflow.Definition{
		Workflow: "company", Name: "Company", Start: "details",
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {
				Type: workflow.NodeCustomerInput, Label: "Your company", Next: "done", Fields: workflow.InputFields{
					{Name: "company", Type: workflow.FieldText, Label: "Name of the company", Required: true},
					{
						Name: "owners", Type: workflow.FieldGroup, Label: "Owners", Help: "Everybody who owns a quarter or more.", Min: &least, Max: &most,
						Fields: workflow.InputFields{
							{Name: "name", Type: workflow.FieldText, Label: "Full name", Required: true},
							{Name: "dob", Type: workflow.FieldDate, Label: "Date of birth"},
							{Name: "share", Type: workflow.FieldNumber, Label: "Share in percent"},
							{Name: "director", Type: workflow.FieldCheckbox, Label: "Also a director"},
							{Name: "photo", Type: workflow.FieldImage, Label: "A photo of the owner"},
						},
					},
					{Name: "sites", Type: workflow.FieldGroup, Label: "Other offices", Fields: workflow.InputFields{
						{Name: "city", Type: workflow.FieldText, Label: "City"},
					}},
				},
			},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

func TestRowsAreAddedAndRemovedWithWhatTheyHold(t *testing.T) {
	l := &ledger{DocumentStore: blob.Memory(64<<20, 0), held: map[string]bool{}}
	s := serve(t, func(p *engine.Ports, _ *engine.Options) { p.Documents = l })
	c := s.begin(company(), "")
	wants(t, c.get(), http.StatusOK, "Owners: 1 of 1", `name="f.owners[0].name"`, `value="add owners"`, `name="f.sites" value=""`)
	if strings.Contains(c.get().body, `value="remove`) {
		t.Error("the only owner can be removed")
	}
	answers := []string{"f.company", "Acme", "f.owners", "0", "f.owners[0].name", "Asha", "f.owners[0].share", "many"}
	added := c.send([]file{{"owners[0].photo", "asha.jpg", picture(t, 9)}}, append(answers, "do", "add owners")...)
	wants(t, added, http.StatusOK, "Owners: 1 of 2", "Owners: 2 of 2", `value="Acme"`, `value="Asha"`, `value="many"`, "asha.jpg", `name="f.owners" value="0,1"`,
		`value="remove owners[1]"`, `formaction="./`, `#f-owners-2"`)
	if strings.Contains(added.body, "Error:") {
		t.Error("a new row shows problems")
	}
	first := between(added.body, `name="f.owners[0].photo.id" value="`, `"`)
	answers = append(answers, "f.owners[0].photo.id", first, "f.owners[0].photo.name", "asha.jpg", "f.owners[1].name", "Ravi")
	three := c.send([]file{{"owners[1].photo", "ravi.jpg", picture(t, 99)}}, append(answers, "f.owners", "0,1", "do", "add owners")...)
	wants(t, three, http.StatusOK, "Owners: 3 of 3", `name="f.owners" value="0,1,2"`)
	if strings.Contains(three.body, `value="add owners"`) {
		t.Error("a fourth owner can be added")
	}
	second := between(three.body, `name="f.owners[1].photo.id" value="`, `"`)
	answers = append(answers, "f.owners[1].photo.id", second, "f.owners[1].photo.name", "ravi.jpg")
	removed := c.post(append(answers, "f.owners", "0,1,2", "do", "remove owners[0]")...)
	wants(t, removed, http.StatusOK, `name="f.owners" value="1,2"`, "Owners: 1 of 2", "ravi.jpg", `value="Ravi"`)
	if strings.Contains(removed.body, "asha.jpg") || strings.Contains(removed.body, "Asha") {
		t.Error("the removed row is still on the page")
	}
	// What is wrong stands at its row, whatever number the page gives it.
	refused := c.post(append(answers, "f.owners", "1,2", "f.owners[2].share", "7")...)
	wants(t, refused, http.StatusUnprocessableEntity, `href="#f-owners-2-name"`, "Owners: 2 of 2", `id="f-owners-2-name-error"`, "ravi.jpg")
	wants(t, c.post(append(answers, "f.owners", "1", "f.sites", "0,4")...), http.StatusUnprocessableEntity, `id="f-sites-0-error"`, `id="f-sites-4-error"`, "This entry is empty")
	wants(t, c.post(append(answers, "f.owners", "")...), http.StatusUnprocessableEntity, "Please add at least one entry to “Owners”.")
	wants(t, c.post(append(answers, "f.owners", "1,2,3,4")...), http.StatusUnprocessableEntity, "“Owners” can have at most 3 entries")
	onward(t, c.post(append(answers, "f.owners", "1,2", "f.owners[1].dob.day", "1", "f.owners[1].dob.month", "4", "f.owners[1].dob.year", "1990",
		"f.owners[1].share", "60", "f.owners[2].name", "Meera", "f.owners[2].director", "on")...))
	want := fmt.Sprintf(`{"company":"Acme","owners":[{"director":false,"dob":"1990-04-01","name":"Ravi","photo":{"document_id":%q},"share":60},{"director":true,"name":"Meera"}],"sites":[],"documents":{"owners[0].photo":{`, second)
	if got := s.data(c, "details"); !strings.HasPrefix(got, want) {
		t.Errorf("details = %s, want %s", got, want)
	}
	if l.count() != 1 || !l.held[second] {
		t.Errorf("kept = %v, want %s alone", l.held, second)
	}
}

func TestRowsThatNoButtonNamesAreLeftAlone(t *testing.T) {
	s := serve(t)
	c := s.begin(company(), "")
	for _, do := range []string{"add company", "add nothing", "add owners[0]", "remove owners", "remove owners[7]", "remove company[0]", "remove x", "rows"} {
		wants(t, c.post("f.owners", "0", "f.owners[0].name", "Asha", "do", do), http.StatusOK, `name="f.owners" value="0"`, `value="Asha"`)
	}
	for posted, want := range map[string]string{"0,0": "0", "x,1": "1", "-1,2": "2", "5000": "", "01": "1", ",,3,": "3"} {
		wants(t, c.post("f.owners", posted, "do", "rows"), http.StatusOK, `name="f.owners" value="`+want+`"`)
	}
}

func TestRowsInABrowser(t *testing.T) {
	for _, noScript := range []bool{false, true} {
		s := serve(t)
		c := s.begin(company(), "")
		tab := browser.Start(t).Open(t, browser.Options{NoScript: noScript})
		tab.Go(c.link)
		tab.Fill("#f-company", "Acme")
		tab.Fill("#f-owners-0-name", "Asha Rao")
		tab.Choose("#f-owners-0-photo", drawn(t, 900, 600, false))
		tab.Press(`button[value="add owners"]`)
		tab.See("#f-owners-1-name")
		if got := browser.Eval[string](tab, `document.querySelector("#f-owners-0-name").value + document.activeElement.id`); got != "Asha Raof-owners-1" {
			t.Errorf("without JavaScript %v: name and focus = %q, want the name kept and the focus at the new row", noScript, got)
		}
		tab.See("#f-owners-0-photo-kept")
		tab.Press(onto)
		tab.See("#f-owners-1-name-error")
		if id := browser.Eval[string](tab, "document.activeElement.className"); id != "problems" {
			t.Errorf("%s has the focus, want the problems", id)
		}
		if !noScript {
			for _, language := range looks() {
				tab.Emulate(language[0].Options)
				for _, look := range language {
					tab.Emulate(look.Options)
					inspect(t, tab, "rows "+look.name, look.rules)
				}
			}
			tab.Emulate(browser.Options{})
			tab.Go(c.link) // begins again, with the rows and the answers
			tab.See("#f-owners-1-name")
			tab.See("#f-owners-0-photo-kept")
		}
		tab.Fill("#f-owners-1-name", "Ravi Rao")
		tab.Press(`button[value="remove owners[0]"]`)
		tab.Wait(`!document.querySelector("#f-owners-0-name")`)
		tab.Choose("#f-owners-1-photo", drawn(t, 800, 700, false))
		tab.Press(onto)
		tab.See(".sign.good")
		if got := s.data(c, "details"); !strings.Contains(got, `"owners":[{"director":false,"name":"Ravi Rao","photo":{"document_id":`) {
			t.Errorf("details = %s", got)
		}
	}
}

func TestRowsAreKeptWhenTheCustomerIsAskedAgain(t *testing.T) {
	s := serve(t)
	d := company()
	details := d.Nodes["details"]
	details.Next = "review"
	d.Nodes["details"], d.Nodes["review"] = details, workflow.Node{Type: workflow.NodeReview, Label: "Review", Next: "done"}
	c := s.begin(d, "")
	onward(t, c.send([]file{{"owners[0].photo", "a.jpg", picture(t, 9)}, {"owners[1].photo", "b.jpg", picture(t, 90)}},
		"f.company", "Acme", "f.owners", "0,1", "f.owners[0].name", "Asha", "f.owners[1].name", "Ravi", "f.owners[1].director", "on"))
	c.askAgain(rules.AskAgain{Step: "details", Reasons: []string{"blurred"}, Fields: []string{"owners[1].photo"}})
	page := c.get()
	wants(t, page, http.StatusOK, "<bdi>Owners 2: A photo of the owner</bdi>", `value="Acme"`, `value="Asha"`, `value="Ravi"`, `name="f.owners" value="0,1"`,
		`name="f.owners[0].photo.id"`, `name="f.owners[1].director" value="on" checked`)
	if strings.Contains(page.body, `name="f.owners[1].photo.id"`) || strings.Count(page.body, "field asked") != 1 {
		t.Error("the page does not ask for the second photo again")
	}
	first := between(page.body, `name="f.owners[0].photo.id" value="`, `"`)
	onward(t, c.send([]file{{"owners[1].photo", "c.jpg", picture(t, 200)}}, "f.company", "Acme", "f.owners", "1,0", "f.owners[0].name", "Asha", "f.owners[1].name", "Ravi",
		"f.owners[0].photo.id", first))
	if got := s.data(c, "details"); !strings.Contains(got, `"owners":[{"director":false,"name":"Ravi"`) || !strings.Contains(got, `"owners[1].photo":{"document_id":"`+first) {
		t.Errorf("details = %s, want both owners, in their new order", got)
	}
}

func TestAFormForEachRowHasItsNumber(t *testing.T) {
	s := serve(t)
	d := company()
	details := d.Nodes["details"]
	details.Next = "owner"
	d.Nodes["details"] = details
	d.Nodes["owner"] = workflow.Node{
		Type: workflow.NodeCustomerInput, Label: "Owner", LabelIn: workflow.Translations{"en": "Owner", "hi": "मालिक"},
		ForEach: "steps.details.data.owners", Next: "done",
		Fields: workflow.InputFields{{Name: "pan", Type: workflow.FieldText, Label: "PAN", Pattern: "^[A-Z]{5}[0-9]{4}[A-Z]$", Required: true}},
	}
	c := s.begin(d, "")
	onward(t, c.post("f.company", "Acme", "f.owners", "0,1", "f.owners[0].name", "Asha", "f.owners[1].name", "Ravi"))
	first := c.get()
	wants(t, first, http.StatusOK, "Owner 1 of 2</h1>")
	if strings.Contains(first.body, "Asha") {
		t.Error("the label holds data")
	}
	wants(t, c.post("f.pan", "x"), http.StatusUnprocessableEntity, "Owner 1 of 2")
	onward(t, c.post("f.pan", "ABCDE1234F"))
	c.language = "hi"
	wants(t, c.get(), http.StatusOK, "मालिक: 2 में से 2</h1>")
	onward(t, c.post("f.pan", "ABCDE1234G"))
	s.Settle()
	if got := s.data(c, "owner[2]"); got != `{"pan":"ABCDE1234G"}` {
		t.Errorf("owner[2] = %s", got)
	}
}

func TestAFormForEachElementSaysWhichOne(t *testing.T) {
	s := serve(t)
	d := company()
	details := d.Nodes["details"]
	details.Next = "bill"
	d.Nodes["details"] = details
	d.Nodes["bill"] = workflow.Node{
		Type: workflow.NodeCustomerInput, Label: "Bill", ForEach: "steps.details.data.owners", Next: "done",
		Element: &workflow.ElementFields{Name: "item.name"},
		Fields:  workflow.InputFields{{Name: "pan", Type: workflow.FieldText, Label: "PAN", Required: true}},
	}
	c := s.begin(d, "")
	onward(t, c.post("f.company", "Acme", "f.owners", "0,1", "f.owners[0].name", "12 Station Road", "f.owners[1].name", "<canary-1>"))
	wants(t, c.get(), http.StatusOK, "Bill 1 of 2 · 12 Station Road</h1>")
	onward(t, c.post("f.pan", "x"))
	wants(t, c.get(), http.StatusOK, "Bill 2 of 2 · &lt;canary-1&gt;</h1>")
	step, err := s.Engine.ReadStep(t.Context(), enginetest.Tenant, c.run)
	if err != nil || step.Step.Label != "Bill" {
		t.Errorf("the label of the API = %q, %v, want without a name", step.Step.Label, err)
	}
}

// An answer that is sent twice, by a double click, the back button or a second tab, is never the answer of the next element.
func TestAnAnswerOfAnElementIsSentOnce(t *testing.T) {
	s, b := serve(t), browser.Start(t)
	d := workflow.Definition{
		Workflow: "elements", Name: "Elements", Start: "owner",
		Nodes: map[verification.NodeID]workflow.Node{
			"owner": {
				Type: workflow.NodeCustomerInput, Label: "Owner", ForEach: "['a', 'b', 'c']", Next: "done",
				Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText, Label: "Name", Required: true}},
			},
			"done": {Type: workflow.NodeEnd},
		},
	}
	for _, noScript := range []bool{false, true} {
		c := s.begin(d, "")
		one, two := b.Open(t, browser.Options{NoScript: noScript}), b.Open(t, browser.Options{NoScript: noScript})
		at := func(tab *browser.Tab, n int) {
			t.Helper()
			tab.Wait(fmt.Sprintf(`document.querySelector("#f-name") && document.querySelector("h1").textContent.includes("%d of 3")`, n))
		}
		empty := func(tab *browser.Tab) {
			t.Helper()
			if got := browser.Eval[string](tab, `document.querySelector("#f-name").value`); got != "" {
				t.Errorf("without JavaScript %v: the form of the next owner has %q", noScript, got)
			}
		}
		for _, tab := range []*browser.Tab{one, two} {
			tab.Go(c.link)
			at(tab, 1)
		}
		one.Fill("#f-name", "Asha Rao")
		browser.Eval[bool](one, `(() => { const button = document.querySelector(".buttons button"); button.click(); button.click(); return true })()`)
		at(one, 2)
		two.Fill("#f-name", "Asha Rao")
		two.Press(".buttons button")
		at(two, 2)
		empty(two)
		one.Back()
		one.See("#f-name")
		if strings.Contains(one.Text(), "Owner 1 of 3") {
			one.Fill("#f-name", "Asha Rao")
			one.Press(".buttons button")
		}
		at(one, 2)
		for n, name := range []string{"Ravi Das", "Leela Das"} {
			at(one, n+2)
			empty(one)
			one.Fill("#f-name", name)
			one.Press(".buttons button")
		}
		one.See(".sign.good")
		for n, name := range []string{"Asha Rao", "Ravi Das", "Leela Das"} {
			if got, want := s.data(c, verification.NodeID("owner").Element(n+1)), fmt.Sprintf(`{"name":%q}`, name); got != want {
				t.Errorf("without JavaScript %v: owner %d is %s, want %s", noScript, n+1, got, want)
			}
		}
	}
}
