// Secrets, and what is signed with them.

package webhook

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/verifyd/verifyd/verification"
)

// The length of a secret in bytes, as Standard Webhooks bounds it, and of one
// that is made here.
const (
	minSecret  = 24
	maxSecret  = 64
	madeSecret = 32
	prefix     = "whsec_"
)

var (
	errSecret   = errors.New("must be whsec_ followed by the base64 of 24 to 64 bytes")
	errNoSecret = errors.New("the tenant has no secret")
)

// NewSecret makes a secret of 32 random bytes.
func NewSecret() string {
	raw := make([]byte, madeSecret)
	_, _ = rand.Read(raw) // never fails
	return prefix + base64.StdEncoding.EncodeToString(raw)
}

// CheckSecret refuses what is not whsec_ followed by the base64 of 24 to 64
// bytes. The error does not hold the secret.
func CheckSecret(s string) error {
	coded, prefixed := strings.CutPrefix(s, prefix)
	raw, err := base64.StdEncoding.Strict().DecodeString(coded)
	if !prefixed || err != nil || strings.ContainsAny(coded, "\r\n") || len(raw) < minSecret || len(raw) > maxSecret {
		return errSecret
	}
	return nil
}

// sign makes the value of webhook-signature: one signature for each secret of
// the tenant, the newest first.
func (n *Notifier) sign(ctx context.Context, notice verification.Notice, body []byte) (string, error) {
	secrets, err := n.opt.Secrets(ctx, notice.Tenant)
	if err != nil {
		return "", err
	}
	if len(secrets) == 0 {
		return "", errNoSecret
	}
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		if err := CheckSecret(secret); err != nil {
			return "", err
		}
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return "", err
		}
		if signatures[i], err = signer.Sign(notice.ID, notice.At, body); err != nil {
			return "", err
		}
	}
	return strings.Join(signatures, " "), nil
}
