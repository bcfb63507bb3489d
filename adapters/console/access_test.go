// Tests of the table of routes and their roles.

package console_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

func TestTheRoutesAreThoseOfTheTable(t *testing.T) {
	d := serve(t)
	pages, err := console.New(d.Engine, console.Options{URL: d.server.URL + "/console", Store: d.Store, Tokens: d, Now: d.Clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	routes, ok := pages.(chi.Routes)
	if !ok {
		t.Fatalf("the console is a %T, want chi.Routes", pages)
	}
	var served []console.Route
	err = chi.Walk(routes, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		served = append(served, console.Route{Method: method, Pattern: pattern})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var want []console.Route
	for _, r := range console.Table() {
		want = append(want, console.Route{Method: r.Method, Pattern: r.Pattern})
		if r.Method == http.MethodGet {
			want = append(want, console.Route{Method: http.MethodHead, Pattern: r.Pattern})
		}
	}
	inOrder := cmpopts.SortSlices(func(a, b console.Route) bool { return a.Pattern+" "+a.Method < b.Pattern+" "+b.Method })
	if diff := cmp.Diff(want, served, inOrder); diff != "" {
		t.Errorf("the routes that are served (-of the table +served):\n%s", diff)
	}
}

// TestAnAuditorReadsEveryPageAndChangesNothing calls each route. The posts that an auditor may send search,
// or set a cookie of the browser.
func TestAnAuditorReadsEveryPageAndChangesNothing(t *testing.T) {
	d := serve(t)
	paths := d.sample()
	open := []string{"POST /palette", "POST /queue/search", "POST /queue/views", "POST /runs/search", "POST /audit/search"}
	state := func() (all []any) {
		found, err := d.Store.List(t.Context(), enginetest.Tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: store.MaxLimit}, Now: d.Clock.Now()})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found)
		for _, run := range found.Data {
			history, err := d.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, history)
		}
		notices, err := d.Store.Deliveries(t.Context(), enginetest.Tenant, "", store.PageQuery{Limit: store.MaxLimit})
		if err != nil {
			t.Fatal(err)
		}
		return append(all, notices)
	}
	before, auditor := state(), d.as(reviewer(verification.RoleAuditor))
	for _, route := range console.Table() {
		path, _ := paths.fill(route.Pattern)
		if !route.Session {
			continue
		}
		got, name := auditor.call(route.Method, path), route.Method+" "+route.Pattern
		switch {
		case route.Method == http.MethodPost && !slices.Contains(open, name), route.Pattern == "/queue/next":
			wants(t, got, http.StatusForbidden, "You may not do this")
		case got.status == http.StatusForbidden || got.status == http.StatusUnauthorized:
			t.Errorf("%s as an auditor = %d", name, got.status)
		}
		for _, form := range regexp.MustCompile(`<form[^>]* action="/console([^"?]*)`).FindAllStringSubmatch(got.body, -1) {
			if action := "POST " + form[1]; action != "POST /sign-out" && strings.Contains(form[0], `method="post"`) && !slices.Contains(open, action) {
				t.Errorf("%s shows an auditor a form for %s", name, action)
			}
		}
	}
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("an auditor has changed (-before +after):\n%s", diff)
	}
	wants(t, auditor.get("/runs/"+paths["run"]), http.StatusOK, "!data-claim-now")
}

// TestEveryRouteIsOpenToItsRolesOnly calls each route as each person. The ids in the
// paths are those of the sample, so a person of another tenant must find nothing.
func TestEveryRouteIsOpenToItsRolesOnly(t *testing.T) {
	d := serve(t)
	paths := d.sample()
	stranger := reviewer(verification.RoleAdmin)
	stranger.Tenant = otherTenant
	people := map[string]*person{"nobody": d.nobody(), "another tenant": d.as(stranger)}
	for _, role := range verification.Roles() {
		people[string(role)] = d.as(reviewer(role))
	}
	for _, route := range console.Table() {
		path, ok := paths.fill(route.Pattern)
		if !ok {
			t.Errorf("%s %s has a parameter that the sample does not fill: add it to sample", route.Method, route.Pattern)
			continue
		}
		if !route.Session {
			continue // signin_test.go tests the routes that need no session
		}
		if admin := people[string(verification.RoleAdmin)]; strings.Contains(route.Pattern, "{run}") {
			wrong := strings.ReplaceAll(path, paths["run"], "nonsense")
			if got := admin.call(route.Method, wrong); got.status != http.StatusNotFound {
				t.Errorf("%s %s = %d, want 404", route.Method, wrong, got.status)
			}
		}
		for name, p := range people {
			got := p.call(route.Method, path)
			role := verification.Role(name)
			switch {
			case name == "nobody" && route.Method == http.MethodPost:
				wants(t, got, http.StatusUnauthorized, "Your session has ended")
			case name == "nobody":
				if to := got.header.Get("Location"); got.status != http.StatusSeeOther || !strings.HasPrefix(to, "/console/sign-in?next=%2Fconsole%2F") {
					t.Errorf("%s %s as nobody = %d %s, want a redirect to the sign-in", route.Method, path, got.status, to)
				}
			case name == "another tenant":
				if paths.isOfTenant(route.Pattern) && got.status != http.StatusNotFound {
					t.Errorf("%s %s as a person of another tenant = %d, want 404", route.Method, path, got.status)
				}
				for _, secret := range paths {
					if secret != "" && strings.Contains(strings.ReplaceAll(got.body, path, ""), secret) {
						t.Errorf("%s %s shows %s to a person of another tenant", route.Method, path, secret)
					}
				}
			case !route.OpenTo(role):
				wants(t, got, http.StatusForbidden, "You may not do this")
			case got.status == http.StatusUnauthorized || got.status == http.StatusForbidden || got.status >= http.StatusInternalServerError:
				t.Errorf("%s %s as %s = %d %s", route.Method, path, name, got.status, got.body)
			}
		}
	}
}
