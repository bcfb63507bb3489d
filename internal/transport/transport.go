// Package transport makes the connections of outgoing HTTP requests to servers that
// are not trusted. Addresses are checked when they are dialled, no proxy is used, and
// TLS is version 1.2 or later. It also says why a request failed, without quoting
// what the server sent.
package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	"go.opentelemetry.io/otel/propagation"
)

// idleTime is how long an idle connection is kept.
const idleTime = 30 * time.Second

var (
	errAddress = errors.New("the address is private or reserved")
	errPort    = errors.New("the port is not allowed")
)

// Options configure a transport.
type Options struct {
	// Timeout bounds the connection to the server and the TLS handshake.
	Timeout time.Duration
	// AllowPrivateNetworks allows every address and port, private and loopback
	// addresses included.
	AllowPrivateNetworks bool
	// Roots are the trusted certificate authorities; nil means those of the system.
	Roots *x509.CertPool
	// Certificates identify this client to servers that ask for one.
	Certificates []tls.Certificate
	// Resolver resolves names; nil means that of the system.
	Resolver *net.Resolver
	// MaxIdle and MaxIdlePerHost bound the idle connections.
	MaxIdle, MaxIdlePerHost int
	// MaxHeaderBytes bounds the header of an answer.
	MaxHeaderBytes int64
}

// New returns a transport. Its RoundTrip follows no redirects.
func New(o Options) *http.Transport {
	dialer := net.Dialer{Timeout: o.Timeout, Resolver: o.Resolver}
	if !o.AllowPrivateNetworks {
		dialer.Control = guard(ssrf.New(ssrf.WithAnyPort()))
	}
	return &http.Transport{
		Proxy:                  nil, // a proxy would dial addresses that guard cannot check
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots, Certificates: o.Certificates},
		TLSHandshakeTimeout:    o.Timeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: o.MaxHeaderBytes,
		MaxIdleConns:           o.MaxIdle,
		MaxIdleConnsPerHost:    o.MaxIdlePerHost,
		IdleConnTimeout:        idleTime,
	}
}

// Reach connects to the server of an absolute http(s) URL as t does, completes the TLS handshake of https, and sends
// nothing more. It returns the certificate of the server; nil for http.
func Reach(ctx context.Context, t *http.Transport, address string) (*x509.Certificate, error) {
	u, err := url.Parse(address)
	if err != nil || Origin(address) == NoOrigin {
		return nil, errors.New(NoOrigin)
	}
	conn, err := t.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), u.Scheme)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	if u.Scheme == "http" {
		return nil, nil //nolint:nilnil // there is no certificate
	}
	config := t.TLSClientConfig.Clone()
	config.ServerName = u.Hostname()
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if len(config.Certificates) > 0 { // a server refuses the certificate of a client after the handshake
		_ = secure.SetReadDeadline(time.Now().Add(refusalWait))
		if _, err := secure.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err
		}
	}
	return secure.ConnectionState().PeerCertificates[0], nil
}

// refusalWait is how long Reach waits for a server that refuses the certificate of the client.
const refusalWait = time.Second

// Trace adds the header traceparent to a request that is made within a span.
func Trace(r *http.Request) {
	propagation.TraceContext{}.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
}

// guard checks an address right before it is dialled, after name resolution, so
// that a name cannot resolve to another address between the check and the dial.
func guard(g *ssrf.Guardian) func(network, address string, c syscall.RawConn) error {
	return func(network, address string, c syscall.RawConn) error {
		if err := g.Safe(network, address, c); err != nil {
			return fmt.Errorf("%w: %w", errAddress, err)
		}
		if to, err := netip.ParseAddrPort(address); err != nil || !portAllowed(to.Port()) {
			return errPort
		}
		return nil
	}
}

// portAllowed refuses the other system ports: a mail server, for example, might
// read a POST as commands.
func portAllowed(port uint16) bool { return port == 80 || port == 443 || port >= 1024 }

// NoOrigin is the origin of an invalid URL.
const NoOrigin = "an invalid URL"

// Origin returns scheme and host of an absolute http(s) URL, which are safe to log,
// and NoOrigin for any other text.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return NoOrigin
	}
	return u.Scheme + "://" + u.Host
}
