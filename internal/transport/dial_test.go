// Which addresses may be dialled.

package transport_test

import (
	"testing"

	"github.com/verifyd/verifyd/internal/transport"
)

func TestOnlyPublicAddressesAndAllowedPortsAreDialled(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8:80": true, "8.8.8.8:443": true, "8.8.8.8:1024": true, "8.8.8.8:8443": true, "8.8.8.8:65535": true,
		"[2606:4700::1111]:443": true, "[2606:4700::1111]:8443": true,
		"8.8.8.8:0": false, "8.8.8.8:22": false, "8.8.8.8:25": false, "8.8.8.8:79": false, "8.8.8.8:442": false, "8.8.8.8:1023": false,
		"[2606:4700::1111]:25": false, "127.0.0.1:443": false, "[::1]:443": false, "somewhere:443": false,
	} {
		if err := transport.Dialable("tcp4", address); (err == nil) != want {
			t.Errorf("dial %s = %v, want it allowed: %t", address, err, want)
		}
	}
	if err := transport.Dialable("unix", "8.8.8.8:443"); err == nil {
		t.Error("dial unix = nil, want an error")
	}
}
