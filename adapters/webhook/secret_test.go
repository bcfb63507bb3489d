// Tests of secrets: which are generated, and which are accepted.

package webhook_test

import (
	"testing"

	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
)

func TestNewSecretsAreValidAndDistinct(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		s := webhook.NewSecret()
		if err := verification.ValidateWebhookSecret(s); err != nil || len(s) != len("whsec_")+44 {
			t.Errorf("NewSecret = %q, %v", s, err)
		}
		seen[s] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d secrets of 100 differ", len(seen))
	}
}
