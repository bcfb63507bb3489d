// Tests of the documents of runs.

package httpapi_test

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

func TestADocumentIsReadAsItIsStoredAndABrowserRunsNothingInIt(t *testing.T) {
	a := newAPI(t, setup{ports: func(p *engine.Ports, _ *engine.Options) {
		p.Documents, p.Sanitize = blob.Memory(1<<20, 1<<20), media.Sanitize
	}})
	run := a.started(verification.Definition{
		Workflow: "uploads", Name: "Uploads", Start: "details",
		Nodes: map[verification.NodeID]verification.Node{
			"details": {Type: verification.NodeCustomerInput, Label: "Your documents", Next: "done", Fields: verification.InputFields{
				{Name: "card", Type: verification.FieldImage, Required: true},
				{Name: "statement", Type: verification.FieldFile, Required: true, Accept: []string{"application/pdf"}},
			}},
			"done": {Type: verification.NodeEnd},
		},
	})
	j, err := a.Engine.OpenJourney(t.Context(), run.Action.URL[strings.LastIndex(run.Action.URL, "/")+1:])
	must(t, err)
	var card bytes.Buffer
	must(t, png.Encode(&card, image.NewGray(image.Rect(0, 0, 320, 200))))
	uploads := map[string]verification.Document{}
	answers := map[string]any{}
	for field, content := range map[string][]byte{"card": card.Bytes(), "statement": []byte("%PDF-1.4\n<script>alert(1)</script>\n%%EOF\n")} {
		d, err := a.Engine.UploadDocument(t.Context(), j, j.Step.WaitNumber, field, bytes.NewReader(content))
		must(t, err)
		uploads[field], answers[field] = d, map[string]any{"document_id": d.ID}
	}
	unnamed := a.do(http.MethodGet, "/v1/runs/"+string(run.ID)+"/documents/"+uploads["card"].ID, "")
	unnamed.says(404, "There is no such document.") // no answer names it yet
	a.Submit(run.ID, "details_submitted", answers)
	for field, want := range map[string]struct{ media, disposition, content string }{
		"card":      {"image/png", "inline", "\x89PNG"},
		"statement": {"application/pdf", "attachment", "<script>alert(1)</script>"},
	} {
		d := uploads[field]
		path := "/v1/runs/" + string(run.ID) + "/documents/" + d.ID
		got := a.do(http.MethodGet, path, "").says(200, want.content)
		for name, value := range map[string]string{
			"Content-Type": want.media, "Content-Disposition": want.disposition + `; filename="` + d.ID + `"`,
			"Content-Length": strconv.FormatInt(d.Size, 10), "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "no-store",
		} {
			got.header(name, value)
		}
		if len(got.Body) != int(d.Size) {
			t.Errorf("%s has %d bytes, want %d", field, len(got.Body), d.Size)
		}
		if head := a.do(http.MethodHead, path, ""); head.Status != 200 || len(head.Body) != 0 || head.Header.Get("Content-Length") != strconv.FormatInt(d.Size, 10) {
			t.Errorf("HEAD of %s = %d with %d bytes", field, head.Status, len(head.Body))
		}
		a.do(http.MethodGet, path, "", "client-id: other").says(404, "Not Found")
	}
}
