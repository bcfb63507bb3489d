// Names that the tests of this package need besides the exported ones.

package transport

import "code.dny.dev/ssrf"

// Dialable returns an error if an address must not be dialled.
func Dialable(network, address string) error {
	return guard(ssrf.New(ssrf.WithAnyPort()))(network, address, nil)
}
