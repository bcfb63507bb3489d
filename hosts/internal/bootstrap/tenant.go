// A tenant and the secret that signs its webhooks.

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// SaveTenant saves t. If t has no webhook secret, the tenant keeps its secrets,
// including the previous one. If it has none, SaveTenant generates a secret and calls
// made after saving it.
func SaveTenant(
	ctx context.Context, tenants store.Tables, t verification.Tenant, made func(verification.Tenant),
) (Outcome, error) {
	known, err := tenants.Tenant(ctx, t.ID)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return "", fmt.Errorf("read tenant %s: %w", t.ID, err)
	}
	there, fresh := err == nil, false
	if t.WebhookSecret == "" {
		t.WebhookSecret, t.PreviousWebhookSecret = known.WebhookSecret, known.PreviousWebhookSecret
	}
	if t.WebhookSecret == "" {
		t.WebhookSecret, fresh = webhook.NewSecret(), true
	}
	if there && sameTenant(known, t) {
		return Unchanged, nil
	}
	if err := tenants.SaveTenant(ctx, t); err != nil {
		return "", fmt.Errorf("save tenant %s: %w", t.ID, err)
	}
	if fresh {
		made(t)
	}
	return written(there), nil
}

func sameTenant(a, b verification.Tenant) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Zone == b.Zone && a.Colour == b.Colour && a.Logo.Name == b.Logo.Name && a.Links == b.Links && a.Retention == b.Retention &&
		a.WebhookSecret == b.WebhookSecret && a.PreviousWebhookSecret == b.PreviousWebhookSecret &&
		slices.Equal(a.RedirectAllowlist, b.RedirectAllowlist)
}
