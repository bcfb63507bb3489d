package server_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
)

// TestASignOutEndsSessionsAndTokensOnAllHosts signs one of two reviewers out while hosts run, as verifyctl reviewer sign-out does.
func TestASignOutEndsSessionsAndTokensOnAllHosts(t *testing.T) {
	for _, on := range []string{"postgres", "folder"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			file, issuer := keyFile(t)
			folder, url := datadir.Folder(filepath.Join(t.TempDir(), "data")), ""
			vars := onFolder(folder, "VERIFYD_SIGNING_KEY_FILE", file)
			if on == "postgres" {
				url = pgtest.Database(t)
				vars = onPostgres(url, "VERIFYD_SIGNING_KEY_FILE", file)
			}
			hosts := []*served{serveHost(t, vars)}
			if on == "postgres" {
				hosts = append(hosts, serveHost(t, vars))
			}
			type who struct {
				verification.Reviewer
				cookie, bearer string
			}
			signIn := func(name string) who {
				w := who{Reviewer: verification.Reviewer{Tenant: demoTenant, Name: name, Identity: name, Role: verification.RoleReviewer}}
				link, err := issuer.IssueSignInLink(w.Reviewer, time.Hour, time.Now())
				if err == nil {
					w.bearer, err = issuer.Issue(w.Reviewer, time.Hour, time.Now())
				}
				if err != nil {
					t.Fatal(err)
				}
				_, _, header := hosts[0].call(http.MethodPost, cli.SignInURL(hosts[0].api, link), "")
				w.cookie, _, _ = strings.Cut(header.Get("Set-Cookie"), ";")
				return w
			}
			// works reports what a host accepts. The verdict by the token is of a run that is not there.
			works := func(h *served, w who) (inSession, byToken bool) {
				t.Helper()
				page, _, _ := h.call("GET", h.api+"/console/session", "", "Cookie", w.cookie)
				verdict, raw, _ := h.call("POST", h.api+"/v1/signals/0191f3c0-0000-7000-8000-00000000000f/human_review_decision",
					`{"payload": {"decision": "approve"}}`, "client-id", "", "x-api-key", "", "Authorization", "Bearer "+w.bearer)
				if verdict != http.StatusNotFound && verdict != http.StatusUnauthorized {
					t.Fatalf("the verdict is answered with %d %s", verdict, raw)
				}
				return page == http.StatusOK, verdict == http.StatusNotFound
			}
			both := func(when string, w who, want bool) {
				t.Helper()
				for n, h := range hosts {
					if inSession, byToken := works(h, w); inSession != want || byToken != want {
						t.Errorf("%s %s has a session: %t, and a token that works: %t, at host %d; want %t", when, w.Name, inSession, byToken, n, want)
					}
				}
			}
			asha, bela := signIn("asha"), signIn("bela")
			both("before the sign-out", asha, true)
			both("before the sign-out", bela, true)
			out := pgadmin.SignOut{Tenant: demoTenant, Identity: "asha", At: time.Now().UTC().Truncate(time.Second)}
			if on == "folder" {
				if err := operate(t, folder).SaveSignOut(t.Context(), out); err != nil {
					t.Fatal(err)
				}
			} else {
				operator, err := postgres.Open(t.Context(), url, postgres.Options{SingleHost: true, MaxConns: 2})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(operator.Close)
				if err := pgadmin.Of(operator).SaveSignOut(t.Context(), out); err != nil {
					t.Fatal(err)
				}
			}
			for _, h := range hosts { // each follows within a second
				within(t, time.Minute, "ends the session and the token of asha", func() bool {
					inSession, byToken := works(h, asha)
					return !inSession && !byToken
				})
			}
			both("after the sign-out", asha, false)
			both("after the sign-out", bela, true)
			within(t, time.Minute, "lets asha sign in again", func() bool { // a second after the sign-out
				again := signIn("asha")
				inSession, byToken := works(hosts[len(hosts)-1], again)
				return inSession && byToken
			})
		})
	}
}
