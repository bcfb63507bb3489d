// Tests of signing in and out, and of sessions.

package console_test

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestALinkSignsInOnce(t *testing.T) {
	d := serve(t)
	path := strings.TrimPrefix(d.link(reviewer(verification.RoleAdmin)), d.server.URL+"/console")
	first, second := d.nobody(), d.nobody()
	for range 2 { // a mail scanner only reads
		wants(t, first.get(path), http.StatusOK, "asha-admin", "Acme Bank", "once")
	}
	a := first.post(path)
	wants(t, a, http.StatusSeeOther)
	if to := a.header.Get("Location"); to != "/console/" {
		t.Errorf("Location = %q", to)
	}
	wants(t, first.get("/session"), http.StatusOK, "asha-admin", "Administrator", "Acme Bank", "2026-01-05 17:00")
	wants(t, second.post(path), http.StatusUnauthorized, "This link does not work")
	wants(t, second.get("/session"), http.StatusSeeOther)
	wants(t, first.get("/session"), http.StatusOK, "asha-admin")
}

func TestOfConcurrentUsesOfALinkOneSignsIn(t *testing.T) {
	d := serve(t)
	path := strings.TrimPrefix(d.link(reviewer(verification.RoleViewer)), d.server.URL+"/console")
	var all sync.WaitGroup
	status := make([]int, 8)
	for i := range status {
		p := d.nobody()
		all.Go(func() { status[i] = p.post(path).status })
	}
	all.Wait()
	signedIn := 0
	for _, s := range status {
		if s == http.StatusSeeOther {
			signedIn++
		}
	}
	if signedIn != 1 {
		t.Errorf("%d of 8 signed in with one link: %v", signedIn, status)
	}
}

func TestALinkIsRefusedOnceItIsOldOrChanged(t *testing.T) {
	d := serve(t)
	p := d.nobody()
	who := reviewer(verification.RoleViewer)
	old := strings.TrimPrefix(d.link(who), d.server.URL+"/console")
	wants(t, p.post(old[:len(old)-2]), http.StatusUnauthorized, "This link does not work")
	d.Advance(verification.SignInLinkTTL)
	wants(t, p.get(old), http.StatusUnauthorized, "This link does not work", "!asha")
	wants(t, p.post(old), http.StatusUnauthorized)
	who.Tenant = "00000000-0000-7000-8000-0000000000cc"
	unknown := strings.TrimPrefix(d.link(who), d.server.URL+"/console")
	wants(t, p.get(unknown), http.StatusUnauthorized)
	wants(t, p.post(unknown), http.StatusUnauthorized)
}

func TestASessionEndsWithItsTokenAndAtTheSignOut(t *testing.T) {
	d := serve(t)
	p := d.as(reviewer(verification.RoleReviewer))
	d.Advance(8*time.Hour - time.Second)
	wants(t, p.get("/session"), http.StatusOK)
	d.Advance(time.Second)
	a := p.get("/session?a=b&c=d")
	wants(t, a, http.StatusSeeOther)
	if to := a.header.Get("Location"); to != "/console/sign-in?next=%2Fconsole%2Fsession%3Fa%3Db%26c%3Dd" {
		t.Errorf("Location = %q", to)
	}
	p = d.as(reviewer(verification.RoleReviewer))
	wants(t, p.get("/session"), http.StatusOK)
	wants(t, p.post("/sign-out"), http.StatusOK, "You are signed out")
	wants(t, p.get("/session"), http.StatusSeeOther)
}

// An attacker may have set the session of a person. The sign-in must replace it.
func TestEverySignInBeginsANewSession(t *testing.T) {
	d := serve(t)
	who := reviewer(verification.RoleReviewer)
	tokens := map[string]bool{}
	p := d.nobody()
	for range 3 {
		a := p.post(strings.TrimPrefix(d.link(who), d.server.URL+"/console"))
		token := cookieOf(t, a, "verifyd-session").Value
		if tokens[token] {
			t.Error("two sign-ins have the same session")
		}
		tokens[token] = true
	}
	fixed := p.do(http.MethodGet, "/session", "", "Cookie", "verifyd-session=chosen-by-somebody-else")
	if fixed.status == http.StatusOK {
		t.Error("a session that was never issued is accepted")
	}
}

func TestTheSessionCookieIsHttpOnlyAndSameSite(t *testing.T) {
	d := serve(t)
	a := d.nobody().post(strings.TrimPrefix(d.link(reviewer(verification.RoleReviewer)), d.server.URL+"/console"))
	c := cookieOf(t, a, "verifyd-session")
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure || c.Path != "/" || c.Domain != "" || c.MaxAge != 0 || !c.Expires.IsZero() {
		t.Errorf("cookie = %+v", c)
	}
	d = serveWith(t, func(o *console.Options) { o.URL = "https://verify.example/console" })
	a = d.nobody().post(strings.TrimPrefix(d.link(reviewer(verification.RoleReviewer)), d.server.URL+"/console"), "x", "y")
	c = cookieOf(t, a, "__Host-verifyd-session")
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || !c.Secure || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie over TLS = %+v", c)
	}
}

func cookieOf(t testing.TB, a response, name string) *http.Cookie {
	t.Helper()
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("the answer %d sets no cookie %s: %v", a.status, name, a.header)
	return nil
}

func TestASignInLeadsBackToThePageWanted(t *testing.T) {
	p := &provider{who: reviewer(verification.RoleReviewer)}
	d := serveWith(t, func(o *console.Options) { o.IdentityProvider = p })
	for next, want := range map[string]string{
		"/console/runs?status=failed&limit=5": "/console/runs?status=failed&limit=5",
		"/console/runs/1#card":                "/console/",
		"/console":                            "/console",
		"":                                    "/console/",
		"https://evil.example/":               "/console/",
		"//evil.example/console/":             "/console/",
		"/\\evil.example":                     "/console/",
		"/console/../v1/runs":                 "/console/",
		"/console/%2e%2e/journey":             "/console/",
		"/consoles":                           "/console/",
		"/console//evil.example":              "/console/",
		"/console/\t/evil":                    "/console/",
		"javascript:alert(1)":                 "/console/",
		"/journey/x":                          "/console/",
		"/console/\r\nSet-Cookie: a=b":        "/console/",
	} {
		browser := d.nobody()
		begun := browser.get("/sign-in/start?next=" + escape(next))
		wants(t, begun, http.StatusSeeOther)
		back := browser.get("/sign-in/callback?state=" + p.state)
		wants(t, back, http.StatusSeeOther)
		if got := back.header.Get("Location"); got != want {
			t.Errorf("next=%q leads to %q, want %q", next, got, want)
		}
		wants(t, browser.get("/session"), http.StatusOK, "asha-reviewer")
	}
}

func TestRefusedSignInsSayWhyAndBeginNoSession(t *testing.T) {
	p := &provider{who: reviewer(verification.RoleReviewer)}
	d := serveWith(t, func(o *console.Options) { o.IdentityProvider = p })
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{&verification.Error{Kind: verification.ErrUnauthenticated}, http.StatusUnauthorized, "Signing in did not work"},
		{verification.Forbidden("bearer token", ""), http.StatusForbidden, "has no access to the console"},
		{verification.Unavailable("sign-in", ""), http.StatusServiceUnavailable, "The service is unavailable"},
	} {
		browser := d.nobody()
		p.err = nil
		wants(t, browser.get("/sign-in/start"), http.StatusSeeOther)
		p.err = c.err
		wants(t, browser.get("/sign-in/callback?state="+p.state), c.status, c.text)
		wants(t, browser.get("/session"), http.StatusSeeOther)
	}
	wants(t, d.nobody().get("/sign-in/start"), http.StatusServiceUnavailable)
	p.err = nil
	stranger := d.nobody()
	wants(t, stranger.get("/sign-in/callback?state="+p.state), http.StatusUnauthorized, "Signing in did not work")
	wants(t, stranger.get("/session"), http.StatusSeeOther)
	p.who.Tenant = "00000000-0000-7000-8000-0000000000cc"
	wants(t, stranger.get("/sign-in/start"), http.StatusSeeOther)
	wants(t, stranger.get("/sign-in/callback?state="+p.state), http.StatusForbidden)
	wants(t, stranger.get("/session"), http.StatusSeeOther)
}

func TestWithoutAProviderThereIsNoSignInAtOne(t *testing.T) {
	d := serve(t)
	p := d.nobody()
	wants(t, p.get("/sign-in"), http.StatusOK, "a link that works once", "!/sign-in/start")
	wants(t, p.get("/sign-in/start"), http.StatusNotFound)
	wants(t, p.get("/sign-in/callback?state=x&code=y"), http.StatusNotFound)
}

func TestSignInsThatHangDelayNoSession(t *testing.T) {
	const hanging = 48 // every call of the provider that one address may have
	p := &provider{who: reviewer(verification.RoleReviewer), hang: make(chan struct{}), hanging: make(chan struct{}), loose: true}
	d := serveWith(t, func(o *console.Options) { o.IdentityProvider = p })
	var all sync.WaitGroup
	for range hanging {
		all.Go(func() { d.nobody().get("/sign-in/callback?state=x&code=y") })
		<-p.hanging
	}
	wants(t, d.as(reviewer(verification.RoleViewer)).get("/session"), http.StatusOK) // with a token that nobody has verified yet
	elsewhere := d.nobody()
	elsewhere.client.Transport = &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}
	all.Go(func() { wants(t, elsewhere.get("/sign-in/callback?state=x&code=y"), http.StatusSeeOther) })
	select {
	case <-p.hanging:
	case <-time.After(4 * time.Second): // then it gets 503
		t.Error("a sign-in from another address does not reach the provider")
	}
	close(p.hang)
	all.Wait()
}

func TestACallbackThatNobodyBeganCallsNobody(t *testing.T) {
	p := &provider{who: reviewer(verification.RoleReviewer), hang: make(chan struct{}), hanging: make(chan struct{})}
	defer close(p.hang)
	d := serveWith(t, func(o *console.Options) { o.IdentityProvider = p })
	for range 100 { // or one of them waits
		wants(t, d.nobody().get("/sign-in/callback?state=x&code=y"), http.StatusUnauthorized)
	}
}

func TestASignOutDoesNotWaitForTheProvider(t *testing.T) {
	p := &provider{who: reviewer(verification.RoleReviewer), hang: make(chan struct{}), hanging: make(chan struct{}, 1)}
	d := serveWith(t, func(o *console.Options) { o.IdentityProvider = p })
	defer close(p.hang)
	browser := d.as(reviewer(verification.RoleReviewer))
	wants(t, browser.post("/sign-out"), http.StatusOK, "You are signed out", "!id.example") // or the client gives up after 30 s
	wants(t, browser.get("/session"), http.StatusSeeOther)
}

func TestSigningOutLeadsToTheProvider(t *testing.T) {
	p := &provider{who: reviewer(verification.RoleReviewer)}
	d := serveWith(t, func(o *console.Options) { o.IdentityProvider = p })
	browser := d.nobody()
	wants(t, browser.get("/sign-in/start"), http.StatusSeeOther)
	wants(t, browser.get("/sign-in/callback?state="+p.state), http.StatusSeeOther)
	wants(t, browser.post("/sign-out"), http.StatusOK, `href="https://id.example/end?hint=the-id-token"`)
	wants(t, browser.get("/session"), http.StatusSeeOther)
	p.err = verification.Unavailable("sign-in", "")
	wants(t, browser.post("/sign-out"), http.StatusOK, "You are signed out")
}

// signInAgain signs in with a link in the browser of a tab, as another tab would.
func (d *desk) signInAgain(tab *browser.Tab, who verification.Reviewer) {
	d.t.Helper()
	path := strings.TrimPrefix(d.link(who), d.server.URL)
	if status := browser.Eval[int](tab, "fetch("+strconv.Quote(path)+`, {method: "POST", redirect: "manual"}).then((r) => r.status)`); status != 0 {
		d.t.Fatalf("signing in again = %d, want a redirect", status)
	}
}

func TestANoteSurvivesTheEndOfTheSession(t *testing.T) {
	const note = "The name is\nspelled <b>differently</b>."
	for _, noScript := range []bool{false, true} {
		t.Run(fmt.Sprintf("without JavaScript %v", noScript), func(t *testing.T) {
			d, who := serve(t), reviewer(verification.RoleReviewer)
			d.suspicious()
			run, _ := d.answered(d.Apply(identity()), "case-1", "Asha Rao")
			tab := d.tab(who, browser.Options{Wide: true, NoScript: noScript})
			page := d.server.URL + "/console/runs/" + string(run)
			tab.Go(page)
			tab.Set("#notes", note)
			d.Advance(9 * time.Hour)
			tab.Press(`button[value="approve"]`)
			if noScript {
				tab.See("main[id] textarea[readonly]")
				inspectKept(t, tab)
			} else { // the verdict is held back, and is sent once the person has signed in again
				tab.Wait(`location.pathname.endsWith("/sign-in")`)
			}
			if got := d.Run(run); got.Decision != rules.DecisionReview {
				t.Errorf("without a session the run is %q", got.Decision)
			}
			d.signInAgain(tab, who)
			if noScript {
				tab.Press("main form button")
			} else {
				tab.Go(page)
			}
			tab.See(".note.good")
			if got := d.Run(run); got.Decision != rules.DecisionApprove || strings.ReplaceAll(got.Notes, "\r", "") != note {
				t.Errorf("run = %q %q, want the note", got.Decision, got.Notes)
			}
		})
	}
}

// inspectKept checks the page of a kept form.
func inspectKept(t *testing.T, tab *browser.Tab) {
	t.Helper()
	if text := tab.Text(); !strings.Contains(text, "Your session has ended") {
		t.Errorf("the page is %s", text)
	}
	tab.Emulate(browser.Options{Wide: true}) // the rules of accessibility need a script
	inspect(t, tab, "kept")
	tab.Emulate(browser.Options{Wide: true, NoScript: true})
}

func TestADraftIsKeptInItsTabUntilTheSignOut(t *testing.T) {
	d, who := serve(t), reviewer(verification.RoleReviewer)
	d.suspicious()
	run, _ := d.answered(d.Apply(identity()), "case-1", "Asha Rao")
	tab := d.tab(who, browser.Options{Wide: true})
	page, notes := d.server.URL+"/console/runs/"+string(run), `document.querySelector("#notes")?.value ?? ""`
	tab.Go(page)
	tab.Fill("#notes", "half a sentence")
	d.Advance(9 * time.Hour)
	tab.Go(d.server.URL + "/console/queue") // leads to the sign-in
	tab.See("main.work")
	d.signInAgain(tab, who)
	for _, from := range []string{"", "?search=case", "?back=%2Fruns"} { // the list that it is opened from
		tab.Go(page + from)
		if got := browser.Eval[string](tab, notes); got != "half a sentence" {
			t.Errorf("%s: after signing in again, the note is %q", from, got)
		}
	}
	other := who
	other.Name = "ravi"
	d.signInAgain(tab, other)
	tab.Go(page)
	if got := browser.Eval[string](tab, notes); got != "" {
		t.Errorf("another person sees the note %q", got)
	}
	d.signInAgain(tab, who)
	tab.Go(page)
	tab.Press(".popover summary")
	tab.Press(".popover button")
	tab.See("[data-signed-out]")
	if left := browser.Eval[int](tab, "sessionStorage.length"); left != 0 {
		t.Errorf("after the sign-out, %d drafts are left", left)
	}
}

func TestADraftStaysUntilTheServerHasTakenIt(t *testing.T) {
	d, who := serve(t), reviewer(verification.RoleReviewer)
	d.suspicious()
	run, _ := d.answered(d.Apply(identity()), "case-1", "Asha Rao")
	tab := d.tab(who, browser.Options{Wide: true})
	page, notes := d.server.URL+"/console/runs/"+string(run), `document.querySelector("#notes")?.value ?? ""`
	tab.Go(page)
	tab.Fill("#notes", "half a sentence")
	browser.Eval[bool](tab, `(form => {
		form.addEventListener("submit", e => e.preventDefault()); // the post never arrives
		form.requestSubmit();
		return true;
	})(document.querySelector("#notes").form)`)
	tab.Go(d.server.URL + "/console/queue")
	tab.See("main.work")
	tab.Go(page)
	if got := browser.Eval[string](tab, notes); got != "half a sentence" {
		t.Errorf("after a post that did not arrive, the note is %q", got)
	}
}

func TestAFormThatIsHeldBackChangesNoDraft(t *testing.T) {
	d, who := serve(t), reviewer(verification.RoleReviewer)
	d.suspicious()
	run, _ := d.answered(d.Apply(identity()), "case-1", "Asha Rao")
	tab := d.tab(who, browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	tab.Fill("#notes", "half a sentence")
	held := browser.Eval[string](tab, `(() => {
		const forms = [...document.querySelectorAll("form[method=post]")];
		const out = document.querySelector("form[data-sign-out]");
		forms.find(form => form !== out && !form.querySelector("#notes")).dataset.sent = "yes"; // is being sent
		out.requestSubmit();
		document.querySelector("#notes").form.requestSubmit();
		return Object.keys(sessionStorage).map(key => key.split(" ")[0]).join();
	})()`)
	if held != "draft" {
		t.Errorf("the tab keeps %q, want the draft alone, not marked as sent", held)
	}
}

func TestARefusedSignInStillLeadsToThePageWanted(t *testing.T) {
	p := &provider{who: reviewer(verification.RoleReviewer)}
	d := serveWith(t, func(o *console.Options) { o.IdentityProvider = p })
	browser := d.nobody()
	wants(t, browser.get("/sign-in/start?next=%2Fconsole%2Fruns"), http.StatusSeeOther)
	p.err = verification.Forbidden("bearer token", "")
	wants(t, browser.get("/sign-in/callback?state="+p.state), http.StatusForbidden, `href="/console/sign-in/start?next=%2Fconsole%2Fruns"`)
}

func TestEachTabHasASignInOfItsOwn(t *testing.T) {
	p := &provider{who: reviewer(verification.RoleReviewer)}
	d := serveWith(t, func(o *console.Options) { o.IdentityProvider = p })
	browser := d.nobody()
	var states []string
	for n := range 7 {
		wants(t, browser.get("/sign-in/start?next="+escape("/console/runs?offset="+strconv.Itoa(n))), http.StatusSeeOther)
		states = append(states, p.state)
	}
	if kept := len(browser.client.Jar.Cookies(d.url())); kept != 5 {
		t.Errorf("the browser keeps %d attempts, want 5", kept)
	}
	wants(t, browser.get("/sign-in/callback?state=made-up&code=y"), http.StatusUnauthorized)
	wants(t, browser.get("/sign-in/callback?state="+states[1]), http.StatusUnauthorized) // given up for a newer one
	for _, n := range []int{3, 2, 6, 4, 5} {
		back := browser.get("/sign-in/callback?state=" + states[n])
		wants(t, back, http.StatusSeeOther)
		if got, want := back.header.Get("Location"), "/console/runs?offset="+strconv.Itoa(n); got != want {
			t.Errorf("attempt %d leads to %q, want %q", n, got, want)
		}
	}
	for _, c := range browser.client.Jar.Cookies(d.url()) {
		if strings.HasPrefix(c.Name, "verifyd-sign-in") {
			t.Errorf("the attempt %s is still there after its response", c.Name)
		}
	}
}

func TestAnAttemptLastsTenMinutes(t *testing.T) {
	p := &provider{who: reviewer(verification.RoleReviewer)}
	d := serveWith(t, func(o *console.Options) { o.IdentityProvider, o.URL = p, "https://verify.example/console" })
	for _, c := range (&http.Response{Header: d.nobody().get("/sign-in/start").header}).Cookies() {
		if !strings.HasPrefix(c.Name, "__Host-verifyd-sign-in-") || c.MaxAge != 600 || !c.HttpOnly || !c.Secure || c.Path != "/" {
			t.Errorf("cookie = %+v", c)
		}
	}
}

func TestTheCookiesOfAttemptsFitIntoAHeader(t *testing.T) {
	p := &provider{who: reviewer(verification.RoleReviewer)}
	d := serveWith(t, func(o *console.Options) { o.IdentityProvider = p })
	browser := d.nobody()
	for range 6 {
		wants(t, browser.get("/sign-in/start?next=/console/runs%3Fsearch="+strings.Repeat("x", 900)), http.StatusSeeOther)
		size := 0
		for _, c := range browser.client.Jar.Cookies(d.url()) {
			size += len(c.String())
		}
		if size > 3000 {
			t.Fatalf("the cookies have %d bytes", size)
		}
	}
	wants(t, browser.get("/sign-in/callback?state="+p.state), http.StatusSeeOther)
}

func TestAUselessCallbackLeadsOnWithASession(t *testing.T) {
	p := &provider{who: reviewer(verification.RoleReviewer)}
	d := serveWith(t, func(o *console.Options) { o.IdentityProvider = p })
	browser := d.nobody()
	wants(t, browser.get("/sign-in/start?next=%2Fconsole%2Fruns"), http.StatusSeeOther)
	wants(t, browser.get("/sign-in/callback?state="+p.state), http.StatusSeeOther)
	again := browser.get("/sign-in/callback?state=" + p.state) // a reload
	wants(t, again, http.StatusSeeOther)
	if to := again.header.Get("Location"); to != "/console/" {
		t.Errorf("a reload leads to %q", to)
	}
	wants(t, browser.get("/sign-in/start?next=%2Fconsole%2Fruns"), http.StatusSeeOther)
	p.err = &verification.Error{Kind: verification.ErrUnauthenticated}
	refused := browser.get("/sign-in/callback?state=" + p.state)
	wants(t, refused, http.StatusSeeOther)
	if to := refused.header.Get("Location"); to != "/console/runs" {
		t.Errorf("an attempt that the provider refused leads to %q", to)
	}
	wants(t, browser.get("/session"), http.StatusOK, "asha-reviewer")
}
