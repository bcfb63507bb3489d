// Tests of the client certificate and of the vendor's authority.

package rest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/verification"
)

// certificate returns a self-signed client certificate and its key, in PEM.
func certificate(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "acme"}, NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

func TestAClientCertificateAndAnAuthorityAreSecrets(t *testing.T) {
	mine, key := certificate(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 1 && r.TLS.PeerCertificates[0].Subject.CommonName == "acme" {
			_, _ = io.WriteString(w, valid)
		}
	}))
	known := x509.NewCertPool()
	known.AppendCertsFromPEM([]byte(mine))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: known, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	v := &remote{url: server.URL, t: t}
	o := options()
	o.Secret = func(name string) (string, bool) {
		value := map[string]string{"CA": authority, "CERTIFICATE": mine, "KEY": key, "TOKEN": apiToken}[name]
		return value, value != ""
	}
	check := func(changes map[string]any) error {
		p, err := rest.New("registry", v.declaration(changes), o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Check(t.Context(), request("valid"))
		if err == nil && got.Outcome != verification.OutcomePassed {
			t.Errorf("result = %+v, want passed", got)
		}
		return err
	}
	mtls := map[string]any{"certificate": "${secret.CERTIFICATE}", "key": "${secret.KEY}"}
	if err := check(map[string]any{"ca": "${secret.CA}", "auth.mtls": mtls}); err != nil {
		t.Errorf("with certificate and authority: %v", err)
	}
	if err := check(map[string]any{"ca": "${secret.CA}"}); err == nil || !strings.Contains(err.Error(), "it refused the TLS connection") {
		t.Errorf("without a certificate: %v, want it refused", err)
	}
	if err := check(map[string]any{"auth.mtls": mtls}); err == nil || !strings.Contains(err.Error(), "its certificate is not trusted") {
		t.Errorf("without the authority: %v, want it untrusted", err)
	}
}
