// The runs that the tests of the queue page and the run page use.

package console_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// identity is a workflow with every kind of step. A check pan that scores less than 80
// leads to a review.
func identity() workflow.Definition {
	return workflow.Definition{
		Workflow: "identity", Name: "Identity check", Start: "consent", ReviewDueMinutes: 240,
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Label: "Consent", Text: "We check your identity.", OnDeclined: workflow.TargetNext, Next: "details"},
			"details": {Type: workflow.NodeCustomerInput, Label: "Your details", Next: "pan", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: "Full name", Required: true},
				{Name: "front", Type: workflow.FieldImage, Label: "Front of the card"},
				{Name: "back", Type: workflow.FieldImage, Label: "Back of the card"},
				{Name: "statement", Type: workflow.FieldFile, Label: "Bank statement", Accept: []string{"application/pdf"}},
			}},
			"pan":  {Type: workflow.NodeCheck, Key: "pan", Label: "PAN check", Provider: "script", OnFailed: workflow.TargetNext, Next: "gate"},
			"gate": {Type: workflow.NodeBranch, Label: "Score gate", Rules: []workflow.Rule{{When: `double(steps.pan.data.score) < 80.0`, Next: "look"}}, Else: "done"},
			"look": {Type: workflow.NodeReview, Label: "Second look", Reason: "The score is low.", Next: "done", OnReject: "refused"},
			"done": {Type: workflow.NodeEnd}, "refused": {Type: workflow.NodeEnd, Outcome: "refused"},
		},
	}
}

// waiting is a workflow whose runs wait for a verdict at once.
func waiting(name, reason string) workflow.Definition {
	return workflow.Definition{
		Workflow: fmt.Sprintf("w%.30x", name), Name: name, Start: "look",
		Nodes: map[verification.NodeID]workflow.Node{
			"look": {Type: workflow.NodeReview, Label: "Manual review", Reason: reason, Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

// scored is the data of the check pan.
func scored(score float64) map[string]any {
	return map[string]any{
		"score": score, "source_ok": true, "registered_name": "ASHA RAO", "matched": true,
		"address":   map[string]any{"lines": []any{"12 Hill Road", "Bandra West"}, "city": "Mumbai"},
		"sightings": []any{map[string]any{"list": "fictional", "score": 0.91, "names": []any{"Asha Rao", "A. Rao"}}},
	}
}

// cardImage is an image with a large F, so that a person sees how it is turned.
func cardImage(t testing.TB, ground color.Color) []byte {
	t.Helper()
	const width, height = 480, 300
	i := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			i.Set(x, y, ground)
			if x > 60 && x < 110 && y > 40 && y < 260 || x >= 110 && x < 240 && (y > 40 && y < 85 || y > 130 && y < 170) {
				i.Set(x, y, color.Black)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, i); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// begin starts a run of a workflow.
func (d *desk) begin(w workflow.Workflow, reference string) verification.RunID {
	d.t.Helper()
	return d.Start(w.ID, engine.StartRequest{ReferenceID: reference}).ID
}

// answered starts a run of identity and answers as a customer named name would, with
// three documents. It returns the run and its documents.
func (d *desk) answered(w workflow.Workflow, reference, name string) (verification.RunID, []verification.Document) {
	d.t.Helper()
	run := d.Start(w.ID, engine.StartRequest{ReferenceID: reference})
	d.Submit(run.ID, "consent_submitted", map[string]any{"consent_status": "success"})
	j, err := d.Engine.OpenJourney(d.t.Context(), strings.TrimPrefix(d.Run(run.ID).Action.URL, "http://journey.example/journey/"))
	if err != nil {
		d.t.Fatal(err)
	}
	var documents []verification.Document
	payload := map[string]any{"name": name}
	for field, content := range map[string][]byte{
		"front": cardImage(d.t, color.RGBA{R: 200, G: 220, B: 255, A: 255}), "back": cardImage(d.t, color.RGBA{R: 255, G: 230, B: 200, A: 255}),
		"statement": []byte("%PDF-1.4\n%%EOF\n"),
	} {
		u, err := d.Engine.UploadDocument(d.t.Context(), j, j.Step.WaitNumber, field, bytes.NewReader(content))
		if err != nil {
			d.t.Fatalf("upload %s: %v", field, err)
		}
		documents = append(documents, u)
		payload[field] = map[string]any{"document_id": u.ID}
	}
	d.Submit(run.ID, "details_submitted", payload)
	return run.ID, documents
}

// suspicious makes the check pan return a score that leads to a review.
func (d *desk) suspicious() { d.Provider.On("pan", enginetest.Pass(scored(61.5))) }

// looped starts a run that screens two owners, and answers as its customer. The first owner
// is on the list, and the second is not.
func (d *desk) looped() verification.RunID {
	d.t.Helper()
	w := d.Apply(workflow.Definition{
		Workflow: "owners", Name: "Owners", Start: "owner",
		Nodes: map[verification.NodeID]workflow.Node{
			"owner": {Type: workflow.NodeCustomerInput, Label: "Owner of the company", Next: "list", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: "Full name"},
				{Name: "more", Type: workflow.FieldCheckbox, Label: "There is another owner"},
			}},
			"list": {Type: workflow.NodeCheck, Label: "Sanctions screening", Provider: "script", Next: "more"},
			"more": {Type: workflow.NodeBranch, Label: "Another owner?", Rules: []workflow.Rule{{When: `steps.owner.data.?more.orValue(false)`, Next: "owner"}}, Else: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	})
	found := enginetest.Pass(map[string]any{"analysis_ok": false, "hits": []any{map[string]any{"id": "fictional-001", "name": "Viktor Aleksandrovich Zamoyskov", "score": 0.993}}})
	found.Result.Screening = &verification.ScreeningResult{List: "fictional", ListVersion: "1", Hits: []verification.Hit{{ID: "fictional-001", Name: "Viktor Aleksandrovich Zamoyskov", Score: 0.993}}}
	none := enginetest.Pass(map[string]any{"analysis_ok": true, "hits": []any{}})
	none.Result.Screening = &verification.ScreeningResult{List: "fictional", ListVersion: "1"}
	d.Provider.On("list", found, none)
	run := d.begin(w, "company-1")
	d.Submit(run, "owner_submitted", map[string]any{"name": "Viktor Zamoyskov", "more": true})
	d.Advance(time.Minute)
	d.Submit(run, "owner_submitted", map[string]any{"name": "Asha Rao", "more": false})
	return run
}

// fill starts many runs that wait for a verdict.
func (d *desk) fill(n int) []verification.RunID {
	d.t.Helper()
	one := d.Apply(waiting("Account opening", "The customer is a politically exposed person."))
	two := d.Apply(waiting("Card limit", "The limit is above 100,000."))
	var ids []verification.RunID
	for i := range n {
		w := one
		if i%3 == 2 {
			w = two
		}
		ids = append(ids, d.begin(w, fmt.Sprintf("case-%03d", i+1)))
		d.Advance(time.Second)
	}
	return ids
}
