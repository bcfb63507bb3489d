// Tests of the table of routes and their roles.

package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/verification"
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
		if route.Role == "" {
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
			case !role.Includes(route.Role):
				wants(t, got, http.StatusForbidden, "You may not do this")
			case got.status == http.StatusUnauthorized || got.status == http.StatusForbidden || got.status >= http.StatusInternalServerError:
				t.Errorf("%s %s as %s = %d %s", route.Method, path, name, got.status, got.body)
			}
		}
	}
}
