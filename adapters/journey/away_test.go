package journey_test

import (
	"context"
	"encoding/hex"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// bank is a provider that leads customers to a bank. What they bring back is its result.
type bank struct {
	verification.Poller
	signIn  string
	returns int
}

func (b *bank) ReceiveReturn(_ context.Context, r verification.PollRequest, parameters map[string]string) (verification.CheckResult, error) {
	b.returns++
	switch parameters["result"] {
	case "approved":
		return verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"handle": r.Handle}}, nil
	case "cancelled":
		return verification.CheckResult{Outcome: verification.OutcomeRedirect, Redirect: b.signIn, Handle: r.Handle}, nil
	case "soon":
		return verification.CheckResult{Outcome: verification.OutcomePending}, nil
	}
	return verification.CheckResult{}, verification.ErrUnauthenticated
}

const signIn = "https://login.bank.example/sign-in"

// atBank serves a run whose customer is to go to the bank, and returns the address that the bank sends it back to.
func atBank(t *testing.T, changes ...enginetest.Change) (*customer, *bank, string) {
	t.Helper()
	return ledTo(t, signIn, changes...)
}

func ledTo(t *testing.T, signIn string, changes ...enginetest.Change) (*customer, *bank, string) {
	t.Helper()
	to, err := url.Parse(signIn)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	b := &bank{signIn: signIn}
	s := serve(t, append([]enginetest.Change{func(p *engine.Ports, _ *engine.Options) {
		b.Poller, _ = p.Providers["script"].(verification.Poller)
		p.Callbacks, p.Providers["script"] = token.NewLinks(keys), b
	}}, changes...)...)
	s.Provider.On("bank", enginetest.Lead(signIn, "ticket", time.Hour), enginetest.Pass(nil))
	c := s.begin(workflow.Definition{
		Workflow: "bank", Name: "Bank", Start: "bank",
		Nodes: map[verification.NodeID]workflow.Node{
			"bank": {
				Type: workflow.NodeCheck, Label: "Bank account", Text: "Sign in at **your bank**.", Provider: "script", Key: "bank",
				RedirectHosts: []string{to.Hostname()}, Next: "done",
			},
			"done": {Type: workflow.NodeEnd},
		},
	}, "")
	_, state, ok := strings.Cut(s.Provider.Calls("bank")[0].ReturnURL, "/journey/back/")
	if !ok {
		t.Fatalf("the return URL is %q", s.Provider.Calls("bank")[0].ReturnURL)
	}
	return c, b, s.server.URL + "/journey/back/" + state
}

func (c *customer) status() rules.Status { return c.Run(c.run).Status }

func TestACustomerGoesToABankAndComesBack(t *testing.T) {
	c, b, back := atBank(t)
	page := c.get()
	for _, want := range []string{"Bank account", "<strong>your bank</strong>", `href="` + signIn + `"`, "<bdi>login.bank.example</bdi>", `rel="noreferrer"`} {
		if page.status != http.StatusOK || !strings.Contains(page.body, want) {
			t.Errorf("the page (%d) lacks %s:\n%s", page.status, want, page.body)
		}
	}
	home := known(t, page)
	for _, query := range []string{"", "?result=forged", "?result=cancelled"} {
		if to := c.back(back+query, home); to != c.link || c.status() != rules.StatusInProgress || !strings.Contains(c.get().body, signIn) {
			t.Errorf("%q leads to %s, want the page with its button", query, to)
		}
	}
	if to := c.back(back+"?result=approved", home); to != c.link {
		t.Errorf("the return leads to %q, want the link %s", to, c.link)
	}
	c.Settle()
	if c.status() != rules.StatusCompleted {
		t.Fatalf("after the return the run is %s", c.status())
	}
	before := b.returns
	if to := c.back(back+"?result=cancelled", home); to != c.link || b.returns != before {
		t.Errorf("the back button leads to %s, and the provider was asked %d times more", to, b.returns-before)
	}
	for _, secret := range []string{"approved", signIn, c.link[strings.LastIndex(c.link, "/")+1:], back[strings.LastIndex(back, "/")+1:]} {
		if strings.Contains(s(c), secret) {
			t.Errorf("the log has %s: %s", secret, s(c))
		}
	}
}

// known returns the header with the cookie of a page.
func known(t *testing.T, page response) string {
	t.Helper()
	cookie, err := http.ParseSetCookie(page.header.Get("Set-Cookie"))
	if err != nil {
		t.Fatalf("the page sets no cookie: %v", err)
	}
	return cookie.Name + "=" + cookie.Value
}

// back follows a return to where it leads a browser with this cookie: the link, or else the text of the page that stays.
func (c *customer) back(url, cookie string) string {
	c.t.Helper()
	return c.done(c.do(http.MethodGet, url, "", nil, "Cookie", cookie), url, cookie)
}

func (c *customer) done(got response, returned, cookie string) string {
	c.t.Helper()
	for range 2 {
		at, err := url.Parse(returned)
		if err != nil || got.status != http.StatusSeeOther {
			c.t.Fatalf("%s has the status %d: %v", returned, got.status, err)
		}
		if at, err = at.Parse(got.header.Get("Location")); err != nil {
			c.t.Fatal(err)
		}
		if returned = at.String(); !strings.Contains(returned, "/back/") {
			return returned
		}
		if got = c.do(http.MethodGet, returned, "", nil, "Cookie", cookie); got.status == http.StatusOK {
			return got.body
		}
	}
	c.t.Fatalf("%s leads on to %s", returned, got.header.Get("Location"))
	return ""
}

// The vendor and its log have the return URL, too.
func TestAReturnOpensTheJourneyOfItsBrowserOnly(t *testing.T) {
	c, _, back := atBank(t)
	other := c.begin(onboarding(), "")
	home := known(t, c.get())
	name, _, _ := strings.Cut(home, "=")
	token := func(link string) string { return link[strings.LastIndex(link, "/")+1:] }
	for what, cookie := range map[string]string{
		"no": "", "an empty": name + "=", "a forged": name + "=" + token(back), "another run's": name + "=" + token(other.link),
		"another name's": "away=" + token(c.link), "a long": name + "=" + strings.Repeat("x", 2000), "an escaped": name + "=%zz?%zz",
	} {
		page := c.back(back+"?result=cancelled", cookie)
		if !strings.Contains(page, "go back to the page where you started") || !strings.Contains(page, "– Test</title>") || strings.Contains(page, token(c.link)) ||
			strings.Contains(page, signIn) || strings.Contains(page, "Bank account") {
			t.Errorf("with %s cookie a return shows %s", what, page)
		}
	}
	c.language = "hi"
	if page := c.back(back, ""); !strings.Contains(page, "धन्यवाद") || !strings.Contains(page, `href="?lang=en"`) {
		t.Errorf("in Hindi a return shows %s", page)
	}
	c.back(back+"?result=approved", "")
	c.Settle()
	if c.status() != rules.StatusCompleted {
		t.Errorf("after a return without the cookie the run is %s", c.status())
	}
}

// A browser sends no Lax cookie with the post of another site, and sends it with the request that a redirect of ours leads to.
func TestAReturnThatIsPostedIsOneReturn(t *testing.T) {
	c, b, back := atBank(t)
	at := *c
	at.link += "?lang=hi"
	home := known(t, at.get())
	got := c.do(http.MethodPost, back, "application/x-www-form-urlencoded", strings.NewReader("result=soon"), "Origin", "https://login.bank.example", "Sec-Fetch-Site", "cross-site")
	if to := c.done(got, back, home); to != c.link+"?lang=hi&sent" || b.returns != 1 {
		t.Errorf("a post leads to %s after %d returns, want one, and the link in the language that was chosen", to, b.returns)
	}
}

func TestTheCookieOfAPageIsForReturnsOnly(t *testing.T) {
	for public, want := range map[string]http.Cookie{
		"http://journey.example": {Path: "/journey/back/"}, "https://acme.example/verify": {Path: "/verify/journey/back/", Secure: true},
	} {
		c, _, _ := atBank(t, func(_ *engine.Ports, o *engine.Options) { o.PublicURL = public })
		cookie, err := http.ParseSetCookie(c.get().header.Get("Set-Cookie"))
		if err != nil || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != want.Path || cookie.Secure != want.Secure || cookie.Domain != "" {
			t.Errorf("below %s the cookie is %+v, %v", public, cookie, err)
		}
	}
}

func s(c *customer) string { return c.log.String() }

// A tablet on which many customers go to a vendor would send a header that no server takes.
func TestABrowserKeepsTenLinksAtMost(t *testing.T) {
	c, _, _ := atBank(t)
	if name, _, _ := strings.Cut(known(t, c.get()), "="); !regexp.MustCompile(`^away-\d$`).MatchString(name) {
		t.Errorf("the cookie is %s, want one of ten names", name)
	}
}

func TestACookieGoesOnceTheStepIsOver(t *testing.T) {
	c, _, back := atBank(t)
	page := c.get()
	first, err := http.ParseSetCookie(page.header.Get("Set-Cookie"))
	if err != nil {
		t.Fatal(err)
	}
	home := known(t, page)
	c.back(back+"?result=approved", home)
	c.Settle()
	got := c.do(http.MethodGet, back+"/done", "", nil, "Cookie", home)
	cookie, err := http.ParseSetCookie(got.header.Get("Set-Cookie"))
	if err != nil || cookie.Name != first.Name || cookie.Path != first.Path || cookie.MaxAge != 600 || first.MaxAge != 24*3600 {
		t.Errorf("after the step the cookie is %+v, %v; it was %+v", cookie, err, first)
	}
}

func TestWhatCanBeReadOfAReturnCounts(t *testing.T) {
	for what, send := range map[string]func(c *customer, back string) response{
		"a lone percent sign": func(c *customer, back string) response {
			return c.do(http.MethodGet, back+"?result=approved&description=100%", "", nil)
		},
		"no UTF-8 behind it": func(c *customer, back string) response {
			return c.do(http.MethodGet, back+"?x=%zz&result=approved", "", nil)
		},
		"a long body": func(c *customer, back string) response {
			return c.do(http.MethodPost, back+"?result=approved", "application/x-www-form-urlencoded", strings.NewReader("x="+strings.Repeat("y", 70<<10)))
		},
		"a bad body": func(c *customer, back string) response {
			return c.do(http.MethodPost, back, "application/x-www-form-urlencoded", strings.NewReader("x=%&result=approved"))
		},
		"an encoded token": func(c *customer, back string) response {
			at := strings.LastIndex(back, "/") + 1
			return c.do(http.MethodGet, back[:at]+"%"+strings.ToUpper(hex.EncodeToString([]byte(back[at:at+1])))+back[at+1:]+"?result=approved", "", nil)
		},
	} {
		t.Run(what, func(t *testing.T) {
			c, b, back := atBank(t)
			if got := send(c, back); got.status != http.StatusSeeOther {
				t.Fatalf("the return is answered %d", got.status)
			}
			c.Settle()
			if c.status() != rules.StatusCompleted || b.returns != 1 {
				t.Errorf("the run is %s after %d returns", c.status(), b.returns)
			}
			if logged := strings.Contains(s(c), "cannot be read"); logged != (what != "an encoded token") || strings.Contains(s(c), "100%") {
				t.Errorf("the log: %s", s(c))
			}
		})
	}
}

// Most vendors add no parameters, and the first visit may have come before the vendor had an answer.
func TestEachReturnWithoutParametersPollsAtOnce(t *testing.T) {
	c, b, back := atBank(t)
	for visit := 1; visit <= 3; visit++ {
		c.back(back, "")
		if b.returns != visit {
			t.Errorf("after %d visits the vendor was asked %d times", visit, b.returns)
		}
	}
	for range 60 {
		c.back(back, "")
	}
	c.back(back+"?result=approved", "")
	c.Settle()
	if c.status() != rules.StatusCompleted {
		t.Errorf("after many visits, a result is lost: %s", c.status())
	}
}

func TestAReturnHasTheProviderPolled(t *testing.T) {
	c, _, back := atBank(t)
	c.back(back+"?result=soon", "")
	c.Settle()
	if calls := c.Provider.Calls("bank"); c.status() != rules.StatusCompleted || len(calls) != 2 || calls[1].Handle != "ticket" {
		t.Errorf("the run is %s after the calls %+v", c.status(), calls)
	}
}

func TestAStateThatWasNotSignedIsNotFound(t *testing.T) {
	c, b, back := atBank(t)
	for _, state := range []string{"", "x", c.link[strings.LastIndex(c.link, "/")+1:]} {
		for _, rest := range []string{"", "/done"} {
			at := *c
			at.link = back[:strings.LastIndex(back, "/")+1] + state + rest
			if got := at.get(); got.status != http.StatusNotFound || b.returns != 0 {
				t.Errorf("%s: status %d, want 404", state+rest, got.status)
			}
		}
	}
	if _, err := c.Engine.Submit(t.Context(), enginetest.Tenant, c.run, engine.SubmitRequest{
		Signal: "bank_returned", Payload: verification.Data(`{"result":"approved"}`),
	}); err != nil {
		t.Errorf("the signal: %v", err)
	}
	c.Settle()
	if c.status() != rules.StatusCompleted {
		t.Errorf("after the signal the run is %s", c.status())
	}
}
