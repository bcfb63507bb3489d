// The test kit of the pages: a run on memory, a server, and a customer.

package journey_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/journey"
	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// site is a server of the pages of an engine.
type site struct {
	*enginetest.Kit
	t         testing.TB
	server    *httptest.Server
	documents verification.DocumentStore
	log       *bytes.Buffer
}

func serve(t testing.TB, changes ...enginetest.Change) *site {
	t.Helper()
	s := &site{t: t, documents: blob.Memory(64<<20, 64<<20), log: &bytes.Buffer{}}
	s.Kit = enginetest.New(t, append([]enginetest.Change{func(p *engine.Ports, _ *engine.Options) {
		p.Documents, p.Sanitize = s.documents, media.Sanitize
	}}, changes...)...)
	pages, err := journey.Handler(s.Engine, slog.New(slog.NewTextHandler(s.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(http.StripPrefix("/journey", pages))
	t.Cleanup(func() {
		s.server.Close()
		if strings.Contains(s.log.String(), "not written") {
			t.Errorf("log = %s", s.log)
		}
	})
	return s
}

// begin starts a run of the definition and opens its link.
func (s *site) begin(d workflow.Definition, redirect string) *customer {
	s.t.Helper()
	if redirect != "" {
		tenant := verification.Tenant{ID: enginetest.Tenant, Name: "Acme Bank", RedirectAllowlist: []string{redirect}}
		if err := s.Store.SaveTenant(s.t.Context(), tenant); err != nil {
			s.t.Fatal(err)
		}
	}
	r := s.Start(s.Apply(d).ID, engine.StartRequest{ReferenceID: "person-1", RedirectURI: redirect})
	if r.Action == nil {
		s.t.Fatalf("run = %+v, want a link", r)
	}
	return &customer{site: s, run: r.ID, link: s.server.URL + r.Action.URL[strings.LastIndex(r.Action.URL, "/journey/"):]}
}

// data returns the recorded data of a step.
func (s *site) data(c *customer, node verification.NodeID) string {
	s.t.Helper()
	report, err := s.Engine.Report(s.t.Context(), enginetest.Tenant, c.run)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, card := range report.Cards {
		if card.NodeID == node {
			return string(card.Data)
		}
	}
	return ""
}

// customer is a browser that does not follow redirects.
type customer struct {
	*site
	run      verification.RunID
	link     string
	language string
}

// response is an HTTP response that was read.
type response struct {
	status int
	header http.Header
	body   string
}

func (c *customer) do(method, url, media string, body io.Reader, headers ...string) response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, url, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	if c.language != "" {
		r.Header.Set("Accept-Language", c.language)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(got.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	a := response{status: got.StatusCode, header: got.Header, body: string(raw)}
	if strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") && method != http.MethodHead {
		checkPage(c.t, a.body)
	}
	return a
}

func (c *customer) get() response { return c.do(http.MethodGet, c.link, "", nil) }

// wait returns the number in the open form.
func (c *customer) wait() string {
	c.t.Helper()
	found := regexp.MustCompile(`name="wait" value="(\d+)"`).FindStringSubmatch(c.get().body)
	if found == nil {
		c.t.Fatal("the page has no form")
	}
	return found[1]
}

// post sends the open form with these answers: names and values in turn.
func (c *customer) post(pairs ...string) response { return c.postTo(c.wait(), pairs...) }

func (c *customer) postTo(wait string, pairs ...string) response {
	c.t.Helper()
	values := url.Values{"wait": {wait}}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return c.do(http.MethodPost, c.link, "application/x-www-form-urlencoded", strings.NewReader(values.Encode()),
		"Origin", c.server.URL, "Sec-Fetch-Site", "same-origin")
}

// askAgain has a reviewer ask the customer again.
func (c *customer) askAgain(a rules.AskAgain) {
	c.t.Helper()
	a.By, a.Identity = "ravi", "ravi"
	if _, err := c.Engine.AskAgain(c.t.Context(), enginetest.Tenant, c.run, a, ""); err != nil {
		c.t.Fatal(err)
	}
	c.Settle()
}

// file is a file of a form.
type file struct{ field, name, content string }

// send sends the open form with files.
func (c *customer) send(files []file, pairs ...string) response {
	c.t.Helper()
	return c.sendTo(c.wait(), files, pairs...)
}

func (c *customer) sendTo(wait string, files []file, pairs ...string) response {
	c.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, pair := range append([][2]string{{"wait", wait}}, twos(pairs)...) {
		if err := w.WriteField(pair[0], pair[1]); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, f := range files {
		part, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {fmt.Sprintf("form-data; name=%q; filename=%q", "f."+f.field, f.name)},
		})
		if err != nil {
			c.t.Fatal(err)
		}
		_, _ = io.WriteString(part, f.content)
	}
	if err := w.Close(); err != nil {
		c.t.Fatal(err)
	}
	return c.do(http.MethodPost, c.link, w.FormDataContentType(), &b)
}

func twos(pairs []string) [][2]string {
	var all [][2]string
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, [2]string{pairs[i], pairs[i+1]})
	}
	return all
}

// picture is a small JPEG of that shade.
func picture(t testing.TB, shade uint8) string {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 320, 200))
	for i := range m.Pix {
		m.Pix[i] = shade
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// day is how long a run lives.
const day = 24 * time.Hour

// onboarding has a consent, forms with every type of field, and a check.
func onboarding() workflow.Definition {
	low, high := 18.0, 120.0
	return workflow.Definition{
		Workflow: "onboarding", Name: "Open an account", Start: "consent",
		RunTTLSeconds: int64(day / time.Second), AbandonTimeoutSeconds: 900,
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {
				Type: workflow.NodeConsent, Label: "Your consent", OnDeclined: workflow.TargetNext, Next: "details",
				Text: "We check your identity with the PAN you give us, and compare your photo with your document.\n\nWe keep:\n\n- the result, for five years\n- no photo: see [our policy](https://acme.example/privacy).",
			},
			"details": {Type: workflow.NodeCustomerInput, Label: "Your details", Next: "extra", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: "Full name", Required: true, MaxLength: 40},
				{Name: "pan", Type: workflow.FieldText, Label: "PAN", Required: true, Pattern: "^[A-Z]{5}[0-9]{4}[A-Z]$", Help: "Ten characters, such as ABCDE1234F"},
				{Name: "dob", Type: workflow.FieldDate, Label: "Date of birth", Required: true},
				{Name: "age", Type: workflow.FieldNumber, Label: "Age", Min: &low, Max: &high},
				{Name: "email", Type: workflow.FieldEmail, Label: "Email"},
				{Name: "phone", Type: workflow.FieldPhone, Label: "Phone"},
				{Name: "work", Type: workflow.FieldSelect, Label: "What you do", Options: []workflow.Option{{Value: "employed", Label: "I am employed"}, {Value: "own", Label: "I have my own business"}, {Value: "other"}}},
				{Name: "about", Type: workflow.FieldTextarea, Label: "Anything else", Help: "Leave it empty if there is nothing."},
				{Name: "terms", Type: workflow.FieldCheckbox, Label: "I have read the terms", Required: true},
			}},
			"extra": {
				Type: workflow.NodeCustomerInput, Label: "Photos", Optional: true, Next: "check", Text: "So that we know it is you.",
				Fields: workflow.InputFields{
					{Name: "front", Type: workflow.FieldFile, Label: "Front of the document", Required: true, Accept: []string{"image/jpeg", "application/pdf"}},
					{Name: "selfie", Type: workflow.FieldImage, Label: "A photo of you"},
					{Name: "where", Type: workflow.FieldLocation, Label: "Where you are", Required: true, Help: "We only ask once.", Within: []workflow.Area{{Latitude: 19, Longitude: 73, RadiusKM: 500}}},
				},
			},
			"check": {Type: workflow.NodeCheck, Key: "pan_verification", Label: "PAN verification", Provider: "script", OnFailed: "review", Next: "done"},
			"review": {
				Type: workflow.NodeReview, Label: "Manual review", Reason: "The PAN did not match.", Next: "done",
			},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

// details answers every field of the step of that name.
func details() []string {
	return []string{
		"f.name", "Asha Rao", "f.pan", "ABCDE1234F", "f.dob", "1990-04-01", "f.age", "36",
		"f.email", "asha@example.com", "f.phone", "+91 98765 43210", "f.work", "own", "f.about", "line 1\r\nline 2", "f.terms", "on",
	}
}
