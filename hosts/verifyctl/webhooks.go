// The commands about lifecycle webhooks: their secret, their addresses.

package main

import (
	"context"
	"fmt"

	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
)

type webhookCommands struct {
	List      webhookList      `cmd:"" help:"List how notices fared: the delivery ledger."`
	Redeliver webhookRedeliver `cmd:"" help:"Send notices once more."`
	Secret    webhookSecret    `cmd:"" help:"Print or rotate the secret that signs webhooks."`
	Clear     webhookClear     `cmd:"" help:"Take the lifecycle webhook of a workflow away."`
}

type webhookSecret struct {
	databaseFlag
	tenantFlag
	Rotate      bool `xor:"rotation" help:"Make a new secret; the one before it goes on signing, too."`
	EndRotation bool `xor:"rotation" help:"Let the new secret sign alone."`
	jsonFlag
}

// Help is shown below the usage.
func (webhookSecret) Help() string {
	return `The current secret alone is printed. To rotate it: --rotate, have the receivers take the
new one, --end-rotation. In between every webhook carries two signatures.

Examples:

    verifyctl webhook secret --tenant Acme
    verifyctl webhook secret --tenant Acme --rotate
    verifyctl webhook secret --tenant Acme --end-rotation`
}

type secretJSON struct {
	TenantID      verification.TenantID `json:"tenant_id"`
	WebhookSecret string                `json:"webhook_secret"`
	// Rotating says that the previous secret signs, too.
	Rotating bool `json:"rotating"`
}

// Run prints the secret that signs.
func (c webhookSecret) Run(ctx context.Context, s *session) error {
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		t, err := db.tenant(ctx, c.tenantFlag)
		if err != nil {
			return err
		}
		if c.Rotate || c.EndRotation {
			if t, err = c.rotated(t); err != nil {
				return err
			}
			if err := db.SaveTenant(ctx, t); err != nil {
				return err
			}
			s.tellFile("a webhook_secret of the tenant")
		}
		if c.JSON {
			return s.json(secretJSON{TenantID: t.ID, WebhookSecret: t.WebhookSecret, Rotating: t.PreviousWebhookSecret != ""})
		}
		_, err = fmt.Fprintln(s.stdout, t.WebhookSecret)
		return err
	})
}

// rotated begins or ends a rotation. A second one would leave out receivers
// that still have the first secret.
func (c webhookSecret) rotated(t verification.Tenant) (verification.Tenant, error) {
	rotating := t.PreviousWebhookSecret != ""
	switch {
	case c.Rotate && rotating:
		return t, conflict("webhook secret", "it is being rotated already: end that first, with --end-rotation")
	case c.EndRotation && !rotating:
		return t, conflict("webhook secret", "it is not being rotated")
	case c.Rotate:
		t.PreviousWebhookSecret, t.WebhookSecret = t.WebhookSecret, webhook.NewSecret()
	default:
		t.PreviousWebhookSecret = ""
	}
	return t, nil
}

type webhookClear struct {
	Workflow string `arg:"" help:"The workflow: its stable name or its id."`
	databaseFlag
	tenantFlag
	jsonFlag
}

// Help is shown below the usage.
func (webhookClear) Help() string {
	return `The API sets the lifecycle webhook of a workflow once. After this it can be set again.

Example:

    verifyctl webhook clear --tenant Acme onboarding`
}

// Run takes the webhook away, and prints where it went.
func (c webhookClear) Run(ctx context.Context, s *session) error {
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		t, err := db.tenant(ctx, c.tenantFlag)
		if err != nil {
			return err
		}
		before, err := db.workflow(ctx, t.ID, c.Workflow)
		if err != nil {
			return err
		}
		e, err := s.engine(db)
		if err != nil {
			return err
		}
		w, err := e.ClearWebhook(ctx, t.ID, before.ID)
		if err != nil {
			return err
		}
		s.tellFile("a lifecycle_webhook_url of workflow " + w.Slug)
		if c.JSON {
			return s.json(workflowOf(w))
		}
		_, err = fmt.Fprintf(s.stdout, "%s: no webhook any more; it was %s\n", oneLine(w.Slug), oneLine(before.LifecycleWebhookURL))
		return err
	})
}
