// The sample: data of every kind that a page can show, for the tests that visit every
// route.

package console_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// sample is the value of each parameter of a path, by its name.
type sample map[string]string

// fill returns a path of a pattern, and reports whether every parameter has a value.
func (s sample) fill(pattern string) (string, bool) {
	parts := strings.Split(strings.TrimSuffix(pattern, "*"), "/")
	for i, part := range parts {
		name, isParameter := strings.CutPrefix(part, "{")
		if !isParameter {
			continue
		}
		value, ok := s[strings.TrimSuffix(name, "}")]
		if !ok {
			return "", false
		}
		parts[i] = value
	}
	return strings.Join(parts, "/"), true
}

// isOfTenant reports whether a pattern has a parameter that names something of the
// tenant.
func (s sample) isOfTenant(pattern string) bool {
	for _, name := range []string{"run", "workflow", "version", "document"} {
		if strings.Contains(pattern, "{"+name+"}") {
			return true
		}
	}
	return false
}

// canary returns a text that a page must show and a browser must not interpret. Its
// number says which field it was in.
func canary(n int) string {
	return fmt.Sprintf(`c%d"'><canary-%d><img src=x onerror="window.canary=%d"><script>window.canary=%d</script>{{.Name}}`, n, n, n, n)
}

// sample makes the data as a workflow author, a client, a customer, a vendor and
// reviewers would, with a canary in every text that they control. It returns its ids;
// a page with another parameter adds its value here.
func (d *desk) sample() sample {
	d.t.Helper()
	d.Provider.On("records", enginetest.Pass(map[string]any{
		"name": canary(1), canary(2): []any{map[string]any{"alias": canary(3)}}, "source_ok": false,
	}))
	d.Provider.On("court", enginetest.Reply{Err: verification.Permanent(errors.New("the vendor said " + canary(4)))})
	w := d.Apply(workflow.Definition{
		Workflow: "sample", Name: canary(5), Description: canary(6), Start: "details", AbandonTimeoutSeconds: 900,
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Label: canary(7), Next: "records", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: canary(8), Help: canary(9)},
				{Name: "photo", Type: workflow.FieldImage, Label: canary(10)},
			}},
			"records": {Type: workflow.NodeCheck, Key: "records", Label: canary(11), Provider: "script", Next: "risk"},
			"risk":    {Type: workflow.NodeBranch, Rules: []workflow.Rule{{When: "steps.details.data.name != 'nobody'", Next: "court"}}, Else: "done"},
			"court":   {Type: workflow.NodeCheck, Key: "court", Label: canary(12), Provider: "script", OnUnavailable: "review", Next: "review"},
			"review":  {Type: workflow.NodeReview, Label: canary(13), Reason: canary(14), Next: "done"},
			"done":    {Type: workflow.NodeEnd, Outcome: "approved"},
		},
	})
	ctx := d.t.Context()
	if _, err := d.Engine.SetWebhook(ctx, enginetest.Tenant, w.ID, "https://app.example/?"+escape(canary(15))); err != nil {
		d.t.Fatal(err)
	}
	var ids []verification.RunID
	var documents []string
	for i := range 2 {
		r := d.Start(w.ID, engine.StartRequest{ReferenceID: fmt.Sprintf("person-%d %s", i, canary(16))})
		document := d.upload(r)
		d.Submit(r.ID, "details_submitted", map[string]any{"name": canary(17), "photo": map[string]any{"document_id": document}})
		ids, documents = append(ids, r.ID), append(documents, document)
	}
	if _, err := d.Engine.GiveVerdict(ctx, enginetest.Tenant, ids[0], rules.GiveVerdict{
		Decision: rules.DecisionReject, Notes: canary(18), By: canary(19),
	}, ""); err != nil {
		d.t.Fatal(err)
	}
	d.Settle()
	d.Advance(time.Minute)
	return sample{
		"token": strings.TrimPrefix(d.link(reviewer(verification.RoleViewer)), d.server.URL+"/console/sign-in/link/"),
		"run":   string(ids[1]), "document": documents[1], "workflow": string(w.ID),
	}
}

// upload uploads a photo to the open step of a run, as its customer.
func (d *desk) upload(r rules.RunDetail) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	j, err := d.Engine.OpenJourney(ctx, strings.TrimPrefix(r.Action.URL, "http://journey.example/journey/"))
	if err != nil {
		d.t.Fatal(err)
	}
	document, err := d.Engine.UploadDocument(ctx, j, j.Step.WaitNumber, "photo", bytes.NewReader(picture(d.t)))
	if err != nil {
		d.t.Fatal(err)
	}
	return document.ID
}

// picture is a small JPEG.
func picture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 320, 200)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
