// Tests of documents on the run page: the first page of a PDF, and the viewer of images.

package console_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/phpdave11/gofpdf"

	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// sketching makes a console show a page that is drawn at once: the library is compiled for
// longer than a browser waits on a slow machine.
func sketching(t testing.TB) func(*console.Options) {
	t.Helper()
	var page bytes.Buffer
	if err := jpeg.Encode(&page, image.NewGray(image.Rect(0, 0, 707, 1000)), nil); err != nil {
		t.Fatal(err)
	}
	return func(o *console.Options) { o.Pages = sketch(page.Bytes()) }
}

// sketch is the page of every file that has a page.
type sketch []byte

func (s sketch) DrawPage(_ context.Context, _ verification.TenantID, d verification.Document, content io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(content)
	if err == nil && !bytes.Contains(raw, []byte("/Page")) {
		err = &verification.Error{Kind: verification.ErrInvalid, Subject: "document", Message: "it has no page: " + d.ID, Cause: io.EOF}
	}
	return s, err
}

// withDocuments starts a run whose customer sends a card, a selfie, a statement and a
// file that is no PDF but looks like one. It returns the run and the ids by field.
func (d *desk) withDocuments() (verification.RunID, map[string]string) {
	d.t.Helper()
	file := []string{"application/pdf"}
	w := d.Apply(workflow.Definition{
		Workflow: "documents", Name: "Documents", Start: "details",
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Label: "Your details", Next: "papers", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: "Full name"},
				{Name: "dob", Type: workflow.FieldDate, Label: "Date of birth"},
				{Name: "number", Type: workflow.FieldText, Label: "Number of the card"},
				{Name: "front", Type: workflow.FieldImage, Label: "Front of the card"},
				{Name: "back", Type: workflow.FieldImage, Label: "Back of the card"},
				{Name: "face", Type: workflow.FieldImage, Label: "Your face", Camera: workflow.CameraFront},
			}},
			"papers": {Type: workflow.NodeCustomerInput, Label: "Your papers", Next: "look", Fields: workflow.InputFields{
				{Name: "bank", Type: workflow.FieldText, Label: "Bank"},
				{Name: "statement", Type: workflow.FieldFile, Label: "Bank statement", Accept: file},
				{Name: "empty", Type: workflow.FieldFile, Label: "Something else", Accept: file},
			}},
			"look": {Type: workflow.NodeReview, Label: "Second look", Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	})
	run, ids := d.Start(w.ID, engine.StartRequest{ReferenceID: "case-1"}), map[string]string{}
	send := func(signal string, payload map[string]any, files map[string][]byte) {
		j, err := d.Engine.OpenJourney(d.t.Context(), strings.TrimPrefix(d.Run(run.ID).Action.URL, "http://journey.example/journey/"))
		if err != nil {
			d.t.Fatal(err)
		}
		for field, content := range files {
			u, err := d.Engine.UploadDocument(d.t.Context(), j, j.Step.WaitNumber, field, bytes.NewReader(content))
			if err != nil {
				d.t.Fatalf("upload %s: %v", field, err)
			}
			ids[field], payload[field] = u.ID, map[string]any{"document_id": u.ID}
		}
		d.Submit(run.ID, signal, payload)
	}
	send("details_submitted", map[string]any{"name": "Asha Rao", "dob": "1990-04-12", "number": "ABCPR1234F"}, map[string][]byte{
		"front": cardImage(d.t, color.RGBA{R: 200, G: 220, B: 255, A: 255}), "back": cardImage(d.t, color.RGBA{R: 255, G: 230, B: 200, A: 255}),
		"face": cardImage(d.t, color.RGBA{R: 220, G: 255, B: 220, A: 255}),
	})
	send("papers_submitted", map[string]any{"bank": "First Bank"}, map[string][]byte{
		"statement": statement(d.t), "empty": []byte("%PDF-1.4\n%%EOF\n"),
	})
	return run.ID, ids
}

// statement is a PDF with a black box in its upper half.
func statement(t testing.TB) []byte {
	t.Helper()
	p := gofpdf.New("P", "mm", "A4", "")
	p.AddPage()
	p.Rect(30, 20, 150, 60, "F")
	p.SetFont("Helvetica", "", 24)
	p.Text(30, 100, "First Bank, statement of Asha Rao")
	var b bytes.Buffer
	if err := p.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheFirstPageOfAPDFIsServedAsAnImage(t *testing.T) {
	d := serveWith(t, sketching(t))
	run, ids := d.withDocuments()
	other := d.begin(d.Apply(waiting("Other", "")), "case-2")
	p, path := d.as(reviewer(verification.RoleViewer)), "/runs/"+string(run)
	wants(t, p.get(path), http.StatusOK, // also without a script
		`<img src="/console`+path+"/documents/"+ids["statement"]+`/page"`, `href="/console`+path+"/documents/"+ids["statement"]+`" download`)
	a := p.get(path + "/documents/" + ids["statement"] + "/page")
	page, err := jpeg.Decode(strings.NewReader(a.body))
	if a.status != http.StatusOK || err != nil {
		t.Fatalf("the page = %d, %v", a.status, err)
	}
	if size := page.Bounds().Size(); size != image.Pt(707, 1000) {
		t.Errorf("the page has %s pixels, want that of the drawer", size)
	}
	for name, want := range map[string]string{
		"Content-Type": "image/jpeg", "X-Content-Type-Options": "nosniff", "Content-Disposition": "inline", "Cache-Control": "no-store",
		"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	stranger := reviewer(verification.RoleAdmin)
	stranger.Tenant = otherTenant
	wants(t, d.as(stranger).get(path+"/documents/"+ids["statement"]+"/page"), http.StatusNotFound)
	wants(t, p.get("/runs/"+string(other)+"/documents/"+ids["statement"]+"/page"), http.StatusNotFound)
	wants(t, p.get(path+"/documents/"+ids["front"]+"/page"), http.StatusNotFound)
	wants(t, p.get(path+"/documents/"+ids["empty"]+"/page"), http.StatusBadRequest)
	log := d.log.String()
	if n := strings.Count(log, "document viewed"); n != 1 || !strings.Contains(log, "document="+ids["statement"]) {
		t.Errorf("%d views are logged, want one of the statement: %s", n, log)
	}
	if !strings.Contains(log, `msg="document not drawn"`) || !strings.Contains(log, "document="+ids["empty"]) || strings.Contains(log, "Asha") {
		t.Errorf("the log does not say which document has no picture, without a name: %s", log)
	}
}

func TestAConsoleWithoutADrawerOffersPDFsAsFiles(t *testing.T) {
	d := serve(t)
	run, ids := d.withDocuments()
	p, path := d.as(reviewer(verification.RoleViewer)), "/runs/"+string(run)
	wants(t, p.get(path), http.StatusOK, "!/page", `href="/console`+path+"/documents/"+ids["statement"]+`" download`)
	wants(t, p.get(path+"/documents/"+ids["statement"]+"/page"), http.StatusNotFound)
}

func TestTheViewerShowsThePortraitTheDataAndTheVerdict(t *testing.T) {
	d := serveWith(t, sketching(t))
	run, ids := d.withDocuments()
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	open := func(field string) {
		t.Helper()
		tab.Press(`.documents a[data-image="` + ids[field] + `"]`)
		tab.See(".viewer .stage img")
	}
	shows := func(labels ...string) {
		t.Helper()
		if got := browser.Eval[string](tab, `[...document.querySelectorAll(".viewer .stage")].map((s) => s.ariaLabel).join(", ")`); got != strings.Join(labels, ", ") {
			t.Errorf("the viewer shows %s, want %s", got, labels)
		}
	}
	strip := func() string {
		return browser.Eval[string](tab, `[...document.querySelectorAll(".viewer .about")].map((one) => one.innerText).join(" ").replace(/\s+/g, " ")`)
	}
	open("back")
	tab.Key("c")
	shows("Back of the card", "Portrait")
	if got := strip(); got != "Summary Asha Rao Born 1990-04-12 Number ABCPR1234F Date of birth 1990-04-12 Full name Asha Rao Number of the card ABCPR1234F" {
		t.Errorf("the strip says %s", got)
	}
	tab.Wait(`document.querySelector(".viewer [data-scale]").value === "Fit"`)
	tab.Press("[data-zoom=in]")
	if got := browser.Eval[string](tab, `document.querySelector(".viewer [data-scale]").value`); got != "125 %" {
		t.Errorf("the scale is %q after zooming in", got)
	}
	tab.Key("c")
	shows("Back of the card")
	tab.Press(".viewer form button")

	tab.Wait(`document.querySelectorAll(".documents [data-undrawn]:not([hidden])").length === 1`) // of the file that is empty
	tab.Wait(`document.querySelector(".documents [data-file] img").naturalWidth > 0`)
	inspect(t, tab, "run-documents")
	open("statement")
	shows("Bank statement (first page)")
	if got := strip(); !strings.HasSuffix(got, "Number ABCPR1234F Bank First Bank") {
		t.Errorf("the strip of the statement says %s", got)
	}
	if got := browser.Eval[string](tab, `document.querySelector(".viewer [data-download]").href`); !strings.HasSuffix(got, "/documents/"+ids["statement"]) {
		t.Errorf("the download is %s", got)
	}
	if got := browser.Eval[string](tab, `[...document.querySelector("[data-choose]").options].map((one) => one.text).join(", ")`); got != "Portrait, Front of the card, Back of the card, Bank statement (first page)" {
		t.Errorf("the images are %s", got)
	}
	tab.Press("[data-compare]")
	shows("Bank statement (first page)", "Portrait")
	tab.Wait(`[...document.querySelectorAll(".stage > div")].every((one) => one.offsetWidth > 0)`)
	inspectIn(t, tab, "viewer", looks())
	tab.Emulate(browser.Options{Wide: true})
	tab.Press(".viewer form button")
	tab.Press(".portrait")
	tab.Key("c")
	shows("Portrait", "Front of the card")
	inspect(t, tab, "viewer-portrait")

	tab.Press("[data-verdicts] button.danger")
	tab.Wait(`!document.querySelector(".viewer").open && document.activeElement.value === "reject"`)
	if got := d.Run(run); got.Decision != rules.DecisionReview {
		t.Errorf("the viewer has decided: %q", got.Decision)
	}
}
