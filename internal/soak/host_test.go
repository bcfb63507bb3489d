// A host and its proxy of the database.

package soak_test

import "github.com/verifyd/verifyd/internal/process"

// host is a process of verifyd. It reaches the database through a proxy of its own. The API of a
// host with only the role worker is empty.
type host struct {
	*process.Host
	roles string
	proxy *databaseProxy
}
