// Tests of the verification of printed reports.

package main

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/rig/keytest"
)

// verified runs report verify on files with this content.
func verified(t *testing.T, pdf, signature, set []byte) (code int, stdout, stderr string) {
	t.Helper()
	folder := t.TempDir()
	names := []string{"report.pdf", "report.pdf.jws", "jwks.json"}
	for i, content := range [][]byte{pdf, signature, set} {
		names[i] = filepath.Join(folder, names[i])
		if err := os.WriteFile(names[i], content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, problems bytes.Buffer
	code = run(t.Context(), []string{"report", "verify", names[0], names[1], "--keys", names[2]}, bare(&out, &problems))
	return code, out.String(), problems.String()
}

func TestAReportOfAHostIsVerified(t *testing.T) {
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	hosts := token.NewReports(keys)
	pdf := []byte("%PDF-1.7\n\x00\xff")
	signature, err := hosts.SignReport(pdf)
	if err != nil {
		t.Fatal(err)
	}
	set, err := hosts.ReportKeys()
	if err != nil {
		t.Fatal(err)
	}
	if code, out, problems := verified(t, pdf, append(signature, '\n'), set); code != exitDone || !strings.Contains(out, "signed by the key ") || problems != "" {
		t.Errorf("verify = %d %q %q", code, out, problems)
	}
	for i := range pdf {
		changed := bytes.Clone(pdf)
		changed[i]++
		if code, out, problems := verified(t, changed, signature, set); code != exitProblems || out != "" || strings.Count(problems, "\n") != 1 {
			t.Errorf("verify with another byte %d = %d %q %q, want one line on stderr and exit 1", i, code, out, problems)
		}
	}
}

// TestTheAlgorithmIsNotChosenByTheSignature signs with the public key as the secret of a
// MAC, which a verifier that believes the header would accept.
func TestTheAlgorithmIsNotChosenByTheSignature(t *testing.T) {
	pdf := []byte("%PDF-1.7")
	private := keytest.Raw[ed25519.PrivateKey](t, "Ed25519")
	header := jws.NewHeaders()
	if err := header.Set(jws.KeyIDKey, "a"); err != nil {
		t.Fatal(err)
	}
	mac := func(secret []byte) []byte {
		t.Helper()
		signature, err := jws.Sign(nil, jws.WithKey(jwa.HS256(), secret, jws.WithProtectedHeaders(header)), jws.WithDetachedPayload(pdf))
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
	attached, err := jws.Sign(pdf, jws.WithKey(jwa.EdDSA(), private, jws.WithProtectedHeaders(header)))
	if err != nil {
		t.Fatal(err)
	}
	set := keytest.Set(t, keytest.JWK(t, private.Public(), "kid", "a"))
	secret := keytest.Raw[[]byte](t, "oct")
	for name, c := range map[string]struct{ signature, set []byte }{
		"a MAC":                      {mac(secret), keytest.Set(t, keytest.JWK(t, secret, "kid", "a"))},
		"a MAC under the public key": {mac(private[ed25519.SeedSize:]), set},
		"content that is attached":   {attached, set},
		"no signature":               {[]byte("eyJhbGciOiJub25lIiwia2lkIjoiYSJ9.."), set},
	} {
		if code, out, problems := verified(t, pdf, c.signature, c.set); code != exitProblems || out != "" || strings.Count(problems, "\n") != 1 {
			t.Errorf("verify with %s = %d %q %q, want one line on stderr and exit 1", name, code, out, problems)
		}
	}
}
