// Tests of attacks: other sites, frames, caches, guesses, and markup in every value.

package console_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// TestMarkupInEveryValueIsInert visits every page with a sample whose texts are all
// markup. Without the policy of the pages, an image that does not load would run a
// script; with it, the elements alone show that a text was interpreted.
func TestMarkupInEveryValueIsInert(t *testing.T) {
	d := serve(t)
	paths := d.sample()
	if err := d.Store.SaveTenant(t.Context(), verification.Tenant{ID: enginetest.Tenant, Name: canary(21)}); err != nil {
		t.Fatal(err)
	}
	d.rescreened(verification.RunID(paths["run"]))
	who := reviewer(verification.RoleAdmin)
	who.Identity, who.Name = verification.IssuedIdentity("https://id.example", canary(22)), "asha "+canary(20)
	tab := d.tab(who, browser.Options{Wide: true})
	shown := map[string]bool{}
	for _, route := range console.Table() {
		path, ok := paths.fill(route.Pattern)
		if route.Method != http.MethodGet || !ok || !strings.Contains(d.as(who).get(path).header.Get("Content-Type"), "text/html") {
			continue
		}
		tab.Go(d.server.URL + "/console" + path)
		if found := browser.Eval[string](tab, `[...document.querySelectorAll("*")].filter((e) => e.localName.startsWith("canary") ||
			[...e.attributes].some((a) => a.name.startsWith("on") || a.name.startsWith("<"))).map((e) => e.outerHTML).join("\n") + (window.canary ?? "")`); found != "" {
			t.Errorf("%s interprets %s", path, found)
		}
		text := browser.Eval[string](tab, `document.documentElement.textContent`)
		for n := range 28 {
			if strings.Contains(text, fmt.Sprintf("<canary-%d>", n)) {
				shown[fmt.Sprint(n)] = true
			}
		}
	}
	for _, n := range []string{"1", "5", "11", "12", "14", "16", "17", "20", "21", "22", "25"} {
		if !shown[n] {
			t.Errorf("no page shows the canary %s; shown are %v", n, shown)
		}
	}
}

// rescreened completes a run of the sample, and records a hit of a list for it.
func (d *desk) rescreened(run verification.RunID) {
	d.t.Helper()
	d.GiveVerdict(run, rules.DecisionApprove)
	d.Settle()
	d.found(run, "records")
}

// found records a hit of a later version of a list for a check of a completed run.
func (d *desk) found(run verification.RunID, check verification.NodeID) {
	d.t.Helper()
	_, err := d.Engine.RecordHits(d.t.Context(), enginetest.Tenant, run, rules.RecordHits{
		Node: check, List: canary(23), ListVersion: canary(24),
		Hits: []verification.Hit{{ID: canary(26), Name: canary(25), Score: 0.9, Reasons: []string{canary(27)}}},
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

func TestNoPageIsCachedOrFramed(t *testing.T) {
	d := serve(t)
	paths, p := d.sample(), d.as(reviewer(verification.RoleAdmin))
	visit := map[string]response{
		"not found": p.get("/nothing"), "method": p.do(http.MethodPut, "/session", ""), "nobody": d.nobody().get("/session"),
		"kept": d.nobody().post("/session", "a", "b"), "cross site": p.do(http.MethodPost, "/sign-out", "", "Sec-Fetch-Site", "cross-site"),
	}
	for _, route := range console.Table() {
		if path, ok := paths.fill(route.Pattern); ok && route.Method == http.MethodGet && route.Pattern != "/assets/*" {
			visit[path] = p.get(path)
		}
	}
	for name, a := range visit {
		for header, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"X-Robots-Tag": "noindex, nofollow", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := a.header.Get(header); got != want {
				t.Errorf("%s: %s = %q, want %q", name, header, got, want)
			}
		}
		policy := a.header.Get("Content-Security-Policy")
		for _, directive := range []string{"default-src 'none'", "frame-ancestors 'none'"} {
			if !slices.Contains(strings.Split(policy, "; "), directive) {
				t.Errorf("%s: the policy %q has no %s", name, policy, directive)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy %q is loose", name, policy)
		}
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			continue // no browser runs what is in a table
		}
		for _, inline := range []string{"<style", "style=", "onclick=", "<script>", "javascript:"} {
			if strings.Contains(strings.ReplaceAll(a.body, "&lt;script&gt;", ""), inline) && !strings.Contains(a.body, "&#34;") {
				t.Errorf("%s has %s inline", name, inline)
			}
		}
	}
	wants(t, visit["method"], http.StatusMethodNotAllowed)
	if got := strings.Join(visit["method"].header.Values("Allow"), ", "); got != "GET, HEAD" {
		t.Errorf("Allow = %q, want GET, HEAD", got)
	}
}

func TestAssetsAreCachedAndNeedNoSession(t *testing.T) {
	d := serve(t)
	page := d.nobody().get("/sign-in").body
	n := 0
	for _, part := range strings.Split(page, `"/console/assets/`)[1:] {
		path, _, _ := strings.Cut(part, `"`)
		a := d.nobody().get("/assets/" + path)
		if n++; a.status != http.StatusOK || a.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || a.body == "" {
			t.Errorf("%s = %d %v", path, a.status, a.header)
		}
	}
	if n != 4 {
		t.Errorf("the page has %d assets, want 4", n)
	}
	for _, path := range []string{"/assets/x/console.css", "/assets/", "/assets/../console.go", "/assets/%2e%2e/console.go"} {
		wants(t, d.nobody().get(path), http.StatusNotFound)
	}
}

func TestAnotherSiteCannotPost(t *testing.T) {
	d := serve(t)
	paths, p := d.sample(), d.as(reviewer(verification.RoleAdmin))
	for _, route := range console.Table() {
		path, ok := paths.fill(route.Pattern)
		if route.Method != http.MethodPost || !ok {
			continue
		}
		for _, headers := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
		} {
			a := p.do(http.MethodPost, path, "decision=approve", append(headers, "Content-Type", "application/x-www-form-urlencoded")...)
			wants(t, a, http.StatusForbidden, "You may not do this")
		}
	}
	wants(t, p.get("/session"), http.StatusOK) // it was not signed out
}

func TestALargeOrBrokenFormIsRefused(t *testing.T) {
	d := serve(t)
	p := d.as(reviewer(verification.RoleAdmin))
	wants(t, p.post("/sign-out", "notes", strings.Repeat("x", 1<<20)), http.StatusRequestEntityTooLarge, "too much text")
	wants(t, p.do(http.MethodPost, "/sign-out", "a=%zz", "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"),
		http.StatusBadRequest, "could not be read")
}

// slowTokens counts the verifications of guessed sessions, each of which waits until the
// test closes resume.
type slowTokens struct {
	console.Tokens

	mu      sync.Mutex
	active  int           // verifications in progress
	peak    int           // the maximum of active
	guesses int           // all verifications
	begun   chan struct{} // receives a value when a verification begins
	resume  chan struct{} // closed to end the verifications
}

func (s *slowTokens) VerifySession(raw string) (verification.Reviewer, time.Time, error) {
	if !strings.HasPrefix(raw, "guess") {
		return s.Tokens.VerifySession(raw)
	}
	s.mu.Lock()
	s.active, s.guesses = s.active+1, s.guesses+1
	s.peak = max(s.peak, s.active)
	s.mu.Unlock()
	s.begun <- struct{}{}
	<-s.resume
	s.mu.Lock()
	s.active--
	s.mu.Unlock()
	return verification.Reviewer{}, time.Time{}, &verification.Error{Kind: verification.ErrUnauthenticated}
}

func TestGuessesOfSessionsAreBoundedAndDelayNobody(t *testing.T) {
	const guesses = 12
	s := &slowTokens{begun: make(chan struct{}, guesses), resume: make(chan struct{})}
	d := serveWith(t, func(o *console.Options) { s.Tokens, o.Tokens = o.Tokens, s })
	p := d.as(reviewer(verification.RoleViewer))
	wants(t, p.get("/session"), http.StatusOK)
	var all sync.WaitGroup
	for i := range guesses {
		all.Go(func() {
			d.nobody().do(http.MethodGet, "/session", "", "Cookie", fmt.Sprintf("verifyd-session=guess-%d", i))
		})
	}
	for range 4 {
		<-s.begun
	}
	wants(t, p.get("/session"), http.StatusOK) // while every slot is taken
	close(s.resume)
	all.Wait()
	if s.peak != 4 || s.guesses != guesses {
		t.Errorf("%d of %d guesses were verified at once, want 4 of %d", s.peak, s.guesses, guesses)
	}
}

func TestAHeadRequestForAStreamHoldsNoStream(t *testing.T) {
	d := serve(t)
	p := d.as(reviewer(verification.RoleViewer))
	for range 70 { // more than maxTenantStreams
		wants(t, p.do(http.MethodHead, "/queue/events", "", "Accept", "text/event-stream"), http.StatusOK)
	}
}

func TestTheSessionHasTheLanguageAndTheZone(t *testing.T) {
	d := serve(t)
	p := d.as(reviewer(verification.RoleViewer))
	wants(t, p.get("/session", "Accept-Language", "hi-IN"), http.StatusOK, `<html lang="hi" dir="ltr">`, "दर्शक")
	wants(t, p.get("/session?lang=hi"), http.StatusOK, `<html lang="hi"`)
	wants(t, p.get("/session"), http.StatusOK, `<html lang="hi"`)
	wants(t, p.get("/session?lang=xx"), http.StatusOK, `<html lang="en"`)
	wants(t, p.get("/session?lang=en"), http.StatusOK, `<html lang="en"`, "2026-01-05 17:00</time> (UTC)")
	for zone, want := range map[string]string{
		"Asia/Kolkata": "2026-01-05 22:30</time> (Asia/Kolkata)", "Local": "(UTC)", "../../etc/passwd": "(UTC)", "": "(UTC)",
		strings.Repeat("A", 65): "(UTC)",
	} {
		q := d.as(reviewer(verification.RoleViewer))
		cookies := "tz=" + zone
		for _, c := range q.client.Jar.Cookies(d.url()) {
			cookies += "; " + c.String()
		}
		wants(t, q.get("/session", "Cookie", cookies), http.StatusOK, want)
	}
}

func TestABrowserStoresItsTimeZone(t *testing.T) {
	d := serve(t)
	tab := d.tab(reviewer(verification.RoleViewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/") // its script stores the time zone
	tab.Go(d.server.URL + "/console/session")
	zone := browser.Eval[string](tab, `Intl.DateTimeFormat().resolvedOptions().timeZone`)
	if text := tab.Text(); !strings.Contains(text, "("+zone+")") {
		t.Errorf("the page does not name the time zone %s: %s", zone, text)
	}
}

func TestThePagesOfSignInAreAccessible(t *testing.T) {
	d := serve(t)
	tab := browser.Start(t).Open(t, browser.Options{})
	long := reviewer(verification.RoleAdmin)
	long.Name = strings.Repeat("Asha Rao ", 22)
	for _, all := range [][]look{looks(), hindi()} {
		tab.Emulate(all[0].Options)
		tab.Go(d.server.URL + "/console/sign-in")
		inspectIn(t, tab, "signin", all)
		tab.Go(d.link(long))
		inspectIn(t, tab, "link", all)
		tab.Press("main button")
		tab.See(".person")
		tab.Go(d.server.URL + "/console/session")
		tab.Press(".popover summary")
		inspectIn(t, tab, "session", all)
		tab.Go(d.server.URL + "/console/nothing")
		inspectIn(t, tab, "notfound", all)
		tab.Press(".popover summary")
		tab.Press(".popover button")
		tab.See("[data-signed-out]")
		inspectIn(t, tab, "signedout", all)
	}
}
