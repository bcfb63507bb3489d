// Webhooks that a host sends.

package client

import (
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
)

// webhookTolerance bounds the difference between the time at which a webhook was sent and the
// receiver's clock.
const webhookTolerance = 5 * time.Minute

// maxWebhook bounds the body of a webhook that is read, in bytes.
const maxWebhook = 1 << 20

// ErrNotAuthentic is returned for a webhook that the host did not send, or sent too long ago. Answer
// it with 401.
var ErrNotAuthentic = errors.New("client: the webhook is not authentic")

// Webhook is a webhook that was verified.
type Webhook struct {
	// ID is the same each time the host sends the webhook. Store it, and ignore a repetition.
	ID string
	apitypes.Event
}

// ReadWebhook reads the body of a request, at most 1 MiB, and verifies it as VerifyWebhook does.
func ReadWebhook(r *http.Request, now time.Time, secrets ...string) (Webhook, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxWebhook))
	if err != nil {
		return Webhook{}, fmt.Errorf("client: read the webhook: %w", err)
	}
	return VerifyWebhook(r.Header, body, now, secrets...)
}

// VerifyWebhook returns the webhook with this header and body, if it is signed with one of the whsec_ secrets and
// was sent within five minutes of now, the receiver's current time. Name two secrets while you replace one.
// Otherwise it returns ErrNotAuthentic; any other error means that a secret is not valid or that the
// body cannot be decoded.
func VerifyWebhook(header http.Header, body []byte, now time.Time, secrets ...string) (Webhook, error) {
	id := header.Get(apitypes.WebhookID)
	seconds, err := strconv.ParseInt(header.Get(apitypes.WebhookTimestamp), 10, 64)
	sent := time.Unix(seconds, 0)
	if err != nil || id == "" || sent.Sub(now).Abs() > webhookTolerance {
		return Webhook{}, ErrNotAuthentic
	}
	authentic := false
	for _, secret := range secrets {
		want, err := apitypes.SignWebhook(secret, id, sent, body)
		if err != nil {
			return Webhook{}, fmt.Errorf("client: verify the webhook: %w", err)
		}
		for got := range strings.FieldsSeq(header.Get(apitypes.WebhookSignature)) {
			authentic = hmac.Equal([]byte(got), []byte(want)) || authentic
		}
	}
	if !authentic {
		return Webhook{}, ErrNotAuthentic
	}
	hook := Webhook{ID: id}
	if err := json.Unmarshal(body, &hook.Event); err != nil {
		return Webhook{}, fmt.Errorf("client: decode the webhook: %w", err)
	}
	return hook, nil
}
