// Command ownhost is verifyd with a provider of its own.
package main

import "github.com/verifyd/verifyd/hosts/verifyd/server"

func main() {
	server.Main(server.WithProvider("bureau", bureau{scores: map[string]int{"ABCPR1234F": 780, "ABCPK4321K": 410}}))
}
