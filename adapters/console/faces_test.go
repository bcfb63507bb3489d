// Tests of the evidence of a check of faces, and of what a round changed.

package console_test

import (
	"bytes"
	"fmt"
	"image/color"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// comparer is a provider that compares faces, and says on which scale.
type comparer struct{ verification.Provider }

func (comparer) Describe() verification.ProviderDescription {
	return verification.ProviderDescription{Data: verification.Data(`{"type":"object","properties":{
		"score":{"type":"number","title":"Likeness","x-scale":{"from":0,"to":1,"fails_below":0.5,"passes_from":0.7}},
		"name":{"type":"string","title":"Name on the card"},"dob":{"type":"string","title":"Born, on the card"},
		"number":{"type":"string","title":"Number on the card"}}}`)}
}

// faces compares the photo on a card with a photo of the customer, beside a check that does not depend on them.
func faces() workflow.Definition {
	return workflow.Definition{
		Workflow: "faces", Name: "Retail account", Start: "details", ReviewDueMinutes: 240,
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Label: "Your details", Next: "court", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: "Full name"},
				{Name: "dob", Type: workflow.FieldDate, Label: "Date of birth"},
				{Name: "city", Type: workflow.FieldText, Label: "City"},
				{Name: "card", Type: workflow.FieldImage, Label: "Identity card, front"},
				{Name: "selfie", Type: workflow.FieldImage, Label: "A photo of you", Camera: workflow.CameraFront},
			}},
			"court": {Type: workflow.NodeCheck, Label: "Court register", Provider: "script", Next: "face"},
			"face": {
				Type: workflow.NodeCheck, Label: "Face match", Provider: "comparer", OnFailed: workflow.TargetNext, OnUnavailable: workflow.TargetNext, Next: "look",
				With: verification.Data(`{"a":"${steps.details.data.selfie}","b":"${steps.details.data.card}"}`),
			},
			"look": {Type: workflow.NodeReview, Label: "Second look", Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

// photos answers the form of faces with two new photos, or keeps the card of before.
func (d *desk) photos(run verification.RunID, name, dob, card string) map[string]string {
	d.t.Helper()
	j, err := d.Engine.OpenJourney(d.t.Context(), strings.TrimPrefix(d.Run(run).Action.URL, "http://journey.example/journey/"))
	if err != nil {
		d.t.Fatal(err)
	}
	ids := map[string]string{"card": card}
	for field, ground := range map[string]color.RGBA{"card": {R: 200, G: 220, B: 255, A: 255}, "selfie": {R: 220, G: 255, B: uint8(len(name)), A: 255}} {
		if ids[field] != "" {
			continue
		}
		u, err := d.Engine.UploadDocument(d.t.Context(), j, j.Step.WaitNumber, field, bytes.NewReader(cardImage(d.t, ground)))
		if err != nil {
			d.t.Fatal(err)
		}
		ids[field] = u.ID
	}
	payload := map[string]any{"name": name, "dob": dob, "city": "Pune"}
	if card != "" {
		payload["city"] = canary(3)
	}
	for field, id := range ids {
		payload[field] = map[string]any{"document_id": id}
	}
	d.Submit(run, "details_submitted", payload)
	return ids
}

func serveFaces(t *testing.T) *desk {
	t.Helper()
	return serve(t, func(p *engine.Ports, _ *engine.Options) { p.Providers["comparer"] = comparer{p.Providers["script"]} })
}

func read(score float64, name string) map[string]any {
	return map[string]any{"score": score, "name": name, "dob": "1990-04-01", "number": "X 1234567"}
}

func TestBothFacesAreInTheCardOfTheirCheck(t *testing.T) {
	d := serveFaces(t)
	d.Provider.On("face", enginetest.Fail(read(0.31, "MEERA NAIR")))
	run := d.Start(d.Apply(faces()).ID, engine.StartRequest{ReferenceID: "MB-4112"}).ID
	ids := d.photos(run, "Meera Nair", "1992-11-03", "")
	path := "/runs/" + string(run)
	page := d.as(reviewerCalled("asha")).get(path)
	card := between(t, strings.ReplaceAll(page.body, `"`, `'`)+`"`, "id='step-face'", "")
	card, _, _ = strings.Cut(card, "</article>")
	for _, want := range []string{
		"aria-label='0.31 (0 – 1, does not pass below 0.5, passes from 0.7)'", "x='31.00%'", "width='50.00%'", "x='70.00%'",
		"MEERA NAIR</bdi> <span class='badge good'>same", "1990-04-01</bdi> <span class='badge bad'>2 years 7 months apart</span> <span class='quiet small'><bdi>1992-11-03",
		"X 1234567</bdi> <span class='quiet small'>not asked",
	} {
		if !strings.Contains(card, want) {
			t.Errorf("the card lacks %s: %s", want, card)
		}
	}
	if first, second := strings.Index(card, ids["card"]), strings.Index(card, ids["selfie"]); first < 0 || second < first {
		t.Errorf("the photos are at %d and %d, want the document and then the customer", first, second)
	}
	tab := d.tab(reviewerCalled("asha"), browser.Options{Wide: true, Width: 1280, Height: 720})
	tab.Go(d.server.URL + "/console" + path)
	tab.Wait(`[...document.querySelectorAll(".faces img")].every((one) => one.naturalWidth > 0)`)
	if low := browser.Eval[float64](tab, `Math.max(...[...document.querySelectorAll(".faces img")].map((one) => one.getBoundingClientRect().bottom))`); low > 600 {
		t.Errorf("the faces end at y = %.0f, want above 600", low)
	}
	tab.Key("c")
	tab.Wait(`document.querySelectorAll(".viewer[open] .stage img").length === 2`)
	if got := browser.Eval[string](tab, `[...document.querySelectorAll(".viewer .stage")].map((one) => one.ariaLabel).join(", ")`); got != "Identity card, front, Portrait" {
		t.Errorf("the viewer shows %s", got)
	}
	d.inspectAll(tab, "run-faces", path, nil)
}

// What a source found that cannot tell is shown, and in the report for the file alone.
func TestWhatAnInconclusiveSourceFoundIsShown(t *testing.T) {
	d := serveFaces(t)
	unclear := enginetest.Pass(read(0.62, canary(1)))
	unclear.Result.Outcome = verification.OutcomeInconclusive
	d.Provider.On("face", unclear)
	run := d.Start(d.Apply(faces()).ID, engine.StartRequest{ReferenceID: "MB-1"}).ID
	d.photos(run, "Meera Nair", "1992-11-03", "")
	page := d.as(reviewerCalled("asha")).get("/runs/" + string(run))
	wants(t, page, http.StatusOK, `aria-label="0.62 (0 – 1,`, "Found by the source; it decides nothing", "&lt;canary-1&gt;", "!<canary-1>")
	if data := d.Run(run).Checks[1].Data.String(); data != `{"no_answer":"inconclusive","source_ok":false}` {
		t.Errorf("the API shows %s", data)
	}
}

func TestARoundShowsWhatChangedAndReturnsToWhoAsked(t *testing.T) {
	d := serveFaces(t)
	d.Provider.On("face", enginetest.Fail(read(0.12, "MEERA NAIR")), enginetest.Fail(read(0.31, "MEERA NAIR")))
	w := d.Apply(faces())
	run := d.Start(w.ID, engine.StartRequest{ReferenceID: "MB-4112"}).ID
	ids := d.photos(run, "Meera Nair", "1992-11-03", "")
	later := d.Start(w.ID, engine.StartRequest{ReferenceID: "MB-4113"}).ID
	d.Advance(time.Hour)
	d.photos(later, "Ravi Iyer", "1990-01-01", "")
	asha, path := d.as(reviewerCalled("asha")), "/runs/"+string(run)
	seq := between(t, asha.get(path).body, `action="/console`+path+`/again"`, `name="seq" value="`)
	wants(t, asha.post(path+"/again", "seq", seq, "reference", "MB-4112", "step", "details", "reason", "blurred", "field", "details name"),
		http.StatusUnprocessableEntity, "is about a picture or a document", `value="details name" checked`)
	wants(t, asha.post(path+"/again", "seq", seq, "reference", "MB-4112", "step", "details", "reason", "blurred", "field", "details selfie", "note_to_customer", canary(2)), http.StatusSeeOther)

	wants(t, asha.get(path), http.StatusOK, "<bdi>Meera Nair</bdi></h1>", `class="portrait"`, "!What the customer changed") // while the customer is asked
	d.Advance(48 * time.Hour)
	again := d.photos(run, "Meera K. Nair", "1992-11-03", ids["card"])

	asha = d.as(reviewerCalled("asha")) // the session is over
	page := asha.get(path)
	wants(t, page, http.StatusOK, "back from the customer, round 1", "due in 3 hours", "!<canary-")
	changed, _, _ := strings.Cut(page.body[max(strings.Index(page.body, "card changed"), 0):], "</section>")
	for _, want := range []string{
		"What the customer changed in round 1", "asked by \u2068asha\u2069 on ", "\u2068The picture is blurred.\u2069", "&lt;canary-2&gt;",
		"<bdi>Meera Nair</bdi>", "<b><bdi>Meera K. Nair</bdi></b>", "<bdi>Pune</bdi>", "<b><bdi>c3&#34;&#39;&gt;&lt;canary-3&gt;", `data-image="` + ids["selfie"], `data-image="` + again["selfie"],
		"As before: \u2068Identity card, front\u2069, \u2068Date of birth\u2069.", "\u2068Face match\u2069 ran again: Failed, 0.12 → Failed, 0.31.", "Made before the new answer: \u2068Court register\u2069.",
	} {
		if !strings.Contains(changed, want) {
			t.Errorf("the round lacks %q: %s", want, changed)
		}
	}
	queue := asha.get("/queue")
	row := lines(t, queue, "run-"+string(run), "</tr>")
	if !strings.Contains(row, "back from the customer, round 1") || !strings.Contains(row, "For you") {
		t.Errorf("the row of the queue says %q", row)
	}
	if first, second := strings.Index(queue.body, string(run)), strings.Index(queue.body, string(later)); first > second {
		t.Errorf("the run stands behind a later one: %d, %d", first, second)
	}
	if r, err := d.Engine.Review(t.Context(), enginetest.Tenant, run); err != nil || r.Assignment.To.Person.Name != "asha" {
		t.Errorf("the run is assigned to %+v, %v, want asha", r.Assignment, err)
	}
	tab := d.tab(reviewerCalled("asha"), browser.Options{Wide: true, Width: 1280, Height: 720})
	tab.Go(d.server.URL + "/console" + path)
	if top := browser.Eval[float64](tab, `document.querySelector(".changed").getBoundingClientRect().top`); top > 680 {
		t.Errorf("what changed begins at y = %.0f, want it in view at 720", top)
	}
	d.inspectAll(tab, "run-round", path, nil)
	d.inspectAll(tab, "queue-round", "/queue", nil)
}

// An answer that is the same as before says so.
func TestARoundWithoutAChangeSaysSo(t *testing.T) {
	d := serve(t)
	w := d.Apply(workflow.Definition{
		Workflow: "name", Name: "Name", Start: "details", Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Label: "Your details", Next: "look", Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText, Label: "Full name"}}},
			"look":    {Type: workflow.NodeReview, Label: "Second look", Next: "done"}, "done": {Type: workflow.NodeEnd},
		},
	})
	run := d.begin(w, "case-1")
	answer := map[string]any{"name": "Asha Rao"}
	d.Submit(run, "details_submitted", answer)
	asha, path := d.as(reviewerCalled("asha")), "/runs/"+string(run)
	wants(t, asha.get(path), http.StatusOK, `value="does_not_match"`, `value="other"`, `!value="blurred"`, `!value="expired"`) // no picture was asked
	d.AskAgain(run, rules.AskAgain{Reasons: []string{"other"}, By: "asha", Identity: "asha"})
	d.Submit(run, "details_submitted", answer)
	wants(t, asha.get(path), http.StatusOK, "Nothing changed: every answer is as before.", fmt.Sprintf("What the customer changed in round %d", 1))
}
