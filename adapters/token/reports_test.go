package token_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/rig/keytest"
)

// reportOf returns a file with bytes that are not text.
func reportOf(more string) []byte { return []byte("%PDF-1.7\n\x00\xff\xfe" + more) }

func signed(t testing.TB, keys *token.Keys, pdf []byte) []byte {
	t.Helper()
	signature, err := token.NewReports(keys).SignReport(pdf)
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func publicSet(t testing.TB, keys *token.Keys) []byte {
	t.Helper()
	raw, err := token.NewReports(keys).ReportKeys()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// verifies reports whether jwx verifies a signature of a file with a JWK set.
func verifies(t testing.TB, set, pdf, signature []byte) bool {
	t.Helper()
	keys, err := jwk.Parse(set)
	if err != nil {
		t.Fatal(err)
	}
	_, err = jws.Verify(signature, jws.WithKeySet(keys), jws.WithDetachedPayload(pdf))
	return err == nil
}

// kidOf returns the kid of a signature, whose header must have exactly alg and kid.
func kidOf(t testing.TB, signature []byte) string {
	t.Helper()
	first, _, _ := strings.Cut(string(signature), "..")
	raw, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		t.Fatal(err)
	}
	var header map[string]string
	if err := json.Unmarshal(raw, &header); err != nil || len(header) != 2 || header["alg"] != "EdDSA" {
		t.Fatalf("the header is %s, %v", raw, err)
	}
	return header["kid"]
}

// xOf returns the bytes of the only public key of a set.
func xOf(t testing.TB, set []byte) string {
	t.Helper()
	var parsed struct{ Keys []map[string]string }
	if err := json.Unmarshal(set, &parsed); err != nil || len(parsed.Keys) != 1 {
		t.Fatalf("the set is %s, %v", set, err)
	}
	return parsed.Keys[0]["x"]
}

func TestEveryKindOfKeySignsReports(t *testing.T) {
	for kind, private := range keytest.Private() {
		t.Run(kind, func(t *testing.T) {
			keys := read(t, keytest.JWK(t, private))
			set := publicSet(t, keys)
			x, err := base64.RawURLEncoding.DecodeString(xOf(t, set))
			must(err)
			for _, more := range []string{"", "1", "12"} {
				pdf := reportOf(more)
				signature := signed(t, keys, pdf)
				if !verifies(t, set, pdf, signature) {
					t.Errorf("jwx does not verify %s", signature)
				}
				header, signatureText, _ := strings.Cut(string(signature), "..")
				raw, err := base64.RawURLEncoding.DecodeString(signatureText)
				must(err)
				if !ed25519.Verify(x, []byte(header+"."+base64.RawURLEncoding.EncodeToString(pdf)), raw) {
					t.Errorf("crypto/ed25519 does not verify %s", signature)
				}
			}
		})
	}
}

// TestOpenSSLVerifiesASignature runs the commands of docs/reports.md.
func TestOpenSSLVerifiesASignature(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reports.md"))
	must(err)
	_, commands, _ := strings.Cut(string(page), "```sh\n")
	commands, _, found := strings.Cut(commands, "```")
	if !found {
		t.Fatal("the page has no commands")
	}
	for _, tool := range []string{"openssl", "basenc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("this machine has no %s", tool)
		}
	}
	keys, err := token.NewKeys()
	must(err)
	pdf, folder := reportOf(""), t.TempDir()
	must(os.WriteFile(filepath.Join(folder, "report.pdf.jws"), signed(t, keys, pdf), 0o600))
	check := func(pdf []byte) (string, error) {
		must(os.WriteFile(filepath.Join(folder, "report.pdf"), pdf, 0o600))
		sh := exec.CommandContext(t.Context(), "sh", "-ec", commands)
		sh.Dir, sh.Env = folder, append(os.Environ(), "X="+xOf(t, publicSet(t, keys)))
		out, err := sh.CombinedOutput()
		return string(out), err
	}
	if out, err := check(pdf); err != nil || !strings.Contains(out, "Signature Verified Successfully") {
		t.Errorf("openssl = %v, %s", err, out)
	}
	if out, err := check(append(pdf, ' ')); err == nil || !strings.Contains(out, "Signature Verification Failure") {
		t.Errorf("openssl of a changed file = %v, %s", err, out)
	}
}

func TestASignatureIsOfOneFileAndOneKey(t *testing.T) {
	keys := read(t, keytest.JWK(t, keytest.Private()["Ed25519"]))
	other, err := token.NewKeys()
	must(err)
	pdf, set := reportOf(""), publicSet(t, keys)
	signature := signed(t, keys, pdf)
	for i := range pdf {
		changed := slices.Clone(pdf)
		changed[i] ^= 1
		if verifies(t, set, changed, signature) {
			t.Errorf("the signature holds for a file with another byte %d", i)
		}
	}
	for _, changed := range [][]byte{nil, pdf[1:], pdf[:len(pdf)-1], append(slices.Clone(pdf), '\n')} {
		if verifies(t, set, changed, signature) {
			t.Errorf("the signature holds for %q", changed)
		}
	}
	for i := range signature {
		changed := slices.Clone(signature)
		changed[i] ^= 1
		if i < len(signature)-1 && verifies(t, set, pdf, changed) { // the last character has spare bits
			t.Errorf("the signature holds with another character %d", i)
		}
	}
	if verifies(t, publicSet(t, other), pdf, signature) {
		t.Error("the signature holds for the key of others")
	}
	// The kid of one key and the signature of another.
	mine, _, _ := bytes.Cut(signature, []byte(".."))
	_, theirs, _ := bytes.Cut(signed(t, other, pdf), []byte(".."))
	if verifies(t, set, pdf, slices.Concat(mine, []byte(".."), theirs)) {
		t.Error("the signature of another key holds under the kid")
	}
}

func TestTheSameReportHasTheSameSignature(t *testing.T) {
	// The key of RFC 8037, appendix A.
	keys, err := token.ReadKeys([]byte(`{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "any",
		"d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`))
	must(err)
	const want = "eyJhbGciOiJFZERTQSIsImtpZCI6IllfdF9rZkdXOVRRcDlrUGxEN2ZwQy1qb2RXUGZDMC1kZmFpbUlxd2l2S3MifQ" +
		"..oIjz7ENFy4fknKwsTFiGYhlGsfNiukHlp5XOKtTftY7U7k9dONMrPkJlgrIFYlgVU4w_fbwEUiOC9SMy1E5PDQ"
	for range 2 {
		if diff := cmp.Diff(want, string(signed(t, keys, reportOf("")))); diff != "" {
			t.Errorf("signature (-want +got):\n%s", diff)
		}
	}
}

func TestReportKeysRevealNoOtherKey(t *testing.T) {
	var all []map[string]any
	for _, private := range keytest.Private() {
		all = append(all, keytest.JWK(t, private))
	}
	set := publicSet(t, read(t, all...))
	var parsed struct{ Keys []map[string]string }
	must(json.Unmarshal(set, &parsed))
	if len(parsed.Keys) != len(all) {
		t.Errorf("%d keys, want %d", len(parsed.Keys), len(all))
	}
	for _, k := range parsed.Keys {
		id, public := k["kid"], k["x"]
		want := map[string]string{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": id, "x": public}
		if diff := cmp.Diff(want, k); diff != "" {
			t.Errorf("a key (-want +got):\n%s", diff)
		}
		for _, one := range all {
			if public == one["x"] {
				t.Error("a signing key itself is public")
			}
		}
		raw, err := json.Marshal(k)
		must(err)
		independent, err := jwk.ParseKey(raw)
		must(err)
		must(independent.Remove(jwk.KeyIDKey))
		must(jwk.AssignKeyID(independent))
		if thumbprint, _ := independent.KeyID(); thumbprint != id {
			t.Errorf("kid = %s, want the thumbprint %s", id, thumbprint)
		}
	}
}

func TestReportsOfARotatedKeyStillVerify(t *testing.T) {
	keys, err := token.NewKeys()
	must(err)
	atFirst := publicSet(t, keys)
	second, err := token.NewKeys()
	must(err)
	pdf := reportOf("")
	before := signed(t, keys, pdf)

	appended, err := keys.Append(second)
	must(err)
	keys.Replace(appended)
	if again := signed(t, keys, pdf); !bytes.Equal(again, before) {
		t.Error("the key that was appended signs")
	}
	rotated, err := keys.SigningWith(second.IDs()[0])
	must(err)
	announced := publicSet(t, keys)
	keys.Replace(rotated)
	after := signed(t, keys, pdf)
	if kidOf(t, after) == kidOf(t, before) || kidOf(t, after) != kidOf(t, signed(t, second, pdf)) {
		t.Error("the second key does not sign after the rotation")
	}
	set := publicSet(t, keys)
	if !verifies(t, set, pdf, before) || !verifies(t, set, pdf, after) || !verifies(t, announced, pdf, after) {
		t.Error("a signature from before or after the rotation does not verify")
	}
	keys.Replace(second)
	if verifies(t, publicSet(t, keys), pdf, before) || !verifies(t, atFirst, pdf, before) {
		t.Error("a key that was removed verifies, or the old set does not")
	}
}
