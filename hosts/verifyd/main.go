// Command verifyd serves verification workflows over HTTP.
package main

import "github.com/verifyd/verifyd/hosts/verifyd/server"

func main() { server.Main() }
