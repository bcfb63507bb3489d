// Command verifyd serves verification journeys over HTTP.
package main

import "github.com/verifyd/verifyd/hosts/verifyd/server"

func main() { server.Main() }
