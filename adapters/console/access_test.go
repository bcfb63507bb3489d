// Tests of the table of routes: who may call what.

package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/verification"
)

func TestEveryRouteIsInTheTable(t *testing.T) {
	d := serve(t)
	pages, err := console.New(d.Engine, console.Options{URL: d.server.URL + "/console", Tokens: d, Now: d.Clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	routes, ok := pages.(chi.Routes)
	if !ok {
		t.Fatalf("the console is a %T, want its routes", pages)
	}
	var served []console.Route
	err = chi.Walk(routes, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		served = append(served, console.Route{Method: method, Pattern: pattern})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	table := console.Table()
	for _, s := range served {
		if !slices.ContainsFunc(table, func(r console.Route) bool {
			return r.Pattern == s.Pattern && (r.Method == s.Method || r.Method == http.MethodGet && s.Method == http.MethodHead)
		}) {
			t.Errorf("%s %s is served but is not in the table", s.Method, s.Pattern)
		}
	}
	if len(served) < len(table) {
		t.Errorf("%d routes are served, want at least the %d of the table", len(served), len(table))
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
		if route.Role == "" || route.Pattern == "/sign-out" {
			continue // signin_test.go tests the routes that need no session
		}
		for name, p := range people {
			var a response
			if route.Method == http.MethodPost {
				a = p.post(path)
			} else {
				a = p.get(path)
			}
			role := verification.Role(name)
			switch {
			case name == "nobody" && route.Method == http.MethodPost:
				wants(t, a, http.StatusUnauthorized, "Your session has ended")
			case name == "nobody":
				if to := a.header.Get("Location"); a.status != http.StatusSeeOther || !strings.HasPrefix(to, "/console/sign-in?next=%2Fconsole%2F") {
					t.Errorf("%s %s as nobody = %d %s, want a redirect to the sign-in", route.Method, path, a.status, to)
				}
			case name == "another tenant":
				if paths.isOfTenant(route.Pattern) && a.status != http.StatusNotFound {
					t.Errorf("%s %s as a person of another tenant = %d, want 404", route.Method, path, a.status)
				}
				for _, secret := range paths {
					if secret != "" && strings.Contains(strings.ReplaceAll(a.body, path, ""), secret) {
						t.Errorf("%s %s shows %s to a person of another tenant", route.Method, path, secret)
					}
				}
			case !role.Includes(route.Role):
				wants(t, a, http.StatusForbidden, "You may not do this")
			case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden || a.status >= http.StatusInternalServerError:
				t.Errorf("%s %s as %s = %d %s", route.Method, path, name, a.status, a.body)
			}
		}
	}
}
