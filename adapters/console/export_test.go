// The table of routes, for tests.

package console

import "github.com/verifyd/verifyd/verification"

// Route is a row of the table.
type Route struct {
	Method, Pattern string
	Session         bool // it needs one
	OpenTo          func(verification.Role) bool
}

// Table returns every route of the console.
func Table() []Route {
	var all []Route
	for _, row := range (&console{}).table() {
		all = append(all, Route{row.method, row.pattern, len(row.roles) > 0, row.openTo})
	}
	return all
}
