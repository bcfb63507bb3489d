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
	"github.com/verifyd/verifyd/internal/bench"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// pageRuns is the number of runs beside those in review, unless envRuns has another.
const pageRuns = 10_000

// BenchmarkPages requests the queue page, the run page and the numbers page of 30 days
// with a workflow: on memory, and on PostgreSQL, where VERIFYD_BENCH_RUNS filled runs
// are beside those in review. A bare handler writes the bytes of the same page. On
// PostgreSQL a prepared SELECT 1 is the second floor.
func BenchmarkPages(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		store := memory.New()
		if err := store.SaveTenant(b.Context(), verification.Tenant{ID: tenant, Name: "Bench"}); err != nil {
			b.Fatal(err)
		}
		e := newEngine(b, store)
		serve(b, e)
		measurePages(b, e, nil)
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
		measurePages(b, h.engine, newRoundTrip(b, p))
	})
}

// measurePages measures the pages of an engine. The second floor may be nil.
func measurePages(b *testing.B, e *engine.Engine, trip func(context.Context) error) {
	b.Helper()
	reviewed := apply(b, e, chain("pages", "a", "b", "review", "c"))
	wait := clientTimeout
	var run verification.RunView
	for n := range inReview {
		var err error
		if run, err = e.Start(b.Context(), tenant, reviewed, engine.StartRequest{ReferenceID: fmt.Sprint("person-", n), Wait: &wait}); err != nil {
			b.Fatal(err)
		}
	}
	server, cookie := newConsole(b, e)
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
			if trip == nil {
				return
			}
			b.Run("trip", func(b *testing.B) {
				c := dial(b, server)
				besideFloor(b, func(context.Context) error {
					_, err := c.exchange(get)
					return err
				}, trip)
			})
		})
	}
}

// newConsole serves the console of an engine, and returns the cookie of a reviewer.
func newConsole(b *testing.B, e *engine.Engine) (*httptest.Server, string) {
	b.Helper()
	keys, err := token.NewKeys()
	if err != nil {
		b.Fatal(err)
	}
	tokens := sessions{token.NewIssuer(keys)}
	server := httptest.NewUnstartedServer(nil)
	pages, err := console.New(e, console.Options{
		URL: "http://" + server.Listener.Addr().String() + "/console", Tokens: tokens, Now: time.Now,
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

// sessions are the tokens of a console.
type sessions struct{ *token.Issuer }

// IssueSession implements console.Tokens.
func (s sessions) IssueSession(r verification.Reviewer, ttl time.Duration) (string, error) {
	return s.Issue(r, ttl, time.Now())
}

// VerifySession implements console.Tokens.
func (s sessions) VerifySession(raw string) (verification.Reviewer, time.Time, error) {
	claims, err := s.Verify(raw, time.Now())
	return claims.Reviewer, claims.ExpiresAt, err
}

// OpenSignInLink implements console.Tokens.
func (s sessions) OpenSignInLink(raw string) (verification.SignInLink, error) {
	return s.Issuer.OpenSignInLink(raw, time.Now())
}
