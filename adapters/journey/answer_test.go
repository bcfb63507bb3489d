// Tests of answers that are invalid, late or repeated.

package journey_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestProblemsAreShownAtTheirFieldsAndAnswersStay(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	page := c.post("f.name", "Asha <b>Rao</b>", "f.pan", "abcde", "f.dob", "1990-02-31", "f.age", "1,23", "f.email", "asha@",
		"f.phone", "12", "f.work", "thief", "f.about", "a\x00b\r\nc", "f.terms", "")
	wants(t, page, http.StatusUnprocessableEntity,
		"<title>Error: Your details", `role="alert"`, "autofocus", `value="Asha &lt;b&gt;Rao&lt;/b&gt;"`, `value="abcde"`, `value="1,23"`, "\nab\nc</textarea>")
	for field, text := range map[string]string{
		"pan": "“PAN” does not have the right form.", "dob": "“Date of birth” must be a full date", "age": "with a point for decimals",
		"email": "Please write “Email” as an email address", "phone": "Please write “Phone” as a phone number", "work": "Please choose one of the options for “What you do”",
		"terms": "Please tick “I have read the terms”",
	} {
		if problem := between(page.body, `id="f-`+field+`-error">`, "</p>"); !strings.Contains(problem, text) {
			t.Errorf("the problem of %s is %q, want %q", field, problem, text)
		}
		input := field
		if field == "dob" {
			input = "dob-day" // the first of three
		}
		if !regexp.MustCompile(`id="f-` + input + `"[^>]*aria-describedby="[^"]*f-` + field + `-error"[^>]* aria-invalid="true"`).MatchString(page.body) {
			t.Errorf("%s has no aria-describedby for its problem", field)
		}
		if !strings.Contains(page.body, `<li><a href="#f-`+input+`" dir="auto">`+between(page.body, `id="f-`+field+`-error"><span class="hidden">Error:</span> `, "</p>")) && field != "age" {
			t.Errorf("the summary repeats the label of %s", field)
		}
		if !strings.Contains(page.body, `<li><a href="#f-`+input+`" dir="auto">`) {
			t.Errorf("%s is not in the summary", field)
		}
	}
	if got := s.data(c, "details"); got != "" {
		t.Errorf("details = %s after a refusal, want none", got)
	}
}

func TestARefusedFormCanBeReadInAnotherLanguage(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	page := c.post(append(details(), "f.age", "thirty")...)
	wants(t, page, http.StatusUnprocessableEntity, `<form method="post" id="answers"`, `<button form="answers" formaction="?lang=hi" formnovalidate name="do" value="language"`)
	// All answers are right now, and yet they are only shown.
	c.link += "?lang=hi"
	page = c.post(append(details(), "do", "language")...)
	wants(t, page, http.StatusOK, `<html lang="hi"`, `value="Asha Rao"`, `formaction="?lang=en"`)
	if got := s.data(c, "details"); got != "" {
		t.Errorf("details = %s after the language was changed, want none", got)
	}
	onward(t, c.post(details()...))
}

func TestATextIsNotReadAsZero(t *testing.T) {
	s, d := serve(t), onboarding()
	for i := range d.Nodes["details"].Fields {
		d.Nodes["details"].Fields[i].Min = nil
	}
	c := s.begin(d, "")
	onward(t, c.post("consent", "success"))
	wants(t, c.post(append(details(), "f.age", "thirty")...), http.StatusUnprocessableEntity, "in digits")
	if got := s.data(c, "details"); got != "" {
		t.Errorf("details = %s after a refusal, want none", got)
	}
}

func TestNumbersAreReadAsPeopleWriteThem(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	for sent, want := range map[string]string{
		"36,5": "with a point", "3 6": "with a point", "1.234,50": "with a point", "1,2345": "with a point", "0,123": "with a point", "1,234,56": "with a point", "1,234'567": "with a point", ",123": "with a point", "1,234": "in two ways", "12,34,567.5": "120 or less", "1'234": "120 or less", "٬٣": "with a point", "thirty": "in digits", "1e3": "in digits", "0x20": "in digits",
		"1.2.3": "in digits", ".": "in digits", "Inf": "in digits", "17": "18 or more", "120.5": "120 or less", strings.Repeat("9", 400): "too many digits", "18446744073709551616": "too many digits", "-9223372036854775809": "too many digits",
		"٣٦٬٥٠٠": "120 or less",
	} {
		wants(t, c.post(append(details(), "f.age", sent)...), http.StatusUnprocessableEntity, want)
	}
	onward(t, c.post(append(details(), "f.age", "+३६.5")...))
	if got := s.data(c, "details"); !strings.Contains(got, `"age":36.5`) {
		t.Errorf("details = %s, want the age 36.5", got)
	}
}

// numbers returns an onboarding whose age is any number.
func numbers(integer bool) workflow.Definition {
	d := onboarding()
	for i := range d.Nodes["details"].Fields {
		if f := &d.Nodes["details"].Fields[i]; f.Name == "age" {
			f.Min, f.Max, f.Integer = nil, nil, integer
		}
	}
	return d
}

func TestNumbersOnThePageKeepTheirDigits(t *testing.T) {
	s := serve(t)
	for sent, want := range map[string]string{
		"12345678901234567": "12345678901234567", "9007199254740993": "9007199254740993", "18446744073709551615": "18446744073709551615",
		"-9223372036854775808": "-9223372036854775808", "12,345,678,901,234,567": "12345678901234567", "१२३४५६७८९०१२३४५६७": "12345678901234567",
		"+007": "7", "-0": "0", "0": "0", "00.50": "0.50", "5.": "5", ".5": "0.5", "−3.10": "-3.10", "0.1234567890123456789": "0.1234567890123456789",
		"1.25": "1.25", "0.250": "0.250", "1234.250": "1234.250", "1,234.250": "1234.250", "1.2500": "1.2500", "1,250.0": "1250.0", "1,250,000": "1250000", "1 250": "1250", "1٬250": "1250", "١٫٢٥٠": "1.250",
	} {
		c := s.begin(numbers(false), "")
		onward(t, c.post("consent", "success"))
		onward(t, c.post(append(details(), "f.age", sent)...))
		if got := s.data(c, "details"); !strings.Contains(got, `"age":`+want+`,`) && !strings.Contains(got, `"age":`+want+`}`) {
			t.Errorf("%s: details = %s, want the age %s", sent, got, want)
		}
	}
}

func TestANumberWithTwoReadingsIsAskedAgain(t *testing.T) {
	s := serve(t)
	c := s.begin(numbers(false), "")
	onward(t, c.post("consent", "success"))
	for sent, want := range map[string]string{
		"1.250": "Please write 1250 or 1.25.", "1.255": "Please write 1255 or 1.2550.", "-12.500": "Please write -12500 or -12.5.",
		"100.000": "Please write 100000 or 100.", "१.२५०": "Please write 1250 or 1.25.", "+1.005": "Please write 1005 or 1.0050.",
		"1,250": "Please write 1250 or 1.25.", "-12,500": "Please write -12500 or -12.5.", "100,000": "Please write 100000 or 100.", "१،२५५": "Please write 1255 or 1.2550.",
	} {
		wants(t, c.post(append(details(), "f.age", sent)...), http.StatusUnprocessableEntity, want, `value="`+strings.ReplaceAll(sent, "+", "&#43;")+`"`)
	}
	if got := s.data(c, "details"); got != "" {
		t.Errorf("details = %s after a refusal, want none", got)
	}
}

func TestAWholeNumberFieldTakesWholeNumbers(t *testing.T) {
	s := serve(t)
	c := s.begin(numbers(true), "")
	onward(t, c.post("consent", "success"))
	wants(t, c.post(append(details(), "f.age", "36.5")...), http.StatusUnprocessableEntity, "Please write “Age” as a whole number", `inputmode="numeric"`)
	onward(t, c.post(append(details(), "f.age", "1,250")...)) // no decimals, so no second reading
	if got := s.data(c, "details"); !strings.Contains(got, `"age":1250,`) {
		t.Errorf("details = %s, want the age 1250", got)
	}
	c = s.begin(numbers(true), "")
	onward(t, c.post("consent", "success"))
	onward(t, c.post(append(details(), "f.age", "36.0")...))
	if got := s.data(c, "details"); !strings.Contains(got, `"age":36,`) {
		t.Errorf("details = %s, want the age 36", got)
	}
}

func TestDigitsOfEveryScriptAreRead(t *testing.T) {
	for _, number := range []string{"३६", "٣٦", "𑄹𑄼", "𞥓𞥖", "𝟯𝟲"} { // Devanagari, Arabic, Chakma, Adlam, mathematical
		s := serve(t)
		c := s.begin(onboarding(), "")
		onward(t, c.post("consent", "success"))
		onward(t, c.post(append(details(), "f.age", number)...))
		if got := s.data(c, "details"); !strings.Contains(got, `"age":36`) {
			t.Errorf("%s: details = %s, want the age 36", number, got)
		}
	}
}

func TestARefusedFileIsAProblemOfItsFieldOnly(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	onward(t, c.post(details()...))
	for _, row := range []struct{ content, problem string }{
		{"GIF89a no picture of ours", "one of these: JPEG or PDF."},
		{"", "This file is empty"},
		{picture(t, 1) + strings.Repeat("x", verification.MaxDocumentBytes), "too large"},
	} {
		page := c.send([]file{{"front", "a.gif", row.content}, {"selfie", "me.jpg", picture(t, 9)}}, "f.where.denied", "on")
		wants(t, page, http.StatusUnprocessableEntity, row.problem, "Uploaded:", "me.jpg", `name="f.where.denied" value="on" checked`)
		if kept := between(page.body, `name="f.front.id" value="`, `"`); kept != "" && strings.Contains(page.body, `name="f.front.id"`) {
			t.Errorf("the refused file was kept as %s", kept)
		}
	}
	page := c.send([]file{{"front", "pass.jpg", picture(t, 5)}, {"name", "x.jpg", "not a field for files"}, {"selfie", "", ""}})
	wants(t, page, http.StatusUnprocessableEntity, "pass.jpg")
	id := between(page.body, `name="f.front.id" value="`, `"`)
	wants(t, c.send(nil, "f.front.id", "00000000-0000-7000-8000-00000000ffff", "f.where.denied", "on"),
		http.StatusUnprocessableEntity, "Please choose this file again")
	wants(t, c.send([]file{{"front", "b.gif", "GIF89a"}}, "f.front.id", id, "f.front.name", "pass.jpg", "f.where.denied", "on"),
		http.StatusUnprocessableEntity, "one of these:", `name="f.front.id" value="`+id) // the first one stays
	onward(t, c.send(nil, "f.front.id", id, "f.where.denied", "on", "f.selfie.id", id, "f.selfie.drop", "on"))
	if got := s.data(c, "extra"); strings.Contains(got, "selfie") || !strings.Contains(got, id) {
		t.Errorf("extra = %s, want the front alone", got)
	}
}

func TestThePageNamesTheAcceptedMediaTypes(t *testing.T) {
	s := serve(t)
	for _, row := range []struct {
		accept        []string
		hint, problem string
		hindi         string
	}{
		{[]string{"application/pdf", "image/*"}, "PDF or an image, up to 10 MB.", "one of these: PDF or an image.", "PDF या तस्वीर,"},
		{[]string{"image/*", "image/png"}, "An image, up to 10 MB.", "one of these: an image.", "तस्वीर,"},
		{[]string{"image/jpg", "image/jpeg", "IMAGE/PNG", "application/*"}, "JPEG, PNG or PDF, up to 10 MB.", "one of these: JPEG, PNG or PDF.", "JPEG, PNG या PDF,"},
		{[]string{"image/png", "*/*"}, "Up to 10 MB.", "Please choose another one.", "अधिकतम 10 MB"},
	} {
		d := onboarding()
		d.Nodes["consent"] = workflow.Node{
			Type: workflow.NodeCustomerInput, Next: "done",
			Fields: workflow.InputFields{{Name: "f", Type: workflow.FieldFile, Accept: row.accept}},
		}
		d.Nodes = map[verification.NodeID]workflow.Node{"consent": d.Nodes["consent"], "done": d.Nodes["done"]}
		c := s.begin(d, "")
		wants(t, c.get(), http.StatusOK, ">"+row.hint+"<")
		wants(t, c.send([]file{{"f", "a.gif", "GIF89a no picture of ours"}}), http.StatusUnprocessableEntity, row.problem)
		c.link += "?lang=hi"
		wants(t, c.get(), http.StatusOK, ">"+row.hindi)
	}
}

func TestAnAnswerIsRecordedWithItsLanguage(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	c.link += "?lang=hi"
	onward(t, c.post("consent", "success"))
	rec, err := s.Engine.History(t.Context(), enginetest.Tenant, c.run)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(rec.Events, func(e rules.Event) bool {
		f, ok := e.Fact.(rules.CustomerSubmitted)
		return ok && f.Language == "hi"
	}) {
		t.Errorf("no answer in Hindi is recorded: %+v", rec.Events)
	}
}

func TestAStalePageShowsTheStepThatIsOpen(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	first := c.wait()
	onward(t, c.postTo(first, "consent", "success"))
	for _, wait := range []string{first, "", "0", "-1", "x", "99999999999999999999"} {
		a := c.postTo(wait, append(details(), "consent", "declined")...)
		onward(t, a)
		if !strings.HasSuffix(a.header.Get("Location"), "?moved") {
			t.Errorf("a post for wait %q leads to %q, want it marked", wait, a.header.Get("Location"))
		}
	}
	moved := *c
	moved.link += "?moved"
	wants(t, moved.get(), http.StatusOK, "You have already answered that step", "Your details")
	if got := s.data(c, "consent"); got != `{"consent_status":"success"}` {
		t.Errorf("consent = %s, want the first answer", got)
	}
}

func TestADoubleClickDeliversOnce(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	wait := c.wait()
	var all sync.WaitGroup
	answers := make([]response, 8)
	for i := range answers {
		all.Go(func() { answers[i] = c.postTo(wait, details()...) })
	}
	all.Wait()
	for _, a := range answers {
		onward(t, a)
	}
	wants(t, c.get(), http.StatusOK, "Step 3 of 3")
	stale := c.postTo(wait, details()...)
	onward(t, stale)
	onward(t, c.post("do", "opt_out"))
	s.Settle()
	onward(t, c.postTo(wait, details()...))
	wants(t, c.get(), http.StatusOK, "Thank you")
}

func TestOnlyAnOptionalStepCanBeSkipped(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	wants(t, c.post("consent", ""), http.StatusUnprocessableEntity, "We cannot accept one of your answers")
	onward(t, c.post("consent", "success"))
	wants(t, c.post("do", "opt_out"), http.StatusUnprocessableEntity, "We cannot accept one of your answers")
}

func TestAnotherSiteCannotAnswer(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	body := "consent=success&wait=" + c.wait()
	post := func(headers ...string) response {
		return c.do(http.MethodPost, c.link, "application/x-www-form-urlencoded", strings.NewReader(body), headers...)
	}
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "cross-site", "Origin", "null"},
		{"Origin", "https://evil.example"},
	} {
		wants(t, post(headers...), http.StatusForbidden, "This answer came from another site")
	}
	onward(t, post("Origin", "null")) // an old browser: the pages have a no-referrer policy
}

func TestATooLargePostIsRefused(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	wants(t, c.post("f.about", strings.Repeat("x", 5<<20)), http.StatusRequestEntityTooLarge, "What you sent is too large")
	onward(t, c.post(details()...))
	wants(t, c.send(nil, "f.about", strings.Repeat("x", 5<<20)), http.StatusRequestEntityTooLarge)
	wants(t, c.send([]file{{"front", "a.jpg", strings.Repeat("x", 70<<20)}}), http.StatusRequestEntityTooLarge)
	many := make([]string, 0, 2000)
	for i := range 1000 {
		many = append(many, fmt.Sprint("f.x", i), "y")
	}
	wants(t, c.send(nil, many[2:]...), http.StatusUnprocessableEntity) // 1,000 parts with the number of the wait
	wants(t, c.send(nil, many...), http.StatusRequestEntityTooLarge)
}

func TestABrokenPostChangesNothing(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	onward(t, c.post(details()...))
	half := "--b\r\nContent-Disposition: form-data; name=\"wait\"\r\n\r\n" + c.wait() +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"f.front\"; filename=\"a.jpg\"\r\n\r\n\xff\xd8"
	if a := c.do(http.MethodPost, c.link, "multipart/form-data; boundary=b", strings.NewReader(half)); a.status != http.StatusBadRequest {
		t.Errorf("half a post = %d, want 400", a.status)
	}
	for _, media := range []string{"multipart/form-data", "application/json", "", "text/plain; charset"} {
		onward(t, c.do(http.MethodPost, c.link, media, strings.NewReader(`{"x":1}`)))
	}
	wants(t, c.get(), http.StatusOK, "Step 3 of 3")
}

func TestAFullDocumentStoreLeavesTheFormOpen(t *testing.T) {
	s := serve(t, func(p *engine.Ports, _ *engine.Options) {
		p.Sanitize = unchanged
		p.Documents = &mock.DocumentStoreMock{
			SaveDocumentFunc: func(_ context.Context, _ verification.RunRef, d verification.Document, _ io.Reader) (verification.Document, error) {
				if d.Field == "selfie" {
					return d, errors.New("the disk burns")
				}
				return d, &verification.Error{Kind: verification.ErrUnavailable, Subject: "document"}
			},
			RemoveDocumentFunc: func(context.Context, verification.RunRef, string) error { return nil },
		}
	})
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	onward(t, c.post(details()...))
	wants(t, c.send([]file{{"front", "a.jpg", "x"}}, "f.where.denied", "on"), http.StatusUnprocessableEntity, "We cannot take more files right now", `name="f.where.denied" value="on" checked`)
	wants(t, c.send([]file{{"selfie", "a.jpg", "x"}}), http.StatusInternalServerError, "Something went wrong")
	if log := s.log.String(); !strings.Contains(log, "the disk burns") || strings.Contains(log, strings.TrimPrefix(c.link, s.server.URL)) {
		t.Errorf("log = %s, want the cause and no token", log)
	}
}

// failingTenants is a tenant store that fails while an error is set.
type failingTenants struct {
	store.Store
	mu   sync.Mutex
	fail error
}

func (m *failingTenants) setError(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

func (m *failingTenants) Row(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil && kind == store.RecordTenant {
		return nil, m.fail
	}
	return m.Store.Row(ctx, kind, key)
}

func TestAnUnavailableStoreIsExplained(t *testing.T) {
	var tenants *failingTenants
	s := serve(t, func(p *engine.Ports, _ *engine.Options) {
		tenants = &failingTenants{Store: p.Store}
		p.Store = tenants
	})
	c := s.begin(onboarding(), "")
	tenants.setError(&verification.Error{Kind: verification.ErrUnavailable, Subject: "tenant"})
	page := c.get()
	wants(t, page, http.StatusServiceUnavailable, "We will be right back", "Try again")
	if page.header.Get("Retry-After") == "" {
		t.Error("nothing says when to try again")
	}
	if a := c.do(http.MethodGet, c.link+"/state", "", nil); a.status != http.StatusServiceUnavailable {
		t.Errorf("state = %d, want 503", a.status)
	}
	wants(t, c.postTo("2", "consent", "success"), http.StatusServiceUnavailable)
	tenants.setError(errors.New("an internal error"))
	wants(t, c.get(), http.StatusInternalServerError, "Something went wrong")
	tenants.setError(nil)
	wants(t, c.get(), http.StatusOK, "Your consent")
	if strings.Contains(s.log.String(), strings.TrimPrefix(c.link, s.server.URL+"/journey/")) {
		t.Errorf("the log has the token: %s", s.log)
	}
	for line := range strings.Lines(s.log.String()) {
		if !strings.Contains(line, " run="+string(c.run)) {
			t.Errorf("log line %q does not name the run", line)
		}
	}
	if n := strings.Count(s.log.String(), "\n"); n != 4 {
		t.Errorf("%d lines are logged, want one for each of 4 requests that failed:\n%s", n, s.log)
	}
}
