// Command verifyd serves verification workflows over HTTP.
package main

import (
	_ "time/tzdata" // zones of tenants, where the system has none

	"github.com/verifyd/verifyd/hosts/verifyd/server"
)

func main() { server.Main() }
