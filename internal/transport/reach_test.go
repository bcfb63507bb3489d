// Tests of connections without a request.

package transport_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/transport"
)

func TestReachNoticesARefusedClient(t *testing.T) {
	for name, tt := range map[string]struct {
		asks   tls.ClientAuthType
		accept bool
	}{
		"a server that asks for nothing":                 {tls.NoClientCert, true},
		"a server that takes any certificate":            {tls.RequireAnyClientCert, true},
		"a server that knows no authority of the client": {tls.RequireAndVerifyClientCert, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
			s.TLS = &tls.Config{ClientAuth: tt.asks, ClientCAs: x509.NewCertPool()}
			s.StartTLS()
			defer s.Close()
			roots := x509.NewCertPool()
			roots.AddCert(s.Certificate())
			o := transport.Options{Timeout: time.Minute, AllowPrivateNetworks: true, Roots: roots, Certificates: s.TLS.Certificates}
			certificate, err := transport.Reach(t.Context(), transport.New(o), s.URL)
			if (err == nil) != tt.accept {
				t.Errorf("Reach = %v, want success: %t", err, tt.accept)
			}
			if tt.accept && (certificate == nil || !certificate.Equal(s.Certificate())) {
				t.Error("Reach did not return the certificate of the server")
			}
		})
	}
}
