// What only tests read.

package client

// WebhookTolerance bounds the age of a webhook.
const WebhookTolerance = webhookTolerance
