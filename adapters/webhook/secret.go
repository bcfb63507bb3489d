// Webhook secrets and signatures.

package webhook

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification/rules"
)

var errNoSecret = errors.New("the tenant has no secret")

// NewSecret returns a secret of 32 random bytes.
func NewSecret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(raw)
}

// sign returns the value of webhook-signature: a signature for each secret of the
// tenant, the newest first.
func (n *notifier) sign(ctx context.Context, notice rules.Notice, body []byte) (string, error) {
	secrets, err := n.opt.Secrets(ctx, notice.Tenant)
	if err != nil {
		return "", err
	}
	if len(secrets) == 0 {
		return "", errNoSecret
	}
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		if signatures[i], err = apitypes.SignWebhook(secret, notice.ID, notice.At, body); err != nil {
			return "", err
		}
	}
	return strings.Join(signatures, " "), nil
}
