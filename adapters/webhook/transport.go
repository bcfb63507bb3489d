// The connections that notices go out by, and which addresses are dialled.

package webhook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// The bounds of the connections that are kept for the next notice.
const (
	maxIdle     = 64
	maxIdleHost = 4
	idleTime    = 30 * time.Second
)

var (
	errAddress = errors.New("the address is private or reserved")
	errPort    = errors.New("the port may not be called")
)

func newTransport(o Options) *http.Transport {
	dialer := net.Dialer{Timeout: o.Timeout, Resolver: o.Resolver}
	if !o.AllowPrivateNetworks {
		dialer.Control = guard(ssrf.New(ssrf.WithAnyPort()))
	}
	return &http.Transport{
		Proxy:                  nil, // a proxy would dial what the guard never sees
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots},
		TLSHandshakeTimeout:    o.Timeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaders,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdleHost,
		IdleConnTimeout:        idleTime,
	}
}

// guard checks the very address that is about to be dialled, after names were
// looked up, so that a name cannot mean one thing here and another there.
func guard(g *ssrf.Guardian) func(network, address string, c syscall.RawConn) error {
	return func(network, address string, c syscall.RawConn) error {
		if err := g.Safe(network, address, c); err != nil {
			return fmt.Errorf("%w: %w", errAddress, err)
		}
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %w", errAddress, err)
		}
		if !portAllowed(to.Port()) {
			return errPort
		}
		return nil
	}
}

// portAllowed keeps notices away from mail servers and whatever else listens
// on the ports of the system: they could be made to read a POST as commands.
func portAllowed(port uint16) bool { return port == 80 || port == 443 || port >= 1024 }
