// The test kit of the pages: an engine on memory, a server of the console, and people
// who have signed in.

package console_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/adapters/token"
	tokens "github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// otherTenant has reviewers of its own, and must see nothing of enginetest.Tenant.
const otherTenant verification.TenantID = "00000000-0000-7000-8000-0000000000bb"

// shots is the folder for pictures of the pages, for people to look at.
var shots = filepath.Join("..", "..", ".build", "console")

// desk is a server of the console, at /console.
type desk struct {
	*enginetest.Kit
	t      testing.TB
	server *httptest.Server
	log    *bytes.Buffer
	issuer *tokens.Issuer
}

// serve serves the console of an engine on memory, whose tenant is Acme Bank.
func serve(t testing.TB, changes ...enginetest.Change) *desk {
	t.Helper()
	return serveWith(t, func(*console.Options) {}, changes...)
}

// serveWith is serve with other options of the console.
func serveWith(t testing.TB, set func(*console.Options), changes ...enginetest.Change) *desk {
	t.Helper()
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, log: &bytes.Buffer{}, issuer: tokens.NewIssuer(keys)}
	uploads := blob.Memory(64<<20, 64<<20)
	documents := func(p *engine.Ports, _ *engine.Options) { p.Documents, p.Sanitize = uploads, media.Sanitize }
	d.Kit = enginetest.New(t, append([]enginetest.Change{documents}, changes...)...)
	for id, name := range map[verification.TenantID]string{enginetest.Tenant: "Acme Bank", otherTenant: "Other Bank"} {
		if err := d.Store.SaveTenant(t.Context(), verification.Tenant{ID: id, Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	d.server = httptest.NewUnstartedServer(nil)
	o := console.Options{
		URL: "http://" + d.server.Listener.Addr().String() + "/console", Store: d.Store, Documents: uploads, Tokens: d, Now: d.Clock.Now,
		Log: slog.New(slog.NewTextHandler(d.log, nil)), SignReport: token.NewReports(keys).SignReport,
	}
	set(&o)
	pages, err := console.New(d.Engine, o)
	if err != nil {
		t.Fatal(err)
	}
	d.server.Config.Handler = http.StripPrefix("/console", pages)
	d.server.Start()
	t.Cleanup(d.server.Close)
	return d
}

// IssueSession implements console.Tokens.
func (d *desk) IssueSession(r verification.Reviewer, ttl time.Duration) (string, error) {
	return d.issuer.Issue(r, ttl, d.Clock.Now())
}

// VerifySession implements console.Tokens.
func (d *desk) VerifySession(raw string) (verification.Reviewer, time.Time, error) {
	claims, err := d.issuer.Verify(raw, d.Clock.Now())
	return claims.Reviewer, claims.ExpiresAt, err
}

// OpenSignInLink implements console.Tokens.
func (d *desk) OpenSignInLink(raw string) (verification.SignInLink, error) {
	return d.issuer.OpenSignInLink(raw, d.Clock.Now())
}

// reviewer returns a person of Acme Bank with a role, whose name is asha-ROLE.
func reviewer(role verification.Role) verification.Reviewer {
	return verification.Reviewer{Tenant: enginetest.Tenant, Name: "asha-" + string(role), Role: role}
}

// link returns the URL of a link that signs a person in.
func (d *desk) link(who verification.Reviewer) string {
	d.t.Helper()
	raw, err := d.issuer.IssueSignInLink(who, 8*time.Hour, d.Clock.Now())
	if err != nil {
		d.t.Fatal(err)
	}
	return d.server.URL + "/console/sign-in/link/" + raw
}

// tab opens an empty tab in which a person has signed in.
func (d *desk) tab(who verification.Reviewer, o browser.Options) *browser.Tab {
	d.t.Helper()
	tab := browser.Start(d.t).Open(d.t, o)
	tab.SetCookies(d.server.URL, d.as(who).client.Jar.Cookies(d.url()))
	return tab
}

// person is a browser without a screen. It does not follow redirects.
type person struct {
	*desk
	client *http.Client
}

// nobody returns a person who has not signed in.
func (d *desk) nobody() *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return &person{d, &http.Client{
		Jar: jar, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// as returns a person who has signed in with a link.
func (d *desk) as(who verification.Reviewer) *person {
	d.t.Helper()
	p := d.nobody()
	if a := p.post(strings.TrimPrefix(d.link(who), d.server.URL+"/console")); a.status != http.StatusSeeOther {
		d.t.Fatalf("signing in = %d %s", a.status, a.body)
	}
	return p
}

// response is an HTTP response whose body was read.
type response struct {
	status int
	header http.Header
	body   string
}

// get reads a path below the console.
func (p *person) get(path string, headers ...string) response {
	p.t.Helper()
	return p.do(http.MethodGet, path, "", headers...)
}

// post sends a form to a path below the console: names and values alternate.
func (p *person) post(path string, pairs ...string) response {
	p.t.Helper()
	return p.send("text/html", path, pairs)
}

// script sends a form as a script does.
func (p *person) script(path string, pairs ...string) response {
	p.t.Helper()
	return p.send("text/plain", path, pairs)
}

func (p *person) send(accept, path string, pairs []string) response {
	p.t.Helper()
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return p.do(http.MethodPost, path, values.Encode(), "Content-Type", "application/x-www-form-urlencoded",
		"Accept", accept, "Origin", p.server.URL, "Sec-Fetch-Site", "same-origin")
}

// call sends a request of a route, with an empty form if it is a post.
func (p *person) call(method, path string) response {
	p.t.Helper()
	if method == http.MethodPost {
		return p.post(path)
	}
	return p.get(path)
}

// do sends a request with headers: names and values alternate.
func (p *person) do(method, path, body string, headers ...string) response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.server.URL+"/console"+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(got.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response{status: got.StatusCode, header: got.Header, body: string(raw)}
}

// wants fails the test unless a response has a status and contains texts; a text that
// begins with ! must not be in it.
func wants(t testing.TB, a response, status int, texts ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status = %d, want %d", a.status, status)
	}
	for _, text := range texts {
		text, not := strings.CutPrefix(text, "!")
		if strings.Contains(a.body, text) == not {
			t.Errorf("contains %q = %v, want %v, in %s", text, not, !not, a.body)
		}
	}
}

// look is a way in which every page must be usable, with the rules of accessibility that
// are checked in it.
type look struct {
	name string
	browser.Options
	rules browser.Rules
}

// looks returns the looks of a page in English. The page is opened in the first one.
func looks() []look {
	return []look{
		{"light", browser.Options{Wide: true}, browser.AllRules},
		{"dark", browser.Options{Wide: true, Dark: true}, browser.ColourRules},
		{"huge", browser.Options{Wide: true, Width: 1920}, browser.LayoutRules},
		{"phone", browser.Options{}, browser.ColourRules},
		{"narrow", browser.Options{Width: 320}, browser.LayoutRules},
	}
}

// hindi returns the look of a page in Hindi.
func hindi() []look {
	return []look{{"hindi", browser.Options{Language: "hi-IN"}, browser.AllButContrast}}
}

// inspectAll opens a page below the console and inspects it in every look. ready, unless
// it is nil, is called once the page is open.
func (d *desk) inspectAll(tab *browser.Tab, name, path string, ready func()) {
	d.t.Helper()
	for _, all := range [][]look{looks(), hindi()} {
		tab.Emulate(all[0].Options)
		tab.Go(d.server.URL + "/console" + path)
		if ready != nil {
			ready()
		}
		inspectIn(d.t, tab, name, all)
	}
}

// inspectIn inspects a page in some looks, without opening it again.
func inspectIn(t testing.TB, tab *browser.Tab, name string, looks []look) {
	t.Helper()
	for _, look := range looks {
		tab.Emulate(look.Options)
		inspectFor(t, tab, name+"-"+look.name, look.rules)
	}
}

// inspect takes a picture of a page, named name.png, and fails the test if axe finds
// a problem or the page is wider than the window.
func inspect(t testing.TB, tab *browser.Tab, name string) {
	t.Helper()
	inspectFor(t, tab, name, browser.AllRules)
}

func inspectFor(t testing.TB, tab *browser.Tab, name string, rules browser.Rules) {
	t.Helper()
	tab.Shoot(filepath.Join(shots, name+".png"))
	if found := tab.Violations(rules); found != "" {
		t.Errorf("%s: axe finds:\n%s", name, found)
	}
	if wide := tab.TooWide(); wide > 0 {
		t.Errorf("%s is %d pixels too wide", name, wide)
	}
}

// url returns the URL of the server.
func (d *desk) url() *url.URL {
	d.t.Helper()
	u, err := url.Parse(d.server.URL)
	if err != nil {
		d.t.Fatal(err)
	}
	return u
}
