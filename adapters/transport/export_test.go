// What tests reach besides the exported names.

package transport

import "code.dny.dev/ssrf"

// Dialable returns an error if an address must not be dialled.
func Dialable(network, address string) error {
	return guard(ssrf.New(ssrf.WithAnyPort()))(network, address, nil)
}
