// The table of routes, for tests.

package console

import "github.com/verifyd/verifyd/verification"

// Route is a row of the table.
type Route struct {
	Method, Pattern string
	Role            verification.Role
}

// Table returns every route of the console.
func Table() []Route {
	var all []Route
	for _, row := range (&console{}).table() {
		all = append(all, Route{row.method, row.pattern, row.role})
	}
	return all
}
