// The commands about the secret and the URL of lifecycle webhooks.

package main

import (
	"context"
	"fmt"

	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
)

type webhookCommands struct {
	List      webhookList      `cmd:"" help:"List the delivery ledger."`
	Redeliver webhookRedeliver `cmd:"" help:"Queue notices again."`
	Secret    webhookSecret    `cmd:"" help:"Print or rotate the secret that signs webhooks."`
	Clear     webhookClear     `cmd:"" help:"Remove the lifecycle webhook of a workflow."`
}

type webhookSecret struct {
	tenantFlags
	Rotate      bool `xor:"rotation" help:"Create a new secret. The previous one keeps signing as well."`
	EndRotation bool `xor:"rotation" help:"Remove the previous secret."`
	jsonFlag
}

type secretJSON struct {
	TenantID      verification.TenantID `json:"tenant_id"`
	WebhookSecret string                `json:"webhook_secret"`
	Rotating      bool                  `json:"rotating"` // the previous secret signs as well
}

// Run prints the current secret.
func (c webhookSecret) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) (err error) {
		if c.Rotate || c.EndRotation {
			if t, err = c.rotated(t); err != nil {
				return err
			}
			if err := db.SaveTenant(ctx, t); err != nil {
				return err
			}
			s.noteBootstrap("a webhook_secret of the tenant")
		}
		if c.JSON {
			return s.json(secretJSON{TenantID: t.ID, WebhookSecret: t.WebhookSecret, Rotating: t.PreviousWebhookSecret != ""})
		}
		_, err = fmt.Fprintln(s.stdout, t.WebhookSecret)
		return err
	})
}

// rotated begins or ends a rotation. A second rotation must not begin before the first
// has ended: the secret of some receivers would be lost.
func (c webhookSecret) rotated(t verification.Tenant) (verification.Tenant, error) {
	rotating := t.PreviousWebhookSecret != ""
	switch {
	case c.Rotate && rotating:
		return t, conflict("webhook secret", "a rotation is in progress: end it with --end-rotation first")
	case c.EndRotation && !rotating:
		return t, conflict("webhook secret", "no rotation is in progress")
	case c.Rotate:
		t.PreviousWebhookSecret, t.WebhookSecret = t.WebhookSecret, webhook.NewSecret()
	default:
		t.PreviousWebhookSecret = ""
	}
	return t, nil
}

type webhookClear struct {
	Workflow string `arg:"" help:"The workflow: its stable name or its id."`
	tenantFlags
	jsonFlag
}

// Run removes the webhook and prints its URL.
func (c webhookClear) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
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
		s.noteBootstrap("a lifecycle_webhook_url of workflow " + w.Slug)
		if c.JSON {
			return s.json(newWorkflowJSON(w))
		}
		_, err = fmt.Fprintf(s.stdout, "%s: removed the webhook %s\n", oneLine(w.Slug), oneLine(before.LifecycleWebhookURL))
		return err
	})
}
