// A host and its proxy of the database.

package soak_test

import (
	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/internal/rig/process"
)

// host is a process of verifyd. It reaches the database through a proxy of its own; on a data folder it
// has none. A host with only the role worker has no API.
type host struct {
	*process.Host
	api   *client.Client
	roles string
	proxy *databaseProxy
}
