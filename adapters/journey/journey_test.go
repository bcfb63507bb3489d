// Tests of the pages from the link to the end.

package journey_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/journey"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestTheCustomerGoesFromTheLinkToTheEnd(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "https://app.example/verify?theme=dark")
	page := c.get()
	wants(t, page, http.StatusOK, "Acme Bank", "Step 1 of 3", "Your consent", "We keep:", "I agree", "I do not agree")
	onward(t, c.post("consent", "success"))
	page = c.get()
	wants(t, page, http.StatusOK, "Step 2 of 3", "Full name", "Ten characters, such as ABCDE1234F", `autocomplete="bday-month"`, `type="tel"`, `inputmode="decimal"`, "I am employed")
	onward(t, c.post(details()...))
	wants(t, c.get(), http.StatusOK, "Step 3 of 3", "So that we know it is you.", `capture="environment"`, `accept="image/jpeg,application/pdf"`, "This step is optional")
	onward(t, c.send([]file{{"front", "pass.jpg", picture(t, 90)}, {"selfie", "me.jpg", picture(t, 200)}},
		"f.where.latitude", "19.076000", "f.where.longitude", "72.877000", "f.where.accuracy", "12"))
	s.Settle()
	back := "https://app.example/verify?theme=dark&run_id=" + string(c.run) + "&status=completed"
	away(t, c.get(), back)
	c.link += "?sent" // where the last post led
	page = c.get()
	wants(t, page, http.StatusOK, "Thank you, you are done", "taken back to app.example", `class="sign good"`,
		`href="`+strings.ReplaceAll(back, "&", "&amp;")+`"`, `<noscript><meta http-equiv="refresh" content="3;url=https://app.example/verify?`)
	if strings.Contains(page.body, "only for you") {
		t.Error("the page of a run that is over warns about its link")
	}
	if diff := cmp.Diff(`{"about":"line 1\nline 2","age":36,"dob":"1990-04-01","email":"asha@example.com","name":"Asha Rao","pan":"ABCDE1234F","phone":"+91 98765 43210","terms":true,"work":"own"}`, s.data(c, "details")); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	extra := s.data(c, "extra")
	if !strings.Contains(extra, `"where":{"accuracy":12,"latitude":19.076,"longitude":72.877}`) || !strings.Contains(extra, `"geo_ok":true`) || strings.Count(extra, `"media_type":"image/jpeg"`) != 2 {
		t.Errorf("extra = %s", extra)
	}
	if s.log.Len() > 0 {
		t.Errorf("log = %s", s.log)
	}
}

func TestAGivenConsentCanBeReadAgain(t *testing.T) {
	s := serve(t)
	const summary, text = "What you agreed to", "We keep:"
	c := s.begin(onboarding(), "")
	if page := c.get(); strings.Contains(page.body, summary) {
		t.Error("the page shows a consent that is not given yet")
	}
	onward(t, c.post("consent", "success"))
	wants(t, c.get(), http.StatusOK, "Full name", summary, "Your consent", text, `<time datetime="2026-`)
	onward(t, c.post(details()...))
	onward(t, c.post("do", "opt_out"))
	s.Settle()
	wants(t, c.get(), http.StatusOK, "Thank you", summary, text)

	c = s.begin(onboarding(), "")
	onward(t, c.post("consent", "declined"))
	if page := c.get(); strings.Contains(page.body, summary) {
		t.Error("the page shows a declined consent as a given one")
	}
}

func TestTheLogNamesTheRequestAndTheRun(t *testing.T) {
	var tenants *failingTenants
	s := serve(t, func(p *engine.Ports, _ *engine.Options) {
		tenants = &failingTenants{Store: p.Store}
		p.Store = tenants
	})
	c := s.begin(onboarding(), "")
	pages, err := journey.Handler(s.Engine, slog.New(slog.NewTextHandler(s.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	tenants.setError(errors.New("an internal error"))
	w := &runLogger{ResponseRecorder: httptest.NewRecorder()}
	w.Header().Set("X-Request-Id", "request-1")
	path := strings.TrimPrefix(c.link, s.server.URL+"/journey")
	pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if w.run != c.run {
		t.Errorf("LogRun was called with %q, want %q", w.run, c.run)
	}
	if want := " request_id=request-1 run=" + string(c.run); !strings.Contains(s.log.String(), want) {
		t.Errorf("log = %s, want a line with %q", s.log, want)
	}
}

// runLogger records the run that a handler names.
type runLogger struct {
	*httptest.ResponseRecorder
	run verification.RunID
}

func (w *runLogger) LogRun(id verification.RunID) { w.run = id }

func TestDecliningAndOptingOutAreAnswers(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "declined"))
	onward(t, c.post(details()...))
	onward(t, c.post("do", "opt_out"))
	s.Settle()
	wants(t, c.get(), http.StatusOK, "Thank you", "close this page")
	if got := s.data(c, "consent"); got != `{"consent_status":"declined"}` {
		t.Errorf("consent = %s", got)
	}
	if got := s.data(c, "extra"); got != `{"opted_out":true}` {
		t.Errorf("extra = %s", got)
	}
}

func TestDecliningIsConfirmedOnAPageOfItsOwn(t *testing.T) {
	s := serve(t)
	c := s.begin(declining(), "")
	consent := c.link
	token := strings.TrimPrefix(consent, c.server.URL+"/journey/")
	wants(t, c.get(), http.StatusOK, `<a class="button quiet" href="./`+token+`?decline">I do not agree</a>`)
	c.link = consent + "?lang=hi"
	wants(t, c.get(), http.StatusOK, `href="./`+token+`?lang=hi&amp;decline">मैं सहमत नहीं हूँ</a>`)
	c.link = consent + "?decline"
	wants(t, c.get(), http.StatusOK, "You do not agree?", "We have not checked anything.", `href="./`+token+`">Back to the consent`, "Confirm: I do not agree")
	if got := s.Run(c.run).Status; got != rules.StatusInProgress {
		t.Errorf("status = %s before the customer confirms, want in_progress", got)
	}
	onward(t, c.post("consent", "declined"))
	s.Settle()
	wants(t, c.get(), http.StatusOK, "You did not agree", "close this page")

	// If the run continues, the next page says that the answer is saved.
	c = s.begin(onboarding(), "")
	answer := c.post("consent", "declined")
	if to := answer.header.Get("Location"); !strings.HasSuffix(to, "?declined") {
		t.Fatalf("Location = %q, want the mark of a declined consent", to)
	}
	c.link += "?declined"
	wants(t, c.get(), http.StatusOK, "Full name", "You did not agree. We saved your answer")
	c.link = strings.TrimSuffix(c.link, "d")
	if page := c.get(); strings.Contains(page.body, "You do not agree?") {
		t.Error("a step that is no consent can be declined")
	}
}

func TestTheTenantsLogoAndLinksAreOnEveryPage(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	logo := verification.NewLogo("image/jpeg", []byte(picture(t, 40)))
	tenant := verification.Tenant{
		ID: enginetest.Tenant, Name: "Acme & Sons", Logo: logo,
		Links: verification.PageLinks{Privacy: "https://acme.example/privacy?a=b&c", Help: "javascript:alert(1)", Phone: "\u202a+91 (22)\u00a098765-432\u202c"},
	}
	if err := s.Store.SaveTenant(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	page := c.get()
	wants(t, page, http.StatusOK, `alt="Acme &amp; Sons"`, `href="https://acme.example/privacy?a=b&amp;c" target="_blank" rel="noopener noreferrer">Privacy notice</a>`,
		`href="tel:&#43;912298765-432">Call &#43;91 (22) 98765-432</a>`)
	for _, no := range []string{"javascript:", ">Help<", "Legal notice", `class="mark"`} {
		if strings.Contains(page.body, no) {
			t.Errorf("the page has %s", no)
		}
	}
	src := strings.TrimPrefix(between(page.body, `<img class="logo" src="`, `"`), "./")
	got := c.do(http.MethodGet, c.server.URL+"/journey/"+src, "", nil)
	if got.status != http.StatusOK || got.body != string(logo.Content) || got.header.Get("Content-Type") != "image/jpeg" ||
		got.header.Get("Content-Security-Policy") != "default-src 'none'; sandbox; frame-ancestors 'none'" ||
		got.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || got.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the logo = %d %v", got.status, got.header)
	}
	token := strings.TrimPrefix(c.link, c.server.URL+"/journey/")
	for _, path := range []string{token + "/logo/0000000000000000.jpeg", "nobody/logo/" + logo.Name, token + "/logo/"} {
		if got := c.do(http.MethodGet, c.server.URL+"/journey/"+path, "", nil); got.status != http.StatusNotFound || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%.20s = %d %v, want 404", path, got.status, got.header)
		}
	}
	tenant.Logo = verification.Logo{}
	if err := s.Store.SaveTenant(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	if got := c.do(http.MethodGet, c.server.URL+"/journey/"+src, "", nil); got.status != http.StatusNotFound {
		t.Errorf("a removed logo = %d, want 404", got.status)
	}
	wants(t, c.get(), http.StatusOK, `class="mark"`, "Acme &amp; Sons")
}

func TestEmptyAnswersAreLeftOut(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	onward(t, c.post("f.name", " Asha ", "f.pan", "ABCDE1234F", "f.dob", "१९९०-०४-०१", "f.age", " ", "f.terms", "on", "f.unknown", "x"))
	if got, want := s.data(c, "details"), `{"dob":"1990-04-01","name":"Asha","pan":"ABCDE1234F","terms":true}`; got != want {
		t.Errorf("details = %s, want %s", got, want)
	}
}

func TestACustomerWithoutALocationCanSaySo(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	onward(t, c.post(details()...))
	page := c.send([]file{{"front", "pass.jpg", picture(t, 30)}})
	wants(t, page, http.StatusUnprocessableEntity, "Please share your location, or tick the box", "Uploaded:", "pass.jpg")
	id := between(page.body, `name="f.front.id" value="`, `"`)
	onward(t, c.send(nil, "f.front.id", id, "f.front.name", "pass.jpg", "f.where.denied", "on", "f.where.latitude", "19"))
	got := s.data(c, "extra")
	for _, want := range []string{`"front":{"document_id":"` + id + `"}`, `"geo_ok":false`, `"where":{"denied":true}`} {
		if !strings.Contains(got, want) {
			t.Errorf("extra = %s, want %s in it", got, want)
		}
	}
}

func TestAWaitPageFollowsTheRun(t *testing.T) {
	s := serve(t)
	s.Provider.On("pan_verification", enginetest.Flake(), enginetest.Fail(nil))
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	onward(t, c.post(details()...))
	onward(t, c.post("do", "opt_out"))
	page := c.get()
	wants(t, page, http.StatusOK, "We are checking your answers", `<noscript><meta http-equiv="refresh" content="4;url=./`)
	before := c.do(http.MethodGet, c.link+"/state", "", nil)
	if want := `data-state="` + before.body + `"`; before.status != http.StatusOK || !strings.Contains(page.body, want) {
		t.Errorf("state = %d %s, want it on the page", before.status, before.body)
	}
	s.Advance(time.Minute)
	if after := c.do(http.MethodGet, c.link+"/state", "", nil); after.body == before.body {
		t.Errorf("state stays %s though a reviewer must decide now", after.body)
	}
	page = c.get()
	wants(t, page, http.StatusOK, "We are reviewing your answers", "You can close this page", "Your reference", "<bdi>person-1</bdi>", `class="sign`)
	if strings.Contains(page.body, "spinner") {
		t.Error("a spinner promises seconds where a person takes hours")
	}
	s.GiveVerdict(c.run, rules.DecisionReject)
	wants(t, c.get(), http.StatusOK, "Thank you, you are done") // nothing of the verdict
}

func TestTheReviewPageSaysWhenToExpectNews(t *testing.T) {
	s := serve(t)
	d := onboarding()
	d.ReviewDueMinutes = 90
	c := s.begin(d, "")
	reach(c, "review")
	due := s.Clock.Now().Add(90 * time.Minute).UTC().Format("2006-01-02 15:04")
	wants(t, c.get(), http.StatusOK, "We are reviewing your answers", "We expect to be done by", due+" UTC</time>")
	s.Advance(91 * time.Minute)
	page := c.get()
	wants(t, page, http.StatusOK, "This is taking longer than we expected")
	if strings.Contains(page.body, "We expect to be done by") {
		t.Error("the page promises a time that has passed")
	}
}

func TestALinkThatCannotBeUsedSaysWhy(t *testing.T) {
	s := serve(t)
	rows := []struct {
		name   string
		then   func(c *customer)
		status int
		words  []string
	}{
		{"wrong", func(c *customer) { c.link = strings.Replace(c.link, "/journey/", "/journey/x", 1) }, http.StatusNotFound, []string{"This link does not work"}},
		{"too long", func(c *customer) { c.link = c.server.URL + "/journey/" + strings.Repeat("a", 5000) }, http.StatusNotFound, []string{"This link does not work"}},
		{"deep", func(c *customer) { c.link += "/a/b" }, http.StatusNotFound, []string{"This link does not work", `href="./../../assets/`}},
		{"encoded", func(c *customer) { c.link = c.server.URL + "/journey/%2e%2e%2fassets" }, http.StatusNotFound, []string{"This link does not work"}},
		{"cancelled", cancel, http.StatusGone, []string{"This verification was cancelled", "close this page"}},
		{"expired", expire, http.StatusGone, []string{"This link has expired", "Please ask the person or company"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			c := s.begin(onboarding(), "")
			row.then(c)
			page := c.get()
			wants(t, page, row.status, append(row.words, `class="sign`)...)
			for _, no := range []string{"data-leave", "http-equiv", "✓", "sign good", "only for you"} {
				if strings.Contains(page.body, no) {
					t.Errorf("the page has %s", no)
				}
			}
		})
	}
}

func cancel(c *customer) {
	c.t.Helper()
	if _, err := c.Engine.Cancel(c.t.Context(), enginetest.Tenant, c.run); err != nil {
		c.t.Fatal(err)
	}
}

func expire(c *customer) { c.Advance(day + time.Second) }

// Whatever the status, the customer goes to the redirect_uri: at once, or from a
// page when the browser comes from a post.
func TestTheCustomerIsRedirectedWhateverTheStatus(t *testing.T) {
	finish := func(c *customer) {
		reach(c, "uploads")
		onward(c.t, c.post("do", "opt_out"))
		c.Settle()
	}
	rows := []struct {
		status rules.Status
		page   int
		then   func(c *customer)
		words  string
	}{
		{rules.StatusCompleted, http.StatusOK, finish, "Thank you, you are done"},
		{rules.StatusFailed, http.StatusOK, func(c *customer) {
			c.Provider.On("pan_verification", enginetest.Refuse())
			finish(c)
		}, "Thank you, you are done"},
		{rules.StatusCancelled, http.StatusGone, cancel, "This verification was cancelled"},
		{rules.StatusExpired, http.StatusGone, expire, "This link has expired"},
	}
	for _, row := range rows {
		t.Run(string(row.status), func(t *testing.T) {
			c := serve(t).begin(onboarding(), "https://app.example/verify")
			link := c.link
			row.then(c)
			back := "https://app.example/verify?run_id=" + string(c.run) + "&status=" + string(row.status)
			away(t, c.get(), back)
			away(t, c.do(http.MethodHead, link, "", nil), back)
			posted := c.postTo("1", "consent", "success")
			onward(t, posted)
			for _, mark := range []string{"sent", "moved", "lang=hi&sent"} {
				c.link = link + "?" + mark
				page := c.get()
				wants(t, page, row.page, `data-leave>`, `<noscript><meta http-equiv="refresh" content="3;url=https://app.example/verify?run_id=`)
				if mark == "sent" {
					wants(t, page, row.page, row.words, "taken back to app.example")
				}
			}
			if to := posted.header.Get("Location"); !strings.HasSuffix(to, "?sent") {
				t.Errorf("a post leads to %s, want a page that forwards", to)
			}
		})
	}
}

func TestTheLinkOfARedactedRunShowsItsEnd(t *testing.T) {
	c := serve(t).begin(onboarding(), "https://app.example/verify")
	cancel(c)
	wants(t, c.get(), http.StatusSeeOther)
	if _, err := c.Engine.Redact(t.Context(), enginetest.Tenant, c.run, "", verification.Person{}); err != nil {
		t.Fatal(err)
	}
	link := c.link
	for _, mark := range []string{"", "?sent"} {
		c.link = link + mark
		page := c.get()
		wants(t, page, http.StatusGone, "This verification was cancelled")
		for _, gone := range []string{"app.example", "person-1", rules.RedactedReference} {
			if strings.Contains(page.body, gone) {
				t.Errorf("the page of a redacted run says %q", gone)
			}
		}
	}
}

func TestThePageAfterADeclinedConsent(t *testing.T) {
	s := serve(t)
	c := s.begin(declining(), "")
	onward(t, c.post("consent", "declined"))
	s.Settle()
	page := c.get()
	wants(t, page, http.StatusOK, "You did not agree", "We did not check anything.", "close this page")
	if strings.Contains(page.body, "sign good") || strings.Contains(page.body, "Thank you") {
		t.Errorf("a declined consent reads as success: %s", page.body)
	}
	c.link += "?lang=hi"
	wants(t, c.get(), http.StatusOK, "आपने सहमति नहीं दी", "हमने कुछ भी नहीं जाँचा।")

	agreed := s.begin(declining(), "")
	onward(t, agreed.post("consent", "success"))
	s.Settle()
	wants(t, agreed.get(), http.StatusOK, "Thank you, you are done", `class="sign good"`)

	// A check that came before the consent is not denied.
	d := declining()
	d.Start, d.Nodes["first"] = "first", workflow.Node{Type: workflow.NodeCheck, Provider: "script", Next: "consent"}
	checked := s.begin(d, "")
	onward(t, checked.post("consent", "declined"))
	s.Settle()
	page = checked.get()
	wants(t, page, http.StatusOK, "You did not agree", "close this page")
	if strings.Contains(page.body, "We did not check anything") {
		t.Error("the page says that nothing was checked after a check")
	}
}

// declining is a workflow that ends when the customer declines.
func declining() workflow.Definition {
	return workflow.Definition{
		Workflow: "declining", Name: "Open an account", Start: "consent",
		Nodes: map[verification.NodeID]workflow.Node{
			"consent":  {Type: workflow.NodeConsent, Label: "Your consent", Text: "We check your identity.", OnDeclined: "declined", Next: "check"},
			"check":    {Type: workflow.NodeCheck, Provider: "script", Next: "done"},
			"done":     {Type: workflow.NodeEnd},
			"declined": {Type: workflow.NodeEnd, Outcome: "declined"},
		},
	}
}

// away fails the test unless the browser is redirected to the client at once.
func away(t testing.TB, a response, to string) {
	t.Helper()
	if a.status != http.StatusSeeOther || a.header.Get("Location") != to || a.body != "" {
		t.Errorf("answer = %d to %q: %s, want 303 to %s", a.status, a.header.Get("Location"), a.body, to)
	}
}

func TestAnOpenedPageResumesAnAbandonedRun(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	s.Advance(20 * time.Minute)
	if got := s.Run(c.run).Status; got != rules.StatusAbandoned {
		t.Fatalf("status = %s, want abandoned", got)
	}
	wants(t, c.get(), http.StatusOK, "Your consent", "data-opened")
	foreign := c.do(http.MethodPost, c.link+"/opened", "", nil, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	if got := s.Run(c.run).Status; foreign.status != http.StatusForbidden || got != rules.StatusAbandoned {
		t.Errorf("another site gets %d, and the run is %s", foreign.status, got)
	}
	if a := c.do(http.MethodPost, c.link+"/opened", "", nil); a.status != http.StatusNoContent || a.body != "" {
		t.Errorf("answer = %d %q, want 204", a.status, a.body)
	}
	if got := s.Run(c.run).Status; got != rules.StatusInProgress {
		t.Errorf("status = %s, want in_progress", got)
	}
	if a := c.do(http.MethodPost, s.server.URL+"/journey/x/opened", "", nil); a.status != http.StatusNotFound {
		t.Errorf("a link that is wrong = %d, want 404", a.status)
	}
	if again := c.do(http.MethodPost, c.link, "application/x-www-form-urlencoded", strings.NewReader("wait=2&do=language")); strings.Contains(again.body, "data-opened") {
		t.Error("a page that answers a post says once more that it is open")
	}
}

// The requests of programs that open links for or before people, as their makers document them
// or as servers log them.
func TestProgramsThatOpenLinksAreNobody(t *testing.T) {
	const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
	s := serve(t)
	c := s.begin(onboarding(), "")
	s.Advance(20 * time.Minute)
	before := s.history(c)
	for name, headers := range map[string][]string{
		"WhatsApp":          {"User-Agent", "WhatsApp/2.23.20.0"},
		"Slack":             {"User-Agent", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "Range", "bytes=0-32768"},
		"Slack images":      {"User-Agent", "Slack-ImgProxy (+https://api.slack.com/robots)"},
		"Telegram":          {"User-Agent", "TelegramBot (like TwitterBot)"},
		"Facebook":          {"User-Agent", "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", "Range", "bytes=0-524287"},
		"iMessage":          {"User-Agent", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0"},
		"Teams":             {"User-Agent", "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com"},
		"LinkedIn":          {"User-Agent", "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)"},
		"Discord":           {"User-Agent", "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)"},
		"Google":            {"User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
		"Safe Links":        {"User-Agent", chrome, "Accept", "*/*"}, // it does not say what it is
		"Proofpoint":        {"User-Agent", "Mozilla/5.0 (Windows NT 6.1; Trident/7.0; rv:11.0) like Gecko"},
		"prefetch":          {"User-Agent", chrome, "Sec-Purpose", "prefetch", "Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "none"},
		"prerender":         {"User-Agent", chrome, "Sec-Purpose", "prefetch;prerender", "Sec-Fetch-Dest", "document"},
		"anonymous":         {"User-Agent", chrome, "Sec-Purpose", "prefetch;anonymous-client-ip"},
		"Firefox prefetch":  {"User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", "X-Moz", "prefetch"},
		"Safari top hit":    {"User-Agent", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15", "X-Purpose", "preview", "Purpose", "prefetch"},
		"a monitor":         {"User-Agent", "curl/8.5.0", "Accept", "*/*"},
		"a form of a robot": {"User-Agent", "", "Accept", "text/html"},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, path := range []string{"", "?lang=hi", "?decline", "/state"} {
				if a := c.do(method, c.link+path, "", nil, headers...); a.status != http.StatusOK {
					t.Errorf("%s: %s %s = %d, want 200", name, method, path, a.status)
				}
			}
		}
	}
	if after := s.history(c); s.Run(c.run).Status != rules.StatusAbandoned || after != before {
		t.Errorf("the run is %s and has %d events, want it abandoned as before, with %d", s.Run(c.run).Status, after, before)
	}
}

// history returns the number of events of the run of a customer.
func (s *site) history(c *customer) int {
	s.t.Helper()
	events, err := s.Store.Load(s.t.Context(), enginetest.Tenant, c.run, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return len(events)
}

func TestALinkWorksAsProgramsForwardIt(t *testing.T) {
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(p *engine.Ports, _ *engine.Options) { p.Links = token.NewLinks(keys) })
	c := s.begin(onboarding(), "")
	it := c.link[strings.LastIndex(c.link, "/")+1:]
	site := strings.TrimSuffix(c.link, it)
	var encoded strings.Builder
	for _, b := range []byte(it) {
		fmt.Fprintf(&encoded, "%%%02x", b)
	}
	for _, link := range []string{
		it[:3] + fmt.Sprintf("%%%02X", it[3]) + it[4:], strings.ReplaceAll(strings.ReplaceAll(it, "-", "%2D"), "_", "%5f"),
		encoded.String(),
		it + ".", it + ",", it + ")", it + ").", it + "%29.", it + "!", it + ";", it + ":", it + "%3E", it + "'",
		it + "%22", it + "*", it + "]", it + "}", it + "%E2%80%9D", it + "%e0%a5%a4", it + "%3f", it + "?", it + "?lang=hi.",
	} {
		if a := c.do(http.MethodGet, site+link, "", nil); a.status != http.StatusOK {
			t.Errorf("GET %s = %d, want 200", link, a.status)
		}
	}
	for _, link := range []string{it + "_", it + "-", it + "a", "." + it, "%252E" + it, strings.Replace(it, it[3:4], fmt.Sprintf("%%25%02x", it[3]), 1)} {
		if a := c.do(http.MethodGet, site+link, "", nil); a.status != http.StatusNotFound {
			t.Errorf("GET %s = %d, want 404", link, a.status)
		}
	}
	c.link = site + encoded.String() + "."
	a := c.post("consent", "success")
	onward(t, a)
	if to := a.header.Get("Location"); to != "./"+it {
		t.Errorf("the answer leads to %s", to)
	}
}

// wants fails the test unless a page has this status and these texts.
func wants(t testing.TB, a response, status int, words ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status = %d, want %d", a.status, status)
	}
	for _, w := range words {
		if !strings.Contains(a.body, w) {
			t.Errorf("page has no %q: %s", w, a.body)
		}
	}
}

// onward fails the test unless the browser is redirected back to the link.
func onward(t testing.TB, a response) {
	t.Helper()
	if a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "./") || a.header.Get("Location") == "./" || a.body != "" {
		t.Fatalf("answer = %d to %q: %s, want 303 to the link", a.status, a.header.Get("Location"), a.body)
	}
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

func TestAPageWithoutAWayOnSaysWhomToAsk(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	if err := s.Store.SaveTenant(t.Context(), branded(t, "")); err != nil {
		t.Fatal(err)
	}
	const phone, help = `<a class="button quiet" href="tel:&#43;912298765432">`, `<a class="button quiet" href="https://acme.example/help" target="_blank"`
	if page := c.get(); strings.Contains(page.body, phone) || strings.Contains(page.body, help) {
		t.Error("a page with a way on offers the phone as a button")
	}
	gone, err := enginetest.Links().SignLink(verification.Link{RunRef: verification.RunRef{Tenant: enginetest.Tenant, Run: "0191f3c0-0000-7000-8000-0000000000ff"}})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, c.do(http.MethodGet, c.server.URL+"/journey/"+gone, "", nil), http.StatusNotFound, "This link does not work", phone, help, `alt="Acme Bank"`)
	wrong := c.do(http.MethodGet, strings.Replace(c.link, "/journey/", "/journey/x", 1), "", nil)
	if wants(t, wrong, http.StatusNotFound, "This link does not work"); strings.Contains(wrong.body, "Acme") {
		t.Error("a wrong link names a tenant")
	}
	expire(c)
	wants(t, c.get(), http.StatusGone, "This link has expired", phone, help)
}

func TestEachEndHasItsTextInTheLanguageOfThePage(t *testing.T) {
	workflow := func() workflow.Definition {
		d := onboarding()
		in := func(en, hi string) (string, workflow.Translations) {
			return en, workflow.Translations{"en": en, "hi": hi}
		}
		done, refused := d.Nodes["done"], workflow.Node{Type: workflow.NodeEnd, Outcome: "refused"}
		done.Text, done.TextIn = in("Your card comes **by post**.\n\n<canary>", "आपका कार्ड डाक से आएगा।")
		refused.Text, refused.TextIn = in("We cannot open an account.", "हम खाता नहीं खोल सकते।")
		d.Nodes["done"], d.Nodes["refused"] = done, refused
		review := d.Nodes["review"]
		review.OnReject = "refused"
		d.Nodes["review"] = review
		return d
	}
	for _, tt := range []struct {
		reject bool
		en, hi string
	}{
		{false, "Your card comes <strong>by post</strong>.", "आपका कार्ड डाक से आएगा।"},
		{true, "We cannot open an account.", "हम खाता नहीं खोल सकते।"},
	} {
		s := serve(t)
		if tt.reject {
			s.Provider.On("pan_verification", enginetest.Fail(nil))
		}
		c := s.begin(workflow(), "")
		reach(c, "uploads")
		onward(t, c.post("do", "opt_out"))
		s.Settle()
		if tt.reject {
			s.GiveVerdict(c.run, rules.DecisionReject)
		}
		page := c.get()
		wants(t, page, http.StatusOK, "Thank you, you are done", tt.en, `<dt>Your reference</dt><dd><bdi>person-1</bdi></dd>`)
		if strings.Contains(page.body, "<canary>") || strings.Contains(page.body, "sign good") || strings.Contains(page.body, "refused") {
			t.Errorf("the last page = %s, want no markup and nothing of the outcome", page.body)
		}
		c.language = "hi"
		wants(t, c.get(), http.StatusOK, tt.hi)
	}
}

// A refused customer reads why, as far as the author of the workflow wrote it for the customer.
func TestARefusedCustomerReadsTheReason(t *testing.T) {
	const (
		told, ended, refusal = "Your <b>photo</b> is **blurred**.", "Your card comes by post.", "Nothing comes by post."
		shown                = "Your &lt;b&gt;photo&lt;/b&gt; is <strong>blurred</strong>."
	)
	workflow := func(onReject verification.NodeID) workflow.Definition {
		d := onboarding()
		d.RejectReasons = []workflow.RejectReason{
			{Code: "blurred", Label: "Blurred", CustomerText: told, CustomerTextIn: workflow.Translations{"en": told, "hi": "फ़ोटो धुंधली है।"}},
			{Code: "listed", Label: "On the list"},
		}
		done, review := d.Nodes["done"], d.Nodes["review"]
		done.Text, review.OnReject = ended, onReject
		d.Nodes["done"], d.Nodes["review"] = done, review
		if onReject == "refused" {
			d.Nodes["refused"] = workflow.Node{Type: workflow.NodeEnd, Text: refusal}
		}
		return d
	}
	approve := rules.GiveVerdict{Decision: rules.DecisionApprove}
	reject := func(reason string) rules.GiveVerdict {
		return rules.GiveVerdict{Decision: rules.DecisionReject, Reason: reason}
	}
	for _, c := range []struct {
		name     string
		onReject verification.NodeID
		verdicts []rules.GiveVerdict
		has      []string
	}{
		{"rejected on the way", "refused", []rules.GiveVerdict{reject("blurred")}, []string{shown, refusal, "!" + ended}},
		{"for a reason without a text", "refused", []rules.GiveVerdict{reject("listed")}, []string{"!blurred", refusal, "!On the list"}},
		{"without a reason", "refused", []rules.GiveVerdict{reject("")}, []string{"!blurred", refusal}},
		{"approved, and rejected after the end", "refused", []rules.GiveVerdict{approve, reject("blurred")}, []string{shown, "!" + ended, "!" + refusal}},
		{"rejected after the end without a text", "refused", []rules.GiveVerdict{approve, reject("listed")}, []string{"!blurred", ended}},
		{"rejected after the end, and approved", "refused", []rules.GiveVerdict{approve, reject("blurred"), approve}, []string{"!blurred", ended}},
		{"asked again", "extra", []rules.GiveVerdict{reject("blurred")}, []string{shown, `name="wait"`, "!" + ended}},
	} {
		s := serve(t)
		s.Provider.On("pan_verification", enginetest.Fail(nil))
		d := workflow(c.onReject)
		j := s.begin(d, "")
		reach(j, "uploads")
		onward(t, j.post("do", "opt_out"))
		s.Settle()
		for _, v := range c.verdicts {
			s.Advance(time.Minute)
			if _, err := s.Engine.GiveVerdict(t.Context(), enginetest.Tenant, j.run, v, ""); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			s.Settle()
		}
		page := j.get()
		for _, text := range c.has {
			text, not := strings.CutPrefix(text, "!")
			if strings.Contains(page.body, text) == not {
				t.Errorf("%s: the page has %q: %t, want %t", c.name, text, not, !not)
			}
		}
		if c.has[0] == shown && c.onReject == "refused" {
			wants(t, page, http.StatusOK, "We have reviewed your answers", "<p>You can close this page.</p>")
			for _, untrue := range []string{"sign good", "you are done", "nothing more to do"} {
				if strings.Contains(page.body, untrue) {
					t.Errorf("%s: a refused customer sees %q", c.name, untrue)
				}
			}
		}
		if j.language = "hi"; c.has[0] == shown {
			wants(t, j.get(), http.StatusOK, "फ़ोटो धुंधली है।")
		}
	}
}
