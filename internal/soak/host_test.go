// A host and its connection to the database.

package soak_test

import "github.com/verifyd/verifyd/internal/process"

// host is a process of verifyd with its own connection to the database. A worker has no
// API.
type host struct {
	*process.Host
	roles      string
	connection *connection
}
