package verification_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
)

func TestAccountsAreAuthorizedBySurface(t *testing.T) {
	a := verification.Account{Surfaces: []verification.Surface{verification.SurfaceRuns, verification.SurfaceSignals}}
	for s, want := range map[verification.Surface]bool{
		verification.SurfaceRuns: true, verification.SurfaceSignals: true, verification.SurfaceWorkflows: false, verification.SurfaceFiles: false, verification.SurfaceErase: false, "": false,
	} {
		if got := a.Allows(s); got != want {
			t.Errorf("Allows(%s) = %v, want %v", s, got, want)
		}
	}
	want := []verification.Surface{verification.SurfaceWorkflows, verification.SurfaceRuns, verification.SurfaceSignals}
	if diff := cmp.Diff(want, verification.Surfaces()); diff != "" {
		t.Errorf("Surfaces (-want +got):\n%s", diff)
	}
}

// Stored hashes must still match in a later version.
func TestAPIKeysAreHashedWithSHA256(t *testing.T) {
	const want = "77fe9f59bafdb15a49ea56c3ea4499f37fd645d5249a5a3b0f68ef36879c8b71"
	if got := fmt.Sprintf("%x", verification.HashAPIKey("a-key-of-twenty-chars")); got != want {
		t.Errorf("HashAPIKey = %s, want %s", got, want)
	}
}

func TestAccountValidation(t *testing.T) {
	for id, good := range map[string]bool{
		"a": true, "acme~!": true, strings.Repeat("x", 200): true,
		"": false, "a b": false, "a\n": false, "\x7f": false, "é": false, strings.Repeat("x", 201): false,
	} {
		err := verification.Account{ClientID: id, Surfaces: verification.Surfaces()}.Validate()
		if good != (err == nil) {
			t.Errorf("Validate of client id %q = %v, want it valid: %t", id, err, good)
		}
	}
	err := verification.Account{Surfaces: []verification.Surface{"runs", "files", "reports"}}.Validate()
	want := []verification.FieldError{
		{Name: "client_id", Message: "must be 1 to 200 printable ASCII characters without spaces"},
		{Name: "surfaces", Message: `there is no surface "reports" (supported: workflows, runs, signals, files, erase)`},
	}
	if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
		t.Errorf("Validate (-want +got):\n%s", diff)
	}
}

func TestAPIKeyIsPrintableAndLongEnough(t *testing.T) {
	for key, good := range map[string]bool{
		strings.Repeat("k", 20): true, strings.Repeat("k", 500): true, "!0123456789012345678~": true,
		strings.Repeat("k", 19): false, strings.Repeat("k", 501): false, "01234567890 01234567890": false, "01234567890\t01234567890": false,
	} {
		err := verification.ValidateAPIKey(key)
		if good != (err == nil) {
			t.Errorf("ValidateAPIKey(%q) = %v, want it valid: %t", key, err, good)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("the error contains the key: %q", err)
		}
	}
}

func TestWebhookSecretIsPrefixedBase64Of24To64Bytes(t *testing.T) {
	of := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for secret, want := range map[string]bool{
		"whsec_" + of(24): true, "whsec_" + of(32): true, "whsec_" + of(64): true,
		"": false, "whsec_": false, "whsec_" + of(23): false, "whsec_" + of(65): false, of(32): false,
		"WHSEC_" + of(32): false, "whsec_" + strings.TrimRight(of(32), "="): false, "whsec_" + of(32) + "\n": false,
		"whsec_" + of(32)[:20] + "\n" + of(32)[20:]: false, " whsec_" + of(32): false, "whsec_" + strings.Repeat("-_", 22): false,
		"whsec_" + strings.Repeat("/", 42) + "/=": false, // the last character has bits beyond the last byte
	} {
		err := verification.ValidateWebhookSecret(secret)
		if (err == nil) != want {
			t.Errorf("ValidateWebhookSecret(%q) = %v, want it valid: %t", secret, err, want)
		}
		if err != nil && len(secret) > 10 && strings.Contains(err.Error(), secret[6:]) {
			t.Errorf("the error contains the secret: %q", err)
		}
	}
}
