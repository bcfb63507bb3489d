// Tests of the documents of runs.

package httpapi_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestADocumentIsServedAsStoredAndInert(t *testing.T) {
	a := newAPI(t, setup{ports: func(p *engine.Ports, _ *engine.Options) {
		p.Documents, p.Sanitize = blob.Memory(1<<20, 1<<20), media.Sanitize
	}})
	run := a.started(workflow.Definition{
		Workflow: "uploads", Name: "Uploads", Start: "details",
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Label: "Your documents", Next: "done", Fields: workflow.InputFields{
				{Name: "card", Type: workflow.FieldImage, Required: true},
				{Name: "statement", Type: workflow.FieldFile, Required: true, Accept: []string{"application/pdf"}},
			}},
			"done": {Type: workflow.NodeEnd},
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

// kept counts the documents of a store.
type kept struct {
	verification.DocumentStore
	ids map[string]bool
}

func (k kept) SaveDocument(ctx context.Context, r verification.RunRef, d verification.Document, content io.Reader) (verification.Document, error) {
	saved, err := k.DocumentStore.SaveDocument(ctx, r, d, content)
	if err == nil {
		k.ids[saved.ID] = true
	}
	return saved, err
}

func (k kept) RemoveDocument(ctx context.Context, r verification.RunRef, id string) error {
	delete(k.ids, id)
	return k.DocumentStore.RemoveDocument(ctx, r, id)
}

// form returns a form with the files of a field.
func form(field string, files ...string) string {
	var b strings.Builder
	for _, content := range files {
		b.WriteString("--xx\r\nContent-Disposition: form-data; name=\"" + field + "\"; filename=\"f\"\r\n\r\n" + content + "\r\n")
	}
	return b.String() + "--xx--\r\n"
}

func TestARefusedUploadLeavesNoDocument(t *testing.T) {
	k := kept{blob.Memory(16<<20, 16<<20), map[string]bool{}}
	a := newAPI(t, setup{ports: func(p *engine.Ports, _ *engine.Options) {
		p.Documents, p.Sanitize = k, media.Sanitize
	}})
	run := a.started(workflow.Definition{
		Workflow: "uploads", Name: "Uploads", Start: "details",
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Label: "Your documents", Next: "done", Fields: workflow.InputFields{
				{Name: "bill", Type: workflow.FieldFile}, {Name: "card", Type: workflow.FieldImage},
			}},
			"done": {Type: workflow.NodeEnd},
		},
	})
	pdf := func(size int) string {
		const head, tail = "%PDF-1.4\n", "\n%%EOF\n"
		return head + strings.Repeat(" ", size-len(head)-len(tail)) + tail
	}
	path, multipart := "/v1/runs/"+string(run.ID)+"/documents", "Content-Type: multipart/form-data; boundary=xx"
	for _, row := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"nothing", "--xx--\r\n", 400, "the form must have one file"},
		{"two files", form("bill", pdf(100), pdf(100)), 400, "the form must have one file"},
		{"a file that is cut off", form("bill", pdf(100))[:120], 400, "ended before it was complete"},
		{"a form that ends after the file", strings.TrimSuffix(form("bill", pdf(100)), "--xx--\r\n"), 400, "ended before it was complete"},
		{"a file that is too long", form("bill", pdf(verification.MaxDocumentBytes+1)), 413, `"The file must be at most 10 MiB.","code":413,"reason":"file_too_large"`},
		{"a form that is too long", form("bill", pdf(verification.MaxDocumentBytes+1<<20)), 413, `"The file must be at most 10 MiB.","code":413,"reason":"file_too_large"`},
		{"a file that is no image", form("card", pdf(100)), 422, `"code":422,"reason":"file_not_accepted","details":[{"field":"payload.card"`},
		{"a file of no known type", form("bill", "MZ"), 422, `"field":"payload.bill"`},
		{"an empty file", form("bill", ""), 422, `"field":"payload.bill"`},
		{"a field of no step", form("other", pdf(100)), 409, "The run does not wait for a file of this field."},
	} {
		a.do(http.MethodPost, path, row.body, multipart).says(row.status, row.want)
		if len(k.ids) != 0 {
			t.Errorf("after %s there are %d documents, want none", row.name, len(k.ids))
		}
	}
	a.do(http.MethodPost, path, form("bill", pdf(verification.MaxDocumentBytes)), multipart).says(200, `"size":10485760`)
	a.do(http.MethodPost, path, form("bill", pdf(verification.MaxDocumentBytes-1)), multipart).says(503, "Service Unavailable")
	if len(k.ids) != 1 {
		t.Errorf("there are %d documents, want the one that was saved", len(k.ids))
	}
	a.do(http.MethodPost, path, form("bill", pdf(100)), multipart, "client-id: other").is(404, noRun)
	a.do(http.MethodPost, path, "{}").says(415, `"code":415,"reason":"unsupported_media_type"`)
}
