// The pages of the console, relative to a bare handler and to the shortest round trip.

package bench_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/hosts/internal/bench"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// pageRuns is the number of filled runs, unless envRuns sets another number.
const pageRuns = 10_000

// BenchmarkPages requests the queue page, the run page, and the numbers page of a workflow
// for 30 days, on memory and on PostgreSQL. On PostgreSQL the tenant also has filled runs
// (VERIFYD_BENCH_RUNS). One floor is a bare handler that writes the bytes of the same page;
// on PostgreSQL a second one is a prepared SELECT 1.
func BenchmarkPages(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		store := memory.New()
		if err := store.SaveTenant(b.Context(), verification.Tenant{ID: tenant, Name: "Bench"}); err != nil {
			b.Fatal(err)
		}
		e := newEngine(b, store)
		serve(b, e)
		measurePages(b, e, store, nil)
	})
	b.Run("postgres", func(b *testing.B) {
		runs, err := strconv.Atoi(cmp.Or(os.Getenv(envRuns), strconv.Itoa(pageRuns)))
		if err != nil {
			b.Fatalf("%s: %v", envRuns, err)
		}
		p := newDatabase(b)
		h := newHost(b, p.url, postgres.Options{})
		if err := bench.Fill(b.Context(), h.store.Store, bench.FillOptions{Tenant: tenant, Runs: runs, Histories: 10_000}); err != nil {
			b.Fatal(err)
		}
		measurePages(b, h.engine, h.store, newRoundTrip(b, p))
	})
}

// measurePages measures the pages of an engine. roundTrip is the second floor; nil for none.
func measurePages(b *testing.B, e *engine.Engine, s store.Store, roundTrip func(context.Context) error) {
	b.Helper()
	reviewed := apply(b, e, chain("pages", "a", "b", "review", "c"))
	wait := clientTimeout
	var run rules.RunView
	for n := range inReview {
		var err error
		if run, err = e.Start(b.Context(), tenant, reviewed, engine.StartRequest{ReferenceID: fmt.Sprint("person-", n), Wait: &wait}); err != nil {
			b.Fatal(err)
		}
	}
	server, cookie := newConsole(b, e, s)
	for _, page := range []struct{ name, path string }{
		{"queue", "/queue"},
		{"run", "/runs/" + string(run.ID)},
		{"numbers", "/numbers?days=30&workflow=" + string(reviewed)},
	} {
		get := request(http.MethodGet, "/console"+page.path, "", "Accept: text/html", "Cookie: "+cookie)
		b.Run(page.name, func(b *testing.B) {
			r := exchange(b, server, get)
			if r.status != http.StatusOK {
				b.Fatalf("%s = %d %s", page.path, r.status, r.body)
			}
			b.Run("bare", func(b *testing.B) { besideBareHandler(b, server, get, r) })
			if roundTrip == nil {
				return
			}
			b.Run("trip", func(b *testing.B) {
				c := dial(b, server)
				besideFloor(b, func(context.Context) error {
					_, err := c.exchange(get)
					return err
				}, roundTrip)
			})
		})
	}
}

// newConsole serves the console of an engine, and returns the cookie of a reviewer.
func newConsole(b *testing.B, e *engine.Engine, s store.Store) (*httptest.Server, string) {
	b.Helper()
	keys, err := token.NewKeys()
	if err != nil {
		b.Fatal(err)
	}
	tokens := consoleTokens{reviewer.NewIssuer(keys)}
	server := httptest.NewUnstartedServer(nil)
	pages, err := console.New(e, console.Options{
		URL: "http://" + server.Listener.Addr().String() + "/console", Store: s, Tokens: tokens, Now: time.Now,
	})
	if err != nil {
		b.Fatal(err)
	}
	server.Config.Handler = http.StripPrefix("/console", pages)
	server.Start()
	b.Cleanup(server.Close)
	session, err := tokens.IssueSession(verification.Reviewer{Tenant: tenant, Name: "bench", Role: verification.RoleReviewer}, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	return server, "verifyd-session=" + session
}

// consoleTokens implements console.Tokens by the wall clock.
type consoleTokens struct{ *reviewer.Issuer }

// IssueSession implements console.Tokens.
func (s consoleTokens) IssueSession(r verification.Reviewer, ttl time.Duration) (string, error) {
	return s.Issue(r, ttl, time.Now())
}

// VerifySession implements console.Tokens.
func (s consoleTokens) VerifySession(raw string) (verification.Reviewer, time.Time, error) {
	claims, err := s.Verify(raw, time.Now())
	return claims.Reviewer, claims.ExpiresAt, err
}

// OpenSignInLink implements console.Tokens.
func (s consoleTokens) OpenSignInLink(raw string) (verification.SignInLink, error) {
	return s.Issuer.OpenSignInLink(raw, time.Now())
}
