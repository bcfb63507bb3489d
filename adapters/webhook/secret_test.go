// Secrets that are made and taken.

package webhook_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/webhook"
)

func TestAMadeSecretIsGoodAndNeverTheSame(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		s := webhook.NewSecret()
		if err := webhook.CheckSecret(s); err != nil || len(s) != len("whsec_")+44 {
			t.Errorf("NewSecret = %q, %v", s, err)
		}
		seen[s] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d secrets of 100 differ", len(seen))
	}
}

func TestASecretIsPrefixedBase64OfGoodLength(t *testing.T) {
	of := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for secret, want := range map[string]bool{
		newSecret: true, "whsec_" + of(24): true, "whsec_" + of(32): true, "whsec_" + of(64): true,
		"": false, "whsec_": false, "whsec_" + of(23): false, "whsec_" + of(65): false, of(32): false,
		"WHSEC_" + of(32): false, "whsec_" + strings.TrimRight(of(32), "="): false, "whsec_" + of(32) + "\n": false,
		"whsec_" + of(32)[:20] + "\n" + of(32)[20:]: false, " whsec_" + of(32): false, "whsec_" + strings.Repeat("-_", 22): false,
		"whsec_" + strings.Repeat("/", 42) + "/=": false, // bits that no byte has
	} {
		err := webhook.CheckSecret(secret)
		if (err == nil) != want {
			t.Errorf("CheckSecret(%q) = %v, want it good: %t", secret, err, want)
		}
		if err != nil && len(secret) > 10 && strings.Contains(err.Error(), secret[6:]) {
			t.Errorf("the error tells the secret: %q", err)
		}
	}
}
