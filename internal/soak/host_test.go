// A host and its network.

package soak_test

import "github.com/verifyd/verifyd/internal/process"

// host is one process of verifyd, with a network of its own to the database. It has
// no API when it is a worker.
type host struct {
	*process.Host
	roles string
	line  *line
}
