// Notices over TLS.

package webhook_test

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/webhook"
)

// secure starts a receiver whose certificate is its own authority's.
func secure(t testing.TB, change func(*receiver)) (*receiver, *x509.CertPool) {
	t.Helper()
	r := unstarted(t, nil)
	r.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	change(r)
	r.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(r.Certificate())
	return r, roots
}

func TestATrustedReceiverIsCalledOverHTTP2(t *testing.T) {
	r, roots := secure(t, func(r *receiver) { r.EnableHTTP2 = true })
	s := newSender(t, func(o *webhook.Options) { o.Roots = roots })
	for range 2 {
		if err := s.Notify(t.Context(), notice(r.URL)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range r.all() {
		if d.verified(t, newSecret); d.ProtoMajor != 2 {
			t.Errorf("it came over %s", d.Proto)
		}
	}
}

func TestGiantHeadersAreRefusedOverHTTP2(t *testing.T) {
	r := unstarted(t, answers(200, "X-Giant: "+strings.Repeat("g", 256<<10)))
	r.EnableHTTP2 = true
	r.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(r.Certificate())
	s := newSender(t, func(o *webhook.Options) { o.Roots = roots })
	discreet(t, s.Notify(t.Context(), notice(r.URL)))
	s.last(t, webhook.ClassUnreachable, 0)
}

func TestBrokenTLSIsNoDelivery(t *testing.T) {
	plain := newReceiver(t, nil)
	own, roots := secure(t, func(*receiver) {})
	old, oldRoots := secure(t, func(r *receiver) {
		r.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10} //nolint:gosec // an old receiver
	})
	_, port, err := net.SplitHostPort(own.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, origin, says string
		roots              *x509.CertPool
	}{
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), "does not speak TLS", nil},
		{"unknown authority", own.URL, "certificate is not trusted", x509.NewCertPool()},
		{"another name", "https://elsewhere.example:" + port, "certificate is not trusted", roots},
		{"too old", old.URL, "", oldRoots},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSender(t, func(o *webhook.Options) {
				o.Roots, o.Resolver = test.roots, resolver(names{"elsewhere.example.": {"127.0.0.1"}})
			})
			err := s.Notify(t.Context(), notice(test.origin))
			discreet(t, err)
			if s.last(t, webhook.ClassUnreachable, 0); !strings.Contains(err.Error(), test.says) {
				t.Errorf("Notify = %q, want %q in it", err, test.says)
			}
		})
	}
	if came := append(plain.all(), append(own.all(), old.all()...)...); len(came) != 0 {
		t.Errorf("%d notices came", len(came))
	}
}

func TestAFailedConnectionIsNoDelivery(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	tests := []struct {
		name, origin, says string
		class              string
	}{
		{"silent", "https://" + silent.Addr().String(), "no complete response within 150ms", webhook.ClassTimeout},
		{"closed", "http://" + closed.Addr().String(), "connection refused", webhook.ClassUnreachable},
		{"no such name", "http://unknown.example", "name cannot be resolved", webhook.ClassUnreachable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSender(t, soon, func(o *webhook.Options) { o.Resolver = resolver(nil) })
			err := s.Notify(t.Context(), notice(test.origin))
			discreet(t, err)
			if s.last(t, test.class, 0); !strings.Contains(err.Error(), test.says) {
				t.Errorf("Notify = %q, want %q in it", err, test.says)
			}
		})
	}
}
