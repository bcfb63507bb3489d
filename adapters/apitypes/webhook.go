// Signatures of webhooks, as Standard Webhooks defines them.

package apitypes

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// The headers of a webhook.
const (
	WebhookID        = "Webhook-Id"        // the same at every attempt
	WebhookTimestamp = "Webhook-Timestamp" // when the attempt was sent, in seconds since 1970
	WebhookSignature = "Webhook-Signature" // one or more signatures, separated by spaces
)

// SignWebhook returns the signature of a webhook with a whsec_ secret, such as v1,TZKd... It returns
// ErrInvalid for a secret that is not valid; the error does not contain the secret.
func SignWebhook(secret, id string, sent time.Time, body []byte) (string, error) {
	if err := verification.ValidateWebhookSecret(secret); err != nil {
		return "", err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + strconv.FormatInt(sent.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}
