// The HTTP transport, and the addresses that it may dial.

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

// The bounds of idle connections.
const (
	maxIdle     = 64
	maxIdleHost = 4
	idleTime    = 30 * time.Second
)

var (
	errAddress = errors.New("the address is private or reserved")
	errPort    = errors.New("the port is not allowed")
)

func newTransport(o Options) *http.Transport {
	dialer := net.Dialer{Timeout: o.Timeout, Resolver: o.Resolver}
	if !o.AllowPrivateNetworks {
		dialer.Control = guard(ssrf.New(ssrf.WithAnyPort()))
	}
	return &http.Transport{
		Proxy:                  nil, // a proxy would dial addresses that guard cannot check
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

// guard checks an address right before it is dialled, after name resolution, so
// that a name cannot resolve to another address between the check and the dial.
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

// portAllowed refuses the other system ports: a mail server, for example, might
// read a POST as commands.
func portAllowed(port uint16) bool { return port == 80 || port == 443 || port >= 1024 }
