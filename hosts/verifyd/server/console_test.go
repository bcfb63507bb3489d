// Tests of the console in a real browser: how reviewers sign in and out.

package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/internal/rig/oidctest"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
)

const demoTenant = "0191f3c0-0000-7000-8000-00000000000a"

func TestTheDemoPrintsALinkThatSignsInOnce(t *testing.T) {
	s := serveHost(t, nil)
	link := regexp.MustCompile(regexp.QuoteMeta(s.api) + `/console/sign-in/link/\S+`).FindString(s.stderr.String())
	if link == "" {
		t.Fatalf("stderr has no link: %s", s.stderr)
	}
	b := browser.Start(t)
	tab := b.Open(t, browser.Options{Wide: true})
	tab.Go(link)
	tab.Press("main button")
	tab.See(".person")
	tab.Go(s.api + "/console/session")
	if text := tab.Text(); !strings.Contains(text, "Acme Demo") || !strings.Contains(text, "Administrator") {
		t.Errorf("session = %s", text)
	}
	again := b.Open(t, browser.Options{Wide: true})
	again.Go(link)
	again.Press("main button")
	again.See(".note.bad")
	if log := s.stderr.String(); strings.Count(log, strings.TrimPrefix(link, s.api)) != 1 {
		t.Errorf("the log has the link: %s", log)
	}
}

func TestReviewersSignInAndOutAtTheProvider(t *testing.T) {
	p := oidctest.New(t, time.Now)
	s := serveHost(t, map[string]string{
		"VERIFYD_OIDC_ISSUER": p.URL, "VERIFYD_OIDC_CLIENT_ID": oidctest.ClientID, "VERIFYD_OIDC_CLIENT_SECRET": oidctest.ClientSecret,
		"VERIFYD_OIDC_ROLES_CLAIM": "realm_access.roles", "VERIFYD_OIDC_ROLES": "staff=viewer,compliance=reviewer",
	})
	asha := map[string]any{
		"sub": "u-1", "email": "asha@example.com", "tenant": demoTenant, "realm_access": map[string]any{"roles": []string{"compliance"}},
	}
	for _, noScript := range []bool{false, true} {
		tab := browser.Start(t).Open(t, browser.Options{Wide: true, NoScript: noScript})
		p.SignIn(map[string]any{"sub": "u-2", "email": "eve@example.com", "tenant": demoTenant})
		tab.Go(s.api + "/console/session?a=b")
		tab.Press("main .button")
		tab.See(".note.bad")
		if text := tab.Text(); !strings.Contains(text, "Your account has no access to the console") {
			t.Errorf("a person without a role sees %s", text)
		}
		p.SignIn(asha)
		tab.Go(s.api + "/console/session?a=b")
		tab.Press("main .button")
		tab.See(".person")
		if text, at := tab.Text(), browser.Eval[string](tab, "location.pathname + location.search"); !strings.Contains(text, "asha@example.com") ||
			!strings.Contains(text, "Reviewer: may read") || at != "/console/session?a=b" {
			t.Errorf("after the sign-in, %s shows %s", at, text)
		}
		before := len(p.SignOuts())
		tab.Press(".popover summary")
		tab.Press(".popover button")
		tab.See(`main a[href^="/console/sign-in/start"]`)
		outs := p.SignOuts()
		if len(outs) != before+1 || strings.Count(outs[before].Get("id_token_hint"), ".") != 2 || outs[before].Get("client_id") != oidctest.ClientID {
			t.Errorf("the provider was asked to sign out with %v", outs[before:])
		}
		tab.Go(s.api + "/console/session")
		tab.See("main .button")
	}
	if _, log, _ := strings.Cut(s.stderr.String(), "/openapi.yaml."); strings.Contains(log, "asha") || strings.Contains(log, "eyJ") || strings.Contains(log, oidctest.ClientSecret) {
		t.Errorf("the log has a name, a token or the secret: %s", log)
	}
}

func TestTwoSignInsAtTheProviderBothWork(t *testing.T) {
	p := oidctest.New(t, time.Now)
	p.Ask()
	p.SignIn(map[string]any{"sub": "u-1", "email": "asha@example.com", "tenant": demoTenant, "groups": "compliance"})
	s := serveHost(t, map[string]string{
		"VERIFYD_OIDC_ISSUER": p.URL, "VERIFYD_OIDC_CLIENT_ID": oidctest.ClientID, "VERIFYD_OIDC_CLIENT_SECRET": oidctest.ClientSecret,
		"VERIFYD_OIDC_ROLES_CLAIM": "groups", "VERIFYD_OIDC_ROLES": "compliance=reviewer",
	})
	tab := browser.Start(t).Open(t, browser.Options{Wide: true})
	var back []string
	for _, page := range []string{"/console/runs", "/console/session"} {
		tab.Go(s.api + page)
		tab.Press("main .button")
		tab.Wait(`document.links[0]?.pathname == "/console/sign-in/callback"`)
		back = append(back, browser.Eval[string](tab, "document.links[0].href"))
	}
	for _, c := range []struct{ url, want string }{
		{back[0], "/console/runs"}, {back[1], "/console/session"}, {back[1], "/console/queue"}, // the last one is used up
		{s.api + "/console/sign-in/callback?state=made-up&code=x", "/console/queue"},
	} {
		tab.Go(c.url)
		tab.See(".person")
		if at := browser.Eval[string](tab, "location.pathname"); at != c.want {
			t.Errorf("%s leads to %s, want %s", c.url, at, c.want)
		}
	}
}

// keyFile returns a file with a new key set, and an issuer of its tokens.
func keyFile(t *testing.T) (file string, issuer *reviewer.Issuer) {
	t.Helper()
	set, err := cli.NewKeySet()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := token.ReadKeys(set)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, set, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, reviewer.NewIssuer(keys)
}

func TestWhoOnlyReadsGivesNoVerdictOnTheRoute(t *testing.T) {
	file, issuer := keyFile(t)
	s := serveHost(t, map[string]string{"VERIFYD_SIGNING_KEY_FILE": file})
	r := s.run("POST", s.api+records, `{"reference_id":"person-7"}`, "Prefer", "wait=10")
	for role, want := range map[verification.Role]int{
		verification.RoleViewer: http.StatusForbidden, verification.RoleReviewer: http.StatusOK, verification.RoleAdmin: http.StatusOK,
		verification.RoleAuditor: http.StatusForbidden,
	} {
		raw, err := issuer.Issue(verification.Reviewer{Tenant: demoTenant, Name: "asha", Role: role}, time.Hour, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		status, body, _ := s.call("POST", s.api+"/v1/signals/"+r.ID+"/human_review_decision", `{"payload":{"decision":"approve"}}`,
			"client-id", "", "x-api-key", "", "Authorization", "Bearer "+raw)
		var refusal struct{ Error string }
		_ = json.Unmarshal(body, &refusal)
		if status != want || want == http.StatusForbidden && refusal.Error != "service account not authorized for this surface" {
			t.Errorf("a verdict as %s = %d %s, want %d", role, status, body, want)
		}
	}
}

func TestALinkSignsInOnOneOfTheHostsThatShareADatabase(t *testing.T) {
	file, issuer := keyFile(t)
	url := pgtest.Database(t)
	one := serveHost(t, onPostgres(url, "VERIFYD_SIGNING_KEY_FILE", file))
	two := serveHost(t, onPostgres(url, "VERIFYD_SIGNING_KEY_FILE", file))
	raw, err := issuer.IssueSignInLink(verification.Reviewer{Tenant: demoTenant, Name: "asha", Role: verification.RoleReviewer}, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host *served
		want int
	}{{one, http.StatusSeeOther}, {two, http.StatusUnauthorized}, {one, http.StatusUnauthorized}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, cli.SignInURL(c.host.api, raw), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		got, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if got.StatusCode != c.want {
			t.Errorf("POST to %s = %d, want %d", c.host.api, got.StatusCode, c.want)
		}
		if c.want != http.StatusSeeOther {
			continue
		}
		page, err := http.NewRequestWithContext(t.Context(), http.MethodGet, two.api+"/console/session", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		page.AddCookie(got.Cookies()[0])
		shown, err := http.DefaultTransport.RoundTrip(page)
		if err != nil {
			t.Fatal(err)
		}
		_ = shown.Body.Close()
		if shown.StatusCode != http.StatusOK {
			t.Errorf("the session that one host began is %d on the other", shown.StatusCode)
		}
	}
}
